"""Kernels that fill the masks of a chunk of events: bit e of a row's mask says that event e satisfies its predicate.

Rows of terms, presences and tests are set from the events' entries and cleared after the chunk by the list of touched
rows, so they are zero whenever untouched. Rows of ``in`` and ranges are derived when first read; ``stamp[row] ==
epoch`` says that a row is of this chunk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.layout import ALL, REACH, Int32s, Int64s, UInt64s
from index.block.rank_tables import RankTables, joined, runs_of
from index.kernel import kernel
from index.lower_bound import lower_bound

LAST_RANK = 2**31 - 2
"""No rank is higher."""


class Marks(NamedTuple):
    """What the entries of a block set.

    Attributes
    ----------
    offsets
        int64 [events + 1]: event e has the entries ``offsets[e]`` to ``offsets[e + 1]``.
    term
        int32 [entries].
    term_row, exists_row
        int32 [terms of the block]: the term's row, and the row of its attribute's presence; 0 where the segment asks
        for neither.
    test_start, test_row
        int64 [terms of the block + 1], int32: the rows of the tests that the term satisfies.
    """

    offsets: Int64s
    term: Int32s
    term_row: Int32s
    exists_row: Int32s
    test_start: Int64s
    test_row: Int32s


class Chunk(NamedTuple):
    """Up to 64 W events at work.

    Attributes
    ----------
    masks
        uint64 [rows, W].
    stamp
        int32 [rows].
    epoch
        This chunk's stamp.
    first_in, first_range, first_outside
        Where the ``in`` rows, the range rows and, last among these, the rows of what is outside a list begin.
    ranks
        What the events have on ladders.
    """

    masks: UInt64s
    stamp: Int32s
    epoch: int
    first_in: int
    first_range: int
    first_outside: int
    ranks: RankTables


@kernel
def scatter(first, stop, order, marks, masks, stamp, epoch, touched):  # type: ignore[no-untyped-def]
    """Set the bits of an order's events ``first`` to ``stop``; return how many rows were touched, row 0 not counted."""
    n = 0
    for place in range(first, stop):
        event = order[place]
        word = (place - first) >> 6
        bit = np.uint64(1) << np.uint64((place - first) & 63)
        masks[ALL, word] |= bit
        for entry in range(marks.offsets[event], marks.offsets[event + 1]):
            term = marks.term[entry]
            n = _mark(marks.term_row[term], word, bit, masks, stamp, epoch, touched, n)
            n = _mark(marks.exists_row[term], word, bit, masks, stamp, epoch, touched, n)
            for i in range(marks.test_start[term], marks.test_start[term + 1]):
                n = _mark(marks.test_row[i], word, bit, masks, stamp, epoch, touched, n)
    return n


@kernel
def _mark(row, word, bit, masks, stamp, epoch, touched, n):  # type: ignore[no-untyped-def]
    if row > 0:
        if stamp[row] != epoch:
            stamp[row] = epoch
            touched[n] = row
            n += 1
        masks[row, word] |= bit
    return n


@kernel
def clear(masks, touched, n):  # type: ignore[no-untyped-def]
    """Zero row 0 and the touched rows."""
    masks[ALL, :] = 0
    for i in range(n):
        masks[touched[i], :] = 0


@kernel
def wake_ins(touched, n, chunk, rows):  # type: ignore[no-untyped-def]
    """Derive ``in`` rows with postings from the first ``n`` touched rows, append them, and return the new length."""
    end = n
    for i in range(n):
        term_row = touched[i]
        if term_row >= len(rows.term_in_start):
            continue
        for j in range(rows.term_in_start[term_row - 1], rows.term_in_start[term_row]):
            row = chunk.first_in + rows.term_in[j]
            if chunk.stamp[row] != chunk.epoch:
                chunk.stamp[row] = chunk.epoch
                chunk.masks[row, :] = 0
                touched[end] = row
                end += 1
            for x in range(chunk.masks.shape[1]):
                chunk.masks[row, x] |= chunk.masks[term_row, x]
    return end


@kernel
def wake_ranges(touched, n, chunk, rows):  # type: ignore[no-untyped-def]
    """Derive range rows with postings that may hold a value at hand, append those not empty, return the new length."""
    outside = chunk.first_outside - chunk.first_range
    for ladder in range(len(chunk.ranks.size)):
        j, stop = rows.ladder_range_start[ladder], rows.ladder_range_start[ladder + 1]
        if j == stop or chunk.ranks.size[ladder] == 0:
            continue
        if rows.ladder_range[j] < outside:
            n = _wake_ladder(touched, n, chunk, rows, ladder, j, stop)
            continue
        for i in range(j, stop):
            n = _wake_range(touched, n, chunk, rows, rows.ladder_range[i])
    return n


