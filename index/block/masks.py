"""Kernels that fill the masks of a chunk of events: bit e of a row's mask says that event e satisfies its predicate.

Rows of terms and presences are set from the events' entries and cleared after the chunk by the list of touched rows, so
they are zero whenever untouched. Rows of ``in`` and ranges are derived when first read; ``stamp[row] == epoch`` says
that a row is of this chunk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from index.block.layout import ALL, Int32s, Int64s, UInt64s


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
    first_in, first_range
        Where the ``in`` rows and the range rows begin.
    ladder_first, ladder_count, ladder_table
        int64 [ladders]: a ladder's ranks in this chunk are ``count`` entries of ``rank`` from ``first``, and its sparse
        table begins at row ``table`` of ``tables``.
    rank
        int32, distinct ranks present in the chunk, ladder by ladder, ascending.
    tables
        uint64 [..., W]; level k of a ladder with n ranks is n rows, row i of them the OR of the masks of ranks i to
        i + 2**k - 1 (as far as there are so many).
    """

    masks: UInt64s
    stamp: Int32s
    epoch: int
    first_in: int
    first_range: int
    ladder_first: Int64s
    ladder_count: Int64s
    ladder_table: Int64s
    rank: Int32s
    tables: UInt64s


@njit(cache=True, nogil=True)
def scatter(first, stop, offsets, term, term_row, exists_row, masks, stamp, epoch, touched):  # type: ignore[no-untyped-def]
    """Set the bits of events ``first`` to ``stop`` and return how many rows were touched; row 0 is not listed."""
    n = 0
    for event in range(first, stop):
        word = (event - first) >> 6
        bit = np.uint64(1) << np.uint64((event - first) & 63)
        masks[ALL, word] |= bit
        for entry in range(offsets[event], offsets[event + 1]):
            for row in (term_row[term[entry]], exists_row[term[entry]]):
                if row > 0:
                    if stamp[row] != epoch:
                        stamp[row] = epoch
                        touched[n] = row
                        n += 1
                    masks[row, word] |= bit
    return n


@njit(cache=True, nogil=True)
def clear(masks, touched, n):  # type: ignore[no-untyped-def]
    """Zero row 0 and the touched rows."""
    masks[ALL, :] = 0
    for i in range(n):
        masks[touched[i], :] = 0


@njit(cache=True, nogil=True)
def fill_tables(place, word, bit, ladder_count, ladder_table, tables):  # type: ignore[no-untyped-def]
    """Build the sparse tables: the ranks' own masks, then each level from the one below it."""
    for i in range(len(place)):
        tables[place[i], word[i]] |= bit[i]
    for ladder in range(len(ladder_count)):
        n = ladder_count[ladder]
        width, level = 1, ladder_table[ladder]
        while 2 * width <= n:
            for i in range(n):
                j = min(i + width, n - 1)
                for x in range(tables.shape[1]):
                    tables[level + n + i, x] = tables[level + i, x] | tables[level + j, x]
            width, level = 2 * width, level + n


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def wake_ranges(touched, n, chunk, rows):  # type: ignore[no-untyped-def]
    """Derive the range rows with postings from ladders at hand, append those not empty, and return the new length."""
    for ladder in range(len(chunk.ladder_count)):
        if chunk.ladder_count[ladder] == 0:
            continue
        for j in range(rows.ladder_range_start[ladder], rows.ladder_range_start[ladder + 1]):
            row = chunk.first_range + rows.ladder_range[j]
            if derive(row, chunk, rows):
                touched[n] = row
                n += 1
    return n


@njit(cache=True, nogil=True)
def derive(row, chunk, rows):  # type: ignore[no-untyped-def]
    """Fill the mask of an ``in`` or range row, stamp it, and return whether it has a bit."""
    masks = chunk.masks
    chunk.stamp[row] = chunk.epoch
    masks[row, :] = 0
    if row < chunk.first_range:
        i = row - chunk.first_in
        for j in range(rows.in_start[i], rows.in_start[i + 1]):
            for x in range(masks.shape[1]):
                masks[row, x] |= masks[1 + rows.in_term[j], x]
    else:
        _derive_range(row, row - chunk.first_range, chunk, rows)
    union = np.uint64(0)
    for x in range(masks.shape[1]):
        union |= masks[row, x]
    return union != np.uint64(0)


@njit(cache=True, nogil=True)
def _derive_range(row, i, chunk, rows):  # type: ignore[no-untyped-def]
    """A range is the OR of two overlapping runs of ranks, 2**k each, that cover it."""
    ladder = rows.range_ladder[i]
    first, n = chunk.ladder_first[ladder], chunk.ladder_count[ladder]
    low = lower_bound(chunk.rank, first, first + n, rows.range_low[i])
    high = lower_bound(chunk.rank, low, first + n, rows.range_high[i] + 1)
    if low >= high:
        return
    level, width = chunk.ladder_table[ladder], 1
    while 2 * width <= high - low:
        width, level = 2 * width, level + n
    for x in range(chunk.masks.shape[1]):
        chunk.masks[row, x] = chunk.tables[level + low - first, x] | chunk.tables[level + high - width - first, x]


@njit(cache=True, nogil=True)
def lower_bound(ascending, low, high, wanted):  # type: ignore[no-untyped-def]
    """Return the first place in ``ascending[low:high]`` whose entry is not less than ``wanted``, or ``high``."""
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
