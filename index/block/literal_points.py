"""Kernels that score records of literals for events that satisfy them, in exact integer units of 1 / SCORE_SCALE."""

from __future__ import annotations

import numpy as np

from index.block.layout import INTERVAL, NEGATED, ROW_SHIFT, TAIL_LIMIT, TAIL_SHIFT, UNIT
from index.kernel import inlined, kernel
from index.lower_bound import lower_bound
from schemas.values import SCORE_SCALE

SEVERAL = -(2**63)
"""No score: an attribute has several values, which `_linear_points` sees to."""


@inlined
def plain_points(at, postings, memory):  # type: ignore[no-untyped-def]
    """Return what a plain event gets from the record of literals at a place, without the priority."""
    if at.kind == UNIT:
        return np.int64((np.int64(postings.record_head[at.record]) >> TAIL_SHIFT) & TAIL_LIMIT) * np.int64(SCORE_SCALE)
    total = np.int64(0)
    for k in range(at.end, at.tail):
        total += np.int64(np.rint(weight_of(k, postings, memory) * SCORE_SCALE))
    return total


@inlined
def literal_points(local, at, scene):  # type: ignore[no-untyped-def]
    """Return what any event gets from a record of literals that it satisfies, without the priority."""
    points = _single_points(local, at, scene.postings, scene.memory)
    if points == SEVERAL:
        points = _linear_points(
            scene.first + local, at, scene.postings, scene.memory, scene.entries, scene.rows, scene.chunk.first_in
        )
    return points


@inlined
def _single_points(local, at, postings, memory):  # type: ignore[no-untyped-def]
    """Return what `literal_points` does, or `SEVERAL` when an attribute has several values."""
    total, tail, i = np.int64(0), at.end, at.k - 2
    while i < at.end:
        row, factor, i, tail = _next_weighted(i, tail, at, postings, memory)
        if factor != 0.0:
            term = memory.weight[postings.row_attribute[row], local] * factor
            if term != term:
                return np.int64(SEVERAL)
            total += np.int64(np.rint(term * SCORE_SCALE))
    return total


@kernel
def _linear_points(event, at, postings, memory, entries, rows, first_in):  # type: ignore[no-untyped-def]
    """Return the same term by term, as it is where attributes have several values."""
    total, tail, i = np.int64(0), at.end, at.k - 2
    while i < at.end:
        row, factor, i, tail = _next_weighted(i, tail, at, postings, memory)
        if factor != 0.0:
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


@inlined
def _next_weighted(i, tail, at, postings, memory):  # type: ignore[no-untyped-def]
    """Return the row and the weight of literal ``i``, 0 where it cannot score, and the next literal and weight."""
    row_attribute, factor = postings.row_attribute, 1.0
    row, i, counted = _literal(i, at, postings.words)
    if counted and at.kind != UNIT:
        factor = weight_of(tail, postings, memory)
        tail += 1
    if not counted or row >= len(row_attribute) or row_attribute[row] < 0:
        factor = 0.0
    return row, factor, i, tail


@inlined
def _literal(i, at, words):  # type: ignore[no-untyped-def]
    """Return the row of literal ``i``, the next literal, and whether it has a weight; p and q come before k."""
    if i < at.k:
        return np.int64(at.p) if i == at.k - 2 else np.int64(at.q), i + 1, True
    word = np.int64(words[i])
    return word >> ROW_SHIFT, i + (4 if word & INTERVAL else 1), word & NEGATED == 0


@inlined
def weight_of(k, postings, memory):  # type: ignore[no-untyped-def]
    """Return the weight whose code is word ``k``."""
    table = postings.weight_table
    return table[postings.words[k]] if len(table) else np.float64(memory.codes[k])
