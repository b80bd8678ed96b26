"""Kernels that run score programs, a clause and an event at a time, in exact integer units of 1 / SCORE_SCALE."""

from __future__ import annotations

import numpy as np

from index.block.layout import ADD, CLOSE, NO_MATCH, OPEN_AND, SHARE, SUM
from index.block.masks import derive
from index.kernel import inlined, kernel
from index.lower_bound import lower_bound
from schemas.values import SCORE_SCALE


@kernel
def clause_points(event, base, clause, chunk, rows, scores, entries, frames):  # type: ignore[no-untyped-def]
    """Return the score of a clause that the event satisfies, the priority included, or `NO_MATCH`."""
    owner = scores.clause_owner[clause]
    total = scores.owner_points[owner] if len(scores.owner_points) else np.int64(0)
    first, stop = scores.score_start[clause], scores.score_start[clause + 1]
    if entries.plain[event]:
        stop = first + scores.score_plain[clause]
        total = scores.clause_points[clause]
    scoring = scores.clause_scoring[clause]
    if scoring == SUM:
        for k in range(first, stop):
            total += _leaf(scores.score_program[k], event, entries, scores)
        return total
    if scoring == SHARE:
        needed, possible = two_words(scores.score_program, first), two_words(scores.score_program, first + 2)
        points = _run(event, base, first + 4, stop, chunk, rows, scores, entries, frames)
        return np.int64(NO_MATCH) if points < needed else total + _share(points, possible)
    return total + _run(event, base, first, stop, chunk, rows, scores, entries, frames)


@inlined
def two_words(words, k):  # type: ignore[no-untyped-def]
    """Return the 64-bit integer whose halves are words ``k`` and the next."""
    return np.int64(words[k + 1]) << 32 | np.int64(words[k]) & 0xFFFFFFFF


@inlined
def _share(points, possible):  # type: ignore[no-untyped-def]
    """Return which share of all that is possible the points are, in units, rounded half to even."""
    whole, rest = divmod(points * np.int64(SCORE_SCALE), possible)
    return whole + (2 * rest > possible or (2 * rest == possible and whole & 1 == 1))


@inlined
def _run(event, base, first, stop, chunk, rows, scores, entries, frames):  # type: ignore[no-untyped-def]
    """Return what the program from word ``first`` on gives the event; rows that it reads are derived first."""
    while True:
        row, points = _tree(event, event - base, first, stop, chunk, scores, entries, frames)
        if row < 0:
            return points
        derive(row, chunk, rows)


@inlined
def _tree(event, bit, k, stop, chunk, scores, entries, frames):  # type: ignore[no-untyped-def]
    """Run a score program from word ``k`` on; frame 0 is the clause itself, an AND that is true.

    Returns
    -------
    row, points
        A row that must be derived before the program can be run, or -1; what the event gets.
    """
    program, depth = scores.score_program, 0
    _open(0, True, frames)
    while k < stop:
        word = program[k]
        if word >= 0:
            row = np.int64(word >> 1)
            if row >= chunk.first_in and chunk.stamp[row] != chunk.epoch:
                return row, np.int64(0)
            held = (chunk.masks[row, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1)
            truth, leaf, total = (held != np.uint64(0)) != ((word & 1) != 0), program[k + 1], np.int64(0)
            if truth and leaf >= 0:
                total = _leaf(leaf, event, entries, scores)
            k += 2
        elif word == ADD:
            truth, total = True, two_words(program, k + 1)
            k += 3
        elif word == CLOSE:
            truth, total = frames.truth[depth] != 0, frames.total[depth]
            depth -= 1
            k += 1
        else:
            depth += 1
            _open(depth, word == OPEN_AND, frames)
            k += 1
            continue
        _give(depth, truth, total, frames)
    return np.int64(-1), frames.total[0]


@inlined
def _open(depth, conjunction, frames):  # type: ignore[no-untyped-def]
    """Begin a connective: an AND is true so far, an OR is false."""
    frames.conjunction[depth] = conjunction
    frames.truth[depth] = conjunction
    frames.total[depth] = 0


@inlined
def _give(depth, truth, total, frames):  # type: ignore[no-untyped-def]
    """Let a connective know one of its arguments: an AND adds up what is true, an OR keeps the best of it.

    Under the clause itself an argument may be false, in mode relaxed or threshold.
    """
    if frames.conjunction[depth]:
        frames.truth[depth] = frames.truth[depth] != 0 and truth
        if truth:
            frames.total[depth] += total
    elif truth:
        frames.total[depth] = max(frames.total[depth], total) if frames.truth[depth] else total
        frames.truth[depth] = 1


@inlined
def _leaf(leaf, event, entries, scores):  # type: ignore[no-untyped-def]
    """Return the sum over the event's terms that the leaf lists; both are ascending.

    ``np.rint`` rounds half to even, after one rounding of the product: `schemas.values.score_term`. A plain event that
    satisfies the leaf has one term of it, so of a leaf with one weight nothing else need be known.
    """
    j, j_stop = scores.leaf_start[leaf], scores.leaf_start[leaf + 1]
    total = np.int64(0)
    if j == j_stop:
        return total
    if entries.plain[event] and scores.leaf_even[leaf]:
        return np.int64(np.rint(scores.leaf_weight[j] * SCORE_SCALE))
    i_stop = entries.start[event + 1]
    i = lower_bound(entries.term, entries.start[event], i_stop, scores.leaf_term[j])
    while i < i_stop and j < j_stop and entries.term[i] <= scores.leaf_term[j_stop - 1]:
        term = entries.term[i]
        j = lower_bound(scores.leaf_term, j, j_stop, term)
        if scores.leaf_term[j] == term:
            total += np.int64(np.rint(entries.weight[i] * scores.leaf_weight[j] * SCORE_SCALE))
        i += 1
    return total
