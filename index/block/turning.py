"""Turns the masks of ordered hits by 64 x 64 bits: from a hit's events to an event's hits, each owner once.

Of 64 hits, one after the other, each word of their masks is a square of 64 hits by 64 events; turned, a word says which
of the 64 hits an event has. So an event's hits are found in order by going through its own words, and nothing is
appended to hundreds of places in turn. An owner with several clauses has each event once, by the best of its hits: a
table of the owners met so far holds the first hit of each, and in its mask, once that has been read, their events are
united.
"""

from __future__ import annotations

import numpy as np

from index.block.exchanging import turn
from index.block.lanes import everywhere, load, store
from index.block.owner_slots import first_slot
from index.block.prefetching import prefetch
from index.block.streaming import spread_row
from index.kernel import inlined, kernel

TOGETHER = 8
"""Squares whose words of one event are written together: as many words as a line of the cache has."""

_HIT = (1 << 32) - 1
"""The part of a slot that is the place of a hit; above it stands the owner word."""


@kernel
def turn_hits(lanes, part, parts, order, owner, mask, slots, squares, first_hits, turned):  # type: ignore[no-untyped-def]
    """Write each event's hits.

    Parameters
    ----------
    lanes
        A tuple of W numbers, see `index.block.walk.walk`; of eight, where masks are longer, and then
    part, parts
        Which eight words of the masks these events have, and how often masks have eight; 0 and 1 for others.
    order, owner
        int32 [hits]: the hits' places in their order, and their owner words in that order.
    mask
        uint64 [parts x hits, W]; those of owners with several clauses are changed.
    slots
        int64, a power of two of them, all -1, twice as many as hits of owners with several clauses or more.
    squares, first_hits
        uint64 [TOGETHER, 64 or more, W], int64 [64]: memory to work with.
    turned
        uint64 [64 W, words], words a multiple of TOGETHER: bit i of an event's word w is whether it has hit 64 w + i.
        It begins with a line of the cache.
    """
    for word in range(0, turned.shape[1], TOGETHER):
        for y in range(TOGETHER):
            first = 64 * (word + y)
            if first >= len(order):
                squares[y] = 0
                continue
            _gather(lanes, part, parts, first, order, mask, squares[y])
            _drop_duplicates(lanes, part, parts, first, order, owner, mask, slots, first_hits, squares[y])
            turn(lanes, squares[y])
        for row in range(64):
            spread_row(lanes, squares, row, turned, word)


@inlined
def _gather(lanes, part, parts, first, order, mask, square):  # type: ignore[no-untyped-def]
    """Copy the masks of 64 hits, or of those that there are, and have the next 64 fetched."""
    for i in range(64):
        hit = order[min(first + i, len(order) - 1)]
        prefetch(mask, order[min(first + 64 + i, len(order) - 1)] * parts + part)  # type: ignore[no-untyped-call]
        store(load(lanes, mask, hit * parts + part) if first + i < len(order) else everywhere(lanes, 0), square, i)


@inlined
def _drop_duplicates(lanes, part, parts, first, order, owner, mask, slots, first_hits, square):  # type: ignore[no-untyped-def]
    """Take from 64 hits the events that a better hit of the same owner has."""
    some = min(64, len(order) - first) if len(slots) else 0
    for i in range(some):
        ahead = np.int64(owner[min(first + 64 + i, len(owner) - 1)])
        prefetch(slots, first_slot(ahead, len(slots)))  # type: ignore[no-untyped-call]
        first_hits[i] = order[first + i]
        if owner[first + i] & 1:
            first_hits[i] = _first_hit(np.int64(owner[first + i]), order[first + i], slots)
            prefetch(mask, first_hits[i] * parts + part)  # type: ignore[no-untyped-call]
    for i in range(some):
        if first_hits[i] != order[first + i]:
            for x in range(len(lanes)):
                bits, seen = square[i, x], mask[first_hits[i] * parts + part, x]
                square[i, x] = bits & ~seen
                mask[first_hits[i] * parts + part, x] = seen | bits


@inlined
def _first_hit(owner, hit, slots):  # type: ignore[no-untyped-def]
    """Return the owner's first hit, which is this one if the table has none yet."""
    at = first_slot(owner, len(slots))
    while slots[at] >= 0 and slots[at] >> 32 != owner:
        at = (at + 1) & (len(slots) - 1)
    if slots[at] < 0:
        slots[at] = owner << 32 | hit
    return slots[at] & _HIT
