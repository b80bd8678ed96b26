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

_AHEAD = 64
"""So many masks before it is read a mask is fetched."""

_HIT = (1 << 32) - 1
"""The part of a slot that is the place of a hit; above it stands the owner word."""


@kernel
def turn_hits(lanes, part, parts, ordered, mask, slots, squares, first_hits, turned):  # type: ignore[no-untyped-def]
    """Write each event's hits.

    Parameters
    ----------
    lanes
        A tuple of W numbers, see `index.block.walk.walk`; of eight, where masks are longer, and then
    part, parts
        Which eight words of the masks these events have, and how often masks have eight; 0 and 1 for others.
    ordered
        The hits in order, see `index.block.hit_order.Ordered`.
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
            if first >= len(ordered.owner):
                squares[y] = 0
                continue
            _gather(lanes, part, parts, first, ordered, mask, squares[y])
            _drop_duplicates(lanes, part, parts, first, ordered, mask, slots, first_hits, squares[y])
            turn(lanes, squares[y])
        for row in range(64):
            spread_row(lanes, squares, row, turned, word)


@inlined
def _gather(lanes, part, parts, first, ordered, mask, square):  # type: ignore[no-untyped-def]
    """Copy the masks of 64 hits, or of those that there are, and have later ones fetched; join those that are one."""
    place, begin = ordered.place, ordered.begin
    for i in range(min(64, len(begin) - 1 - first)):
        joined = everywhere(lanes, 0)
        for j in range(begin[first + i], begin[first + i + 1]):
            prefetch(mask, place[min(j + _AHEAD, len(place) - 1)] * parts + part)  # type: ignore[no-untyped-call]
            joined = joined | load(lanes, mask, place[j] * parts + part)
        store(joined, square, i)
    for i in range(len(begin) - 1 - first, 64):
        store(everywhere(lanes, 0), square, i)


@inlined
def _drop_duplicates(lanes, part, parts, first, ordered, mask, slots, first_hits, square):  # type: ignore[no-untyped-def]
    """Take from 64 hits the events that a better hit of the same owner has."""
    owner, place, begin = ordered.owner, ordered.place, ordered.begin
    some = min(64, len(owner) - first) if len(slots) else 0
    for i in range(some):
        ahead = np.int64(owner[min(first + 64 + i, len(owner) - 1)])
        prefetch(slots, first_slot(ahead, len(slots)))  # type: ignore[no-untyped-call]
        first_hits[i] = place[begin[first + i]]
        if owner[first + i] & 1:
            first_hits[i] = _first_hit(np.int64(owner[first + i]), first_hits[i], slots)
            prefetch(mask, first_hits[i] * parts + part)  # type: ignore[no-untyped-call]
    for i in range(some):
        if owner[first + i] & 1:
            at, ours = first_hits[i] * parts + part, load(lanes, square, i)
            if first_hits[i] == place[begin[first + i]]:
                store(ours, mask, at)
            else:
                seen = load(lanes, mask, at)
                store(ours & ~seen, square, i)
                store(ours | seen, mask, at)


@inlined
def _first_hit(owner, hit, slots):  # type: ignore[no-untyped-def]
    """Return the owner's first hit, which is this one if the table has none yet."""
    at = first_slot(owner, len(slots))
    while slots[at] >= 0 and slots[at] >> 32 != owner:
        at = (at + 1) & (len(slots) - 1)
    if slots[at] < 0:
        slots[at] = owner << 32 | hit
    return slots[at] & _HIT
