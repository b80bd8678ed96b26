"""Kernels that score records for events that satisfy them, in exact integer units of 1 / SCORE_SCALE."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.layout import (
    ADD,
    CLOSE,
    INTERVAL,
    NEGATED,
    NO_MATCH,
    OPEN_AND,
    ROW_SHIFT,
    SHARE,
    SUM,
    TAIL_LIMIT,
    TAIL_SHIFT,
    UNIT,
    Bools,
    Float64s,
    Int32s,
    Int64s,
    UInt8s,
)
from index.block.masks import derive
from index.kernel import inlined, kernel
from index.lower_bound import lower_bound
from schemas.values import SCORE_SCALE

ROUNDINGS = 2.0**14
"""More than half the leaves that an expression may have: each may round up by half a unit a value."""


SEVERAL = -(2**63)
"""No score: an attribute has several values, which `linear_points` sees to."""


class Entries(NamedTuple):
    """What of the events can score.

    Attributes
    ----------
    plain
        bool [events]: whether an event gets from each leaf that it satisfies the weight of one value and nothing else.
    start, term, weight
        int64 [events + 1], int32, float64: an event's terms that the segment knows and its weights of them. An
        attribute's terms stand side by side. They ascend in a segment with score programs, and in an event that has two
        values of an attribute.
    """

    plain: Bools
    start: Int64s
    term: Int32s
    weight: Float64s


class Frames(NamedTuple):
    """Memory for score programs: a connective at work in each frame, all of shape [depth + 1].

    Attributes
    ----------
    conjunction, truth
        uint8: whether it is an AND, and its truth so far.
    total
        int64: its score so far.
    """

    conjunction: UInt8s
    truth: UInt8s
    total: Int64s


@kernel
def weigh(first, members, entries, row_attribute, weight):  # type: ignore[no-untyped-def]
    """Fill ``weight[attribute, event]`` for the events: the one value's weight, NaN for several.

    An attribute's terms stand side by side. What is not written is not read, since nothing holds there.
    """
    for event in range(members):
        last = -1
        for i in range(entries.start[first + event], entries.start[first + event + 1]):
            attribute = row_attribute[1 + entries.term[i]]
            weight[attribute, event] = np.nan if attribute == last else entries.weight[i]
            last = attribute


@inlined
def _joins(i, begin, term, row_attribute, sums):  # type: ignore[no-untyped-def]
    """Return whether a leaf may get the weight of an event's ``i``-th entry together with that of the one before it.

    A leaf of one value gets both only when they are the same term, which an event may have as 1 and as 1.0.
    """
    if i == begin:
        return False
    attribute = row_attribute[1 + term[i]]
    return attribute == row_attribute[1 + term[i - 1]] and (sums[attribute] != 0 or term[i] == term[i - 1])


@kernel
def fill_plain(start, term, weight, row_attribute, sums, plain):  # type: ignore[no-untyped-def]
    """Fill ``plain`` of `Entries` from its other arrays."""
    for event in range(len(plain)):
        plain[event] = True
        for i in range(start[event], start[event + 1]):
            if weight[i] != 1.0 or _joins(i, start[event], term, row_attribute, sums):
                plain[event] = False
                break


@kernel
def limits(first, members, entries, row_attribute, sums, scale, slack):  # type: ignore[no-untyped-def]
    """Fill by how much more than a plain event an event can get from a record: at most bound * scale + slack.

    An attribute with several values, where leaves list several, may take the sum of their weights, and rounds once
    for each. A negative weight can make much of a negative one, for which bounds allow nothing: no limit then.
    """
    for event in range(members):
        scale[event], slack[event] = 1.0, 0.0
        total, values, begin = 0.0, 0, entries.start[first + event]
        for i in range(begin, entries.start[first + event + 1]):
            weight = entries.weight[i]
            joins = _joins(i, begin, entries.term, row_attribute, sums)
            total, values = (total + weight, values + 1) if joins else (weight, 1)
            if weight < 0.0:
                scale[event] = np.inf
            elif total > scale[event]:
                scale[event] = total
            if values > 1 or total > 1.0:
                slack[event] = max(slack[event], ROUNDINGS * values + 1.0)


@inlined
def plain_points(kind, head, stop, tail_stop, words, codes, table):  # type: ignore[no-untyped-def]
    """Return what a plain event gets from a record of literals, without the priority."""
    if kind == UNIT:
        return np.int64((head >> TAIL_SHIFT) & TAIL_LIMIT) * np.int64(SCORE_SCALE)
    total = np.int64(0)
    for k in range(stop, tail_stop):
        total += np.int64(np.rint(weight_of(k, words, codes, table) * SCORE_SCALE))
    return total


@inlined
def weight_of(k, words, codes, table):  # type: ignore[no-untyped-def]
    """Return the weight whose code is word ``k``; ``codes`` are the words as float32."""
    return table[words[k]] if len(table) else np.float64(codes[k])


@inlined
def _literal(i, k, p, q, words):  # type: ignore[no-untyped-def]
    """Return the row of literal ``i``, the next literal, and whether it has a weight; p and q come before k."""
    if i < k:
        return np.int64(p) if i == k - 2 else np.int64(q), i + 1, True
    word = np.int64(words[i])
    return word >> ROW_SHIFT, i + (4 if word & INTERVAL else 1), word & NEGATED == 0


@inlined
def single_points(local, p, q, kind, k, stop, words, codes, table, row_attribute, weight):  # type: ignore[no-untyped-def]
    """Return what `literal_points` does, or `SEVERAL` when an attribute has several values."""
    total, tail, i = np.int64(0), stop, k - 2
    while i < stop:
        row, i, counted = _literal(i, k, p, q, words)
        if not counted:
            continue
        factor = 1.0
        if kind != UNIT:
            factor = weight_of(tail, words, codes, table)
            tail += 1
        if row < len(row_attribute) and row_attribute[row] >= 0 and factor != 0.0:
            term = weight[row_attribute[row], local] * factor
            if term != term:
                return np.int64(SEVERAL)
            total += np.int64(np.rint(term * SCORE_SCALE))
    return total


@inlined
def literal_points(  # type: ignore[no-untyped-def]
    local, event, p, q, kind, k, stop, words, codes, table, row_attribute, weight, entries, rows, first_in
):
    """Return what any event gets from a record of literals that it satisfies, without the priority."""
    points = single_points(local, p, q, kind, k, stop, words, codes, table, row_attribute, weight)
    if points == SEVERAL:
        points = linear_points(event, p, q, kind, k, stop, words, codes, table, row_attribute, entries, rows, first_in)
    return points


@kernel
def linear_points(event, p, q, kind, k, stop, words, codes, table, row_attribute, entries, rows, first_in):  # type: ignore[no-untyped-def]
    """Return the same term by term, as it is where attributes have several values."""
    total, tail, i = np.int64(0), stop, k - 2
    while i < stop:
        row, i, counted = _literal(i, k, p, q, words)
        if not counted:
            continue
        factor = 1.0
        if kind != UNIT:
            factor = weight_of(tail, words, codes, table)
            tail += 1
        if row < len(row_attribute) and row_attribute[row] >= 0 and factor != 0.0:
            total += _entries_points(event, row, factor, entries, rows, first_in)
    return total


@kernel
def _entries_points(event, row, factor, entries, rows, first_in):  # type: ignore[no-untyped-def]
    """Return what a literal gets from an event, value by value."""
    total = np.int64(0)
    i, i_stop = entries.start[event], entries.start[event + 1]
    if row < first_in:
        i = lower_bound(entries.term, i, i_stop, row - 1)
        while i < i_stop and entries.term[i] == row - 1:
            total += np.int64(np.rint(entries.weight[i] * factor * SCORE_SCALE))
            i += 1
        return total
    j, j_stop = rows.in_start[row - first_in], rows.in_start[row - first_in + 1]
    while j < j_stop:
        i = lower_bound(entries.term, i, i_stop, rows.in_term[j])
        if i < i_stop and entries.term[i] == rows.in_term[j]:
            total += np.int64(np.rint(entries.weight[i] * factor * SCORE_SCALE))
        j += 1
    return total


@kernel
def clause_points(event, base, clause, chunk, rows, scores, entries, frames):  # type: ignore[no-untyped-def]
    """Return the score of a clause that the event satisfies, the priority included, or `NO_MATCH`."""
    scoring, plain = scores.clause_scoring[clause], entries.plain[event]
    first, stop = scores.score_start[clause], scores.score_start[clause + 1]
    owner = scores.clause_owner[clause]
    total = scores.owner_points[owner] if len(scores.owner_points) else np.int64(0)
    if plain:
        stop = first + scores.score_plain[clause]
        total = scores.clause_points[clause]
    if scoring == SUM:
        for k in range(first, stop):
            total += _leaf(
                scores.score_program[k],
                plain,
                entries.start[event],
                entries.start[event + 1],
                entries.term,
                entries.weight,
                scores.leaf_start,
                scores.leaf_term,
                scores.leaf_weight,
                scores.leaf_even,
            )
        return total
    program = scores.score_program
    needed, possible = np.int64(0), np.int64(0)
    if scoring == SHARE:
        needed, possible = two_words(program, first), two_words(program, first + 2)
        first += 4
    while True:
        row, points = _tree(
            event,
            event - base,
            first,
            stop,
            plain,
            program,
            chunk.masks,
            chunk.stamp,
            chunk.epoch,
            chunk.first_in,
            entries.start,
            entries.term,
            entries.weight,
            scores.leaf_start,
            scores.leaf_term,
            scores.leaf_weight,
            scores.leaf_even,
            frames.conjunction,
            frames.truth,
            frames.total,
        )
        if row < 0:
            break
        derive(row, chunk, rows)
    if scoring != SHARE:
        return total + points
    if points < needed:
        return np.int64(NO_MATCH)
    whole, rest = divmod(points * np.int64(SCORE_SCALE), possible)
    return total + whole + (2 * rest > possible or (2 * rest == possible and whole & 1 == 1))


@inlined
def two_words(words, k):  # type: ignore[no-untyped-def]
    """Return the 64-bit integer whose halves are words ``k`` and the next."""
    return np.int64(words[k + 1]) << 32 | np.int64(words[k]) & 0xFFFFFFFF


@inlined
def _leaf(leaf, plain, i, i_stop, entry_term, entry_weight, leaf_start, leaf_term, leaf_weight, leaf_even):  # type: ignore[no-untyped-def]
    """Return the sum over the event's terms, from entry i on, that the leaf lists; both are ascending.

    ``np.rint`` rounds half to even, after one rounding of the product: `schemas.values.score_term`. A plain event that
    satisfies the leaf has one term of it, so of a leaf with one weight nothing else need be known.
    """
    j, j_stop = leaf_start[leaf], leaf_start[leaf + 1]
    total = np.int64(0)
    if j == j_stop:
        return total
    if plain and leaf_even[leaf]:
        return np.int64(np.rint(leaf_weight[j] * SCORE_SCALE))
    i = lower_bound(entry_term, i, i_stop, leaf_term[j])
    while i < i_stop and j < j_stop and entry_term[i] <= leaf_term[j_stop - 1]:
        term = entry_term[i]
        j = lower_bound(leaf_term, j, j_stop, term)
        if leaf_term[j] == term:
            total += np.int64(np.rint(entry_weight[i] * leaf_weight[j] * SCORE_SCALE))
        i += 1
    return total


@inlined
def _tree(  # type: ignore[no-untyped-def]
    event,
    bit,
    k,
    stop,
    plain,
    program,
    masks,
    stamp,
    epoch,
    first_in,
    entry_start,
    entry_term,
    entry_weight,
    leaf_start,
    leaf_term,
    leaf_weight,
    leaf_even,
    conjunction,
    truths,
    totals,
):
    """Run a score program from word ``k`` on; frame 0 is the clause itself, an AND that is true.

    Returns
    -------
    row, points
        A row that must be derived before the program can be run, or -1; what the event gets.
    """
    depth = 0
    conjunction[0], truths[0], totals[0] = 1, 1, 0
    while k < stop:
        word = program[k]
        k += 1
        if word >= 0:
            row = np.int64(word >> 1)
            if row >= first_in and stamp[row] != epoch:
                return row, np.int64(0)
            held = (masks[row, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1)
            truth = (held != np.uint64(0)) != ((word & 1) != 0)
            leaf = program[k]
            k += 1
            total = np.int64(0)
            if truth and leaf >= 0:
                total = _leaf(
                    leaf,
                    plain,
                    entry_start[event],
                    entry_start[event + 1],
                    entry_term,
                    entry_weight,
                    leaf_start,
                    leaf_term,
                    leaf_weight,
                    leaf_even,
                )
        elif word == ADD:
            truth, total = True, two_words(program, k)
            k += 2
        elif word == CLOSE:
            truth, total = truths[depth] != 0, totals[depth]
            depth -= 1
        else:
            depth += 1
            conjunction[depth] = word == OPEN_AND
            truths[depth] = word == OPEN_AND
            totals[depth] = 0
            continue
        if conjunction[depth]:
            truths[depth] = truths[depth] != 0 and truth
            if truth:  # under the clause itself a node may be false, in mode relaxed or threshold
                totals[depth] += total
        elif truth:
            totals[depth] = max(totals[depth], total) if truths[depth] else total
            truths[depth] = 1
    return np.int64(-1), totals[0]
