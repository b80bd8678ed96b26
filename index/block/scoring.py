"""Kernels that score hits, in exact integer units of 1 / SCORE_SCALE."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from index.block.layout import CLOSE, CONSTANT, EVEN_SUM, OPEN_AND, TREE, Bools, Float64s, Int32s, Int64s, UInt8s
from index.block.masks import derive, lower_bound
from schemas.values import SCORE_SCALE


class Entries(NamedTuple):
    """What of the events can score.

    Attributes
    ----------
    plain
        bool [events], see `index.event_block.EventBlock.plain`.
    start, term, weight
        int64 [events + 1], int32, float64: an event's terms that the segment knows, ascending, and its weights of them.
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


@njit(cache=True, nogil=True)
def score(base, chunk, rows, owners, scores, entries, frames, hit_event, hit_clause, n, points):  # type: ignore[no-untyped-def]
    """Fill ``points`` with the scores of the first ``n`` hits."""
    for i in range(n):
        event, clause = hit_event[i], hit_clause[i]
        scoring = scores.clause_scoring[clause]
        if scoring == CONSTANT or (scoring == EVEN_SUM and entries.plain[event]):
            points[i] = scores.clause_points[clause]
        elif scoring == TREE:
            points[i] = _tree(event, event - base, clause, owners[clause], chunk, rows, scores, entries, frames)
        else:
            total = scores.owner_points[owners[clause]]
            first, stop = entries.start[event], entries.start[event + 1]
            for k in range(scores.score_start[clause], scores.score_start[clause + 1]):
                leaf = scores.score_program[k]
                total += _leaf(
                    first,
                    stop,
                    entries.term,
                    entries.weight,
                    scores.leaf_start[leaf],
                    scores.leaf_start[leaf + 1],
                    scores.leaf_term,
                    scores.leaf_weight,
                )
            points[i] = total


@njit(cache=True, nogil=True)
def _leaf(i, i_stop, entry_term, entry_weight, j, j_stop, leaf_term, leaf_weight):  # type: ignore[no-untyped-def]
    """Return the sum over the event's terms, from i on, that the leaf lists, from j on; both are ascending.

    ``np.rint`` rounds half to even, after one rounding of the product: `schemas.values.score_term`. The arrays come one
    by one, since a group of them costs more to pass than the sum to make.
    """
    total = np.int64(0)
    if j < j_stop:
        i = lower_bound(entry_term, i, i_stop, leaf_term[j])
    while i < i_stop and j < j_stop and entry_term[i] <= leaf_term[j_stop - 1]:
        term = entry_term[i]
        j = lower_bound(leaf_term, j, j_stop, term)
        if leaf_term[j] == term:
            total += np.int64(np.rint(entry_weight[i] * leaf_weight[j] * SCORE_SCALE))
        i += 1
    return total


@njit(cache=True, nogil=True)
def _tree(event, bit, clause, owner, chunk, rows, scores, entries, frames):  # type: ignore[no-untyped-def]
    """Run a score program; frame 0 is the clause itself, an AND that is true."""
    depth = 0
    frames.conjunction[0], frames.truth[0], frames.total[0] = 1, 1, scores.owner_points[owner]
    k, stop = scores.score_start[clause], scores.score_start[clause + 1]
    program = scores.score_program
    while k < stop:
        word = program[k]
        k += 1
        if word >= 0:
            truth = _holds(bit, word, chunk, rows)
            leaf = program[k]
            k += 1
            total = np.int64(0)
            if truth and leaf >= 0:
                total = _leaf(
                    entries.start[event],
                    entries.start[event + 1],
                    entries.term,
                    entries.weight,
                    scores.leaf_start[leaf],
                    scores.leaf_start[leaf + 1],
                    scores.leaf_term,
                    scores.leaf_weight,
                )
        elif word == CLOSE:
            truth, total = frames.truth[depth] != 0, frames.total[depth]
            depth -= 1
        else:
            depth += 1
            frames.conjunction[depth] = word == OPEN_AND
            frames.truth[depth] = word == OPEN_AND
            frames.total[depth] = 0
            continue
        if frames.conjunction[depth]:
            frames.truth[depth] = frames.truth[depth] and truth
            frames.total[depth] += total
        elif truth:
            frames.total[depth] = max(frames.total[depth], total) if frames.truth[depth] else total
            frames.truth[depth] = 1
    return frames.total[0]


@njit(cache=True, nogil=True)
def _holds(bit, literal, chunk, rows):  # type: ignore[no-untyped-def]
    """Return whether a literal holds for the event; its row may not have been read in this chunk."""
    row = literal >> 1
    if row >= chunk.first_in and chunk.stamp[row] != chunk.epoch:
        derive(row, chunk, rows)
    held = (chunk.masks[row, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1)
    return (held != np.uint64(0)) != ((literal & 1) != 0)
