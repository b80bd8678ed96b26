"""Tables of the ranks that a chunk's events have on ladders, from which the events inside a range are read off.

A range is an interval of the ranks at hand. Where no event has two of them, as is usual, the mask of an interval is
that of all ranks below its end without that of all below its beginning: two rows of a table of prefixes. Where some
event has several, an interval is covered by two overlapping runs of 2**k ranks, which a sparse table holds.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from index.block.layout import Int32s, Int64s, UInt64s
from index.kernel import inlined, kernel
from index.slices import starts_of

CELLS = 4
"""Guides a rank at hand: most cells have none then, so that a place is found without steps."""


class RankTables(NamedTuple):
    """The ladders of a chunk.

    Attributes
    ----------
    first, size
        int64 [ladders]: a ladder's ranks at hand are ``size`` entries of ``rank`` from ``first``.
    several
        uint64 [ladders]: all bits where some event has several ranks of the ladder, else 0.
    table
        int64 [ladders]: the first row of a ladder's tables. Of n ranks these are n rows with the ranks' own masks; then
        either n + 1 rows, row i of them the OR of the first i; or levels k = 1, 2, ... of n rows, row i of them the OR
        of ranks i to i + 2**k - 1 (as far as there are so many).
    guide, shift
        int64 [ladders + 1], [ladders]: where the ladder's guides begin; guide g stands for ranks from g << shift on.
    guides
        int32: the first place at hand whose rank is not below the guide's.
    rank
        int32: the distinct ranks at hand, ladder by ladder, ascending.
    masks
        uint64 [..., W]: the tables.
    row
        int64 [ladders]: the ladder's row of ``held``; of ladders without a rank the last, where nobody has one.
    held
        int32 [ladders with ranks + 1, 64 W]: each event's rank or -1, of no meaning where some event has several.
    """

    first: Int64s
    size: Int64s
    several: UInt64s
    table: Int64s
    guide: Int64s
    shift: Int64s
    guides: Int32s
    rank: Int32s
    masks: UInt64s
    row: Int64s
    held: Int32s

    @classmethod
    def of(cls, ladder: Int32s, rank: Int32s, event: Int32s, ladders: int, words: int) -> RankTables:
        """Build the tables.

        Parameters
        ----------
        ladder, rank, event
            int32 [entries], by ladder, then by rank; the event's number in the chunk.
        ladders, words
            How many ladders the segment has; W.
        """
        new = np.ones(len(rank), np.bool_)
        new[1:] = (ladder[1:] != ladder[:-1]) | (rank[1:] != rank[:-1])
        size = np.bincount(ladder[new], minlength=ladders)
        first = np.cumsum(size) - size
        several = np.zeros(ladders, np.uint64)
        _mark_several(ladder, event, np.zeros((ladders, words), np.uint64), several)
        levels = np.frexp(size)[1].astype(np.int64)  # the bit length
        rows = np.where(several != 0, levels * size, 2 * size + 1)
        table = np.cumsum(rows) - rows
        masks = np.zeros((int(rows.sum()), words), np.uint64)
        _fill_tables(table[ladder] + np.cumsum(new) - 1 - first[ladder], event, size, several, table, masks)
        ranks, shift = rank[new], np.zeros(ladders, np.int64)
        guide = starts_of(CELLS * size, ladders)
        guides = np.zeros(guide[-1], np.int32)
        _fill_guides(first, size, ranks, guide, shift, guides)
        row = np.where(size > 0, np.cumsum(size > 0) - 1, (size > 0).sum())
        held = np.full((row.max(initial=0) + 1, 64 * words), -1, np.int32)
        held[row[ladder], event] = rank
        return cls(first, size, several, table, guide, shift, guides, ranks, masks, row, held)

    @classmethod
    @cache
    def none(cls, words: int) -> RankTables:
        """Return the tables of no ladders, which are always the same."""
        nothing = np.zeros(0, np.int32)
        return cls.of(nothing, nothing, nothing, 0, words)


@kernel
def _mark_several(ladder, event, seen, several):  # type: ignore[no-untyped-def]
    for i in range(len(ladder)):
        word, bit = event[i] >> 6, np.uint64(1) << np.uint64(event[i] & 63)
        if seen[ladder[i], word] & bit:
            several[ladder[i]] = ~np.uint64(0)
        seen[ladder[i], word] |= bit


@kernel
def _fill_tables(place, event, count, several, table, masks):  # type: ignore[no-untyped-def]
    """Fill the rows of the ranks, then of each ladder the others from those."""
    for i in range(len(place)):
        masks[place[i], event[i] >> 6] |= np.uint64(1) << np.uint64(event[i] & 63)
    for ladder in range(len(count)):
        if several[ladder]:
            _fill_levels(table[ladder], count[ladder], masks)
            continue
        begin, n = table[ladder], count[ladder]
        for i in range(n):
            for x in range(masks.shape[1]):
                masks[begin + n + i + 1, x] = masks[begin + n + i, x] | masks[begin + i, x]


@kernel
def _fill_levels(level, n, masks):  # type: ignore[no-untyped-def]
    """Fill each level from the one below it."""
    width = 1
    while 2 * width <= n:
        for i in range(n):
            j = min(i + width, n - 1)
            for x in range(masks.shape[1]):
                masks[level + n + i, x] = masks[level + i, x] | masks[level + j, x]
        width, level = 2 * width, level + n


@kernel
def _fill_guides(first, count, rank, guide, shift, guides):  # type: ignore[no-untyped-def]
    for ladder in range(len(count)):
        n, start, cells = count[ladder], first[ladder], guide[ladder + 1] - guide[ladder]
        if n == 0:
            continue
        while rank[start + n - 1] >> shift[ladder] >= cells:
            shift[ladder] += 1
        place = 0
        for cell in range(cells):
            while place < n and rank[start + place] >> shift[ladder] < cell:
                place += 1
            guides[guide[ladder] + cell] = place


@inlined
def runs_of(rank, last, ladder, ranks):  # type: ignore[no-untyped-def]
    """Return two rows of the tables that `joined` makes the mask of ``rank`` to ``last`` of, or -1 and -1 for none."""
    low = _place_of(rank, ladder, ranks)
    high = _place_of(last + 1, ladder, ranks)
    if low >= high:
        return np.int64(-1), np.int64(-1)
    n, level = ranks.size[ladder], ranks.table[ladder]
    if ranks.several[ladder] == np.uint64(0):
        return level + n + low, level + n + high
    width = 1
    while 2 * width <= high - low:
        width, level = 2 * width, level + n
    return level + low, level + high - width


@inlined
def is_inside(event, low, high, ladder, ranks):  # type: ignore[no-untyped-def]
    """Return whether the event, which has at most one rank of the ladder, has one from ``low`` to ``high``."""
    rank = ranks.held[ranks.row[ladder], event]
    return low <= rank and rank <= high


@inlined
def joined(a, b, x, several, masks):  # type: ignore[no-untyped-def]
    """Return word ``x`` of a range's mask: the OR of two runs, or what a prefix has more than one inside it."""
    return masks[a, x] ^ (masks[b, x] & ~(masks[a, x] & several))


@inlined
def _place_of(rank, ladder, ranks):  # type: ignore[no-untyped-def]
    """Return the first place of a ladder's ranks at hand whose rank is not less: by its guide, then step by step."""
    cell = ranks.guide[ladder] + (rank >> ranks.shift[ladder])
    n, first = ranks.size[ladder], ranks.first[ladder]
    if cell >= ranks.guide[ladder + 1]:
        return n
    place = np.int64(ranks.guides[cell])
    while place < n and ranks.rank[first + place] < rank:
        place += 1
    return place