@kernel
def _wake_ladder(touched, n, chunk, rows, ladder, j, stop):  # type: ignore[no-untyped-def]
    """Wake the ranges of one ladder that hold a rank at hand.

    They ascend by their lowest rank. Those that begin above the rank before and at most on this one, from ``j`` to
    ``end``, hold no smaller rank at hand, so they hold one exactly when they reach this one; none is looked at twice.
    """
    first = chunk.ranks.first[ladder]
    for i in range(first, first + chunk.ranks.size[ladder]):
        rank = chunk.ranks.rank[i]
        low, end = j, stop
        while low < end:
            middle = (low + end) >> 1
            if rows.range_low[rows.ladder_range[middle]] <= rank:
                low = middle + 1
            else:
                end = middle
        while j < end:
            if j % REACH == 0 and j + REACH <= end and rows.ladder_range_reach[j // REACH] < rank:
                j += REACH
                continue
            if rows.range_high[rows.ladder_range[j]] >= rank:
                n = _wake_range(touched, n, chunk, rows, rows.ladder_range[j])
            j += 1
    return n


@kernel
def _wake_range(touched, n, chunk, rows, i):  # type: ignore[no-untyped-def]
    row = chunk.first_range + i
    if derive(row, chunk, rows):
        touched[n] = row
        n += 1
    return n


@kernel
def derive(row, chunk, rows):  # type: ignore[no-untyped-def]
    """Fill the mask of an ``in`` or range row, stamp it, and return whether it has a bit."""
    masks = chunk.masks
    chunk.stamp[row] = chunk.epoch
    masks[row, :] = 0
    if row < chunk.first_range:
        i = row - chunk.first_in
        start, stop, ladder = rows.in_start[i], rows.in_start[i + 1], rows.in_ladder[i]
        if ladder >= 0 and chunk.ranks.size[ladder] < stop - start:
            _look_up(row, rows.in_term, start, stop, 1, True, chunk, ladder)
        else:
            for j in range(start, stop):
                for x in range(masks.shape[1]):
                    masks[row, x] |= masks[1 + rows.in_term[j], x]
    elif row < chunk.first_outside:
        i = row - chunk.first_range
        _join_ranks(row, rows.range_low[i], rows.range_high[i], chunk, rows.range_ladder[i])
    else:
        i = row - chunk.first_outside
        ladder = rows.range_ladder[row - chunk.first_range]
        _derive_outside(row, rows.outside_start[i], rows.outside_start[i + 1], chunk, rows, ladder)
    union = np.uint64(0)
    for x in range(masks.shape[1]):
        union |= masks[row, x]
    return union != np.uint64(0)


@kernel
def _derive_outside(row, start, stop, chunk, rows, ladder):  # type: ignore[no-untyped-def]
    """Join the ranks between those listed, or look all ranks at hand up in the list, whichever is less work."""
    if chunk.ranks.size[ladder] < stop - start:
        _look_up(row, rows.outside_rank, start, stop, 0, False, chunk, ladder)
        return
    low = 0
    for j in range(start, stop):
        _join_ranks(row, low, rows.outside_rank[j] - 1, chunk, ladder)
        low = rows.outside_rank[j] + 1
    _join_ranks(row, low, LAST_RANK, chunk, ladder)


@kernel
def _look_up(row, listed, start, stop, base, wanted, chunk, ladder):  # type: ignore[no-untyped-def]
    """Join the masks of the ranks at hand that are, or are not, ``base`` above an entry of ``listed[start:stop]``."""
    ranks = chunk.ranks
    for i in range(ranks.size[ladder]):
        entry = ranks.rank[ranks.first[ladder] + i] - base
        start = lower_bound(listed, start, stop, entry)
        if (start < stop and listed[start] == entry) == wanted:
            for x in range(chunk.masks.shape[1]):
                chunk.masks[row, x] |= ranks.masks[ranks.table[ladder] + i, x]


@kernel
def _join_ranks(row, rank, last, chunk, ladder):  # type: ignore[no-untyped-def]
    """Join ranks ``rank`` to ``last``."""
    ranks = chunk.ranks
    a, b = runs_of(rank, last, ladder, ranks)
    if a >= 0:
        for x in range(chunk.masks.shape[1]):
            chunk.masks[row, x] |= joined(a, b, x, ranks.several[ladder], ranks.masks)
