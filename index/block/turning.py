"""Turns the masks of ordered hits by 64 x 64 bits: from a hit's events to an event's hits, without doubles.

Of 64 hits, one after the other, each word of their masks is a square of 64 hits by 64 events; turned, a word says which
of the 64 hits an event has. So an event's hits are found in order by going through its own words, and nothing is
appended to hundreds of places in turn. An owner with several clauses has each event once, by the best of its hits: a
table of the owners met so far holds the first hit of each, and in its mask, once that has been read, their events are
united.
"""

from __future__ import annotations

import numpy as np

from index.block.owner_slots import first_slot
from index.block.prefetching import prefetch
from index.kernel import inlined, kernel

TOGETHER = 8
"""Squares whose words of one event are written together: as many words as a line of the cache has."""

_HIT = (1 << 32) - 1
"""The part of a slot that is the place of a hit; above it stands the owner word."""


@kernel
def turn_hits(lanes, order, owner, mask, slots, squares, spare, first_hits, turned):  # type: ignore[no-untyped-def]
    """Write each event's hits.

    Parameters
    ----------
    lanes
        A tuple of W numbers, see `index.block.walk.walk`.
    order, owner
        int32 [hits]: the hits' places in their order, and their owner words in that order.
    mask
        uint64 [hits, W]; those of owners with several clauses are changed.
    slots
        int64, a power of two of them, all -1, twice as many as hits of owners with several clauses or more.
    squares, spare, first_hits
        uint64 [TOGETHER, 64 W or more], uint64 [64 W], int64 [64]: memory to work with.
    turned
        uint64 [events, words], words a multiple of TOGETHER: bit i of an event's word w is whether it has hit 64 w + i.
    """
    for word in range(0, turned.shape[1], TOGETHER):
        for y in range(TOGETHER):
            first = 64 * (word + y)
            if first >= len(order):
                squares[y] = 0
                continue
            _gather(lanes, first, order, mask, squares[y])
            _drop_doubles(lanes, first, order, owner, mask, slots, first_hits, squares[y])
            _turn(lanes, squares[y], spare)
        for event in range(len(turned)):
            at = (event & 63) * len(lanes) + (event >> 6)
            for y in range(TOGETHER):
                turned[event, word + y] = squares[y, at]


@inlined
def _gather(lanes, first, order, mask, square):  # type: ignore[no-untyped-def]
    """Copy the masks of 64 hits, or of those that there are, and have the next 64 fetched."""
    for i in range(64):
        hit = order[min(first + i, len(order) - 1)]
        prefetch(mask, order[min(first + 64 + i, len(order) - 1)])  # type: ignore[no-untyped-call]
        for x in range(len(lanes)):
            square[i * len(lanes) + x] = mask[hit, x] if first + i < len(order) else np.uint64(0)


@inlined
def _drop_doubles(lanes, first, order, owner, mask, slots, first_hits, square):  # type: ignore[no-untyped-def]
    """Take from 64 hits the events that a better hit of the same owner has."""
    some = min(64, len(order) - first) if len(slots) else 0
    for i in range(some):
        ahead = np.int64(owner[min(first + 64 + i, len(owner) - 1)])
        prefetch(slots, first_slot(ahead, len(slots)))  # type: ignore[no-untyped-call]
        first_hits[i] = order[first + i]
        if owner[first + i] & 1:
            first_hits[i] = _first_hit(np.int64(owner[first + i]), order[first + i], slots)
            prefetch(mask, first_hits[i])  # type: ignore[no-untyped-call]
    for i in range(some):
        if first_hits[i] != order[first + i]:
            for x in range(len(lanes)):
                bits, seen = square[i * len(lanes) + x], mask[first_hits[i], x]
                square[i * len(lanes) + x] = bits & ~seen
                mask[first_hits[i], x] = seen | bits


@inlined
def _first_hit(owner, hit, slots):  # type: ignore[no-untyped-def]
    """Return the owner's first hit, which is this one if the table has none yet."""
    at = first_slot(owner, len(slots))
    while slots[at] >= 0 and slots[at] >> 32 != owner:
        at = (at + 1) & (len(slots) - 1)
    if slots[at] < 0:
        slots[at] = owner << 32 | hit
    return slots[at] & _HIT


@inlined
def _turn(lanes, square, spare):  # type: ignore[no-untyped-def]
    """Turn W squares of 64 x 64 bits, row by row of W words: halves change places, then halves of these, and so on."""
    _exchange(lanes, square, spare, 32, np.uint64(0x00000000FFFFFFFF))
    _exchange(lanes, spare, square, 16, np.uint64(0x0000FFFF0000FFFF))
    _exchange(lanes, square, spare, 8, np.uint64(0x00FF00FF00FF00FF))
    _exchange(lanes, spare, square, 4, np.uint64(0x0F0F0F0F0F0F0F0F))
    _exchange(lanes, square, spare, 2, np.uint64(0x3333333333333333))
    _exchange(lanes, spare, square, 1, np.uint64(0x5555555555555555))


@inlined
def _exchange(lanes, square, out, half, low):  # type: ignore[no-untyped-def]
    """Exchange the upper bits of each row with the lower bits of the row ``half`` further on; ``low`` are the lower."""
    shift, apart = np.uint64(half), half * len(lanes)
    for begin in range(0, 64 * len(lanes), 2 * apart):
        for i in range(begin, begin + apart):
            here, there = square[i], square[i + apart]
            out[i] = here & low | (there & low) << shift
            out[i + apart] = here >> shift & low | there & ~low
