"""Keeps the best matches of each event, and puts matches in the order of `index.engine.Matches`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from index.block.layout import Int32s, Int64s, UInt8s
from index.engine import Matches

HEAP_LIMIT = 1024
"""Events that want more matches than this get all, cut to their number when they have been ordered."""


class Heaps(NamedTuple):
    """A bounded heap for each event of a chunk, its root the worst match held.

    Attributes
    ----------
    start
        int64 [events + 1]: heap e has room from ``start[e]`` to ``start[e + 1]``; none for an event that gets all.
    size
        int32 [events].
    owner, points
        int32, int64: what is held.
    """

    start: Int64s
    size: Int32s
    owner: Int32s
    points: Int64s

    @classmethod
    def of(cls, top: Int32s, most: int) -> Heaps:
        """Return empty heaps for events that want ``top`` of at most ``most`` matches."""
        start = np.zeros(len(top) + 1, np.int64)
        np.cumsum(np.where(top <= HEAP_LIMIT, np.minimum(top, most), 0), out=start[1:])
        return cls(start, np.zeros(len(top), np.int32), np.empty(start[-1], np.int32), np.empty(start[-1], np.int64))

    def held(self, base: int) -> Matches:
        """Return what is held, event by event, unordered; ``base`` is the first event's row."""
        place = np.arange(len(self.owner)) - np.repeat(self.start[:-1], np.diff(self.start))
        filled = place < np.repeat(self.size, np.diff(self.start))
        event = np.repeat(np.arange(base, base + len(self.size), dtype=np.int32), self.size)
        return Matches(event, self.owner[filled], self.points[filled])


@njit(cache=True, nogil=True)
def keep(base, hit_event, hit_clause, points, n, owners, several, heaps, event_out, owner_out, points_out):  # type: ignore[no-untyped-def]
    """Offer hits to their events' heaps; write those of events without one to the outputs and return their number."""
    written = 0
    for i in range(n):
        event, owner = hit_event[i] - base, owners[hit_clause[i]]
        if heaps.start[event] < heaps.start[event + 1]:
            _offer(heaps, event, owner, points[i], several[owner] != 0)
        else:
            event_out[written], owner_out[written], points_out[written] = hit_event[i], owner, points[i]
            written += 1
    return written


@njit(cache=True, nogil=True)
def _offer(heaps, event, owner, points, several):  # type: ignore[no-untyped-def]
    """Hold the match if it is among the best; of an owner with several clauses only the best score is held.

    The root never gets better, so an owner that has fallen out comes back only by a score that beats what it had.
    """
    start, size = heaps.start[event], heaps.size[event]
    if several:
        for place in range(start, start + size):
            if heaps.owner[place] == owner:
                if points > heaps.points[place]:
                    _sift_down(heaps, start, place - start, size, owner, points)
                return
    if size < heaps.start[event + 1] - start:
        heaps.size[event] = size + 1
        _sift_up(heaps, start, size, owner, points)
    elif _worse(heaps.points[start], heaps.owner[start], points, owner):
        _sift_down(heaps, start, 0, size, owner, points)


@njit(cache=True, nogil=True)
def _worse(points, owner, other_points, other_owner):  # type: ignore[no-untyped-def]
    return points < other_points or (points == other_points and owner > other_owner)


@njit(cache=True, nogil=True)
def _sift_up(heaps, start, place, owner, points):  # type: ignore[no-untyped-def]
    """Put a match at ``place`` or above, moving better parents down."""
    while place > 0:
        parent = (place - 1) >> 1
        if not _worse(points, owner, heaps.points[start + parent], heaps.owner[start + parent]):
            break
        heaps.owner[start + place], heaps.points[start + place] = (
            heaps.owner[start + parent],
            heaps.points[start + parent],
        )
        place = parent
    heaps.owner[start + place], heaps.points[start + place] = owner, points


@njit(cache=True, nogil=True)
def _sift_down(heaps, start, place, size, owner, points):  # type: ignore[no-untyped-def]
    """Put a match at ``place`` or below, moving worse children up."""
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        a, b = start + child, start + child + 1
        if child + 1 < size and _worse(heaps.points[b], heaps.owner[b], heaps.points[a], heaps.owner[a]):
            child, a = child + 1, b
        if not _worse(heaps.points[a], heaps.owner[a], points, owner):
            break
        heaps.owner[start + place], heaps.points[start + place] = heaps.owner[a], heaps.points[a]
        place = child
    heaps.owner[start + place], heaps.points[start + place] = owner, points


def distinct(found: Matches, several: UInt8s) -> Matches:
    """Merge the matches of one event and owner into the best of them."""
    doubtful = several[found.subscription] != 0
    if not doubtful.any():
        return found
    doubles = found.take(doubtful)
    doubles = doubles.take(np.lexsort((-doubles.score, doubles.subscription, doubles.event)))
    best = np.ones(len(doubles.event), np.bool_)
    best[1:] = (np.diff(doubles.event) != 0) | (np.diff(doubles.subscription) != 0)
    return Matches.joined([found.take(~doubtful), doubles.take(best)])


def ordered(found: Matches, top: Int32s) -> Matches:
    """Return the matches by (event, score falling, ordinal rising), each event's first ``top`` of them (0: all)."""
    if not len(found.event):
        return found
    found = _sorted(found)
    limits = top[found.event]
    if (limits > HEAP_LIMIT).any():
        rank = np.arange(len(limits)) - np.searchsorted(found.event, found.event)
        found = found.take((limits == 0) | (rank < limits))
    return found


def _sorted(found: Matches) -> Matches:
    """Sort as one integer a match where the three fit into 63 bits, which is several times faster than by columns."""
    first, best = int(found.event.min()), int(found.score.max())
    event_bits = (int(found.event.max()) - first).bit_length()
    score_bits = (best - int(found.score.min())).bit_length()
    owner_bits = int(found.subscription.max()).bit_length()
    if event_bits + score_bits + owner_bits > 63:
        return found.take(np.lexsort((found.subscription, -found.score, found.event)))
    key = (found.event.astype(np.int64) - first) << (score_bits + owner_bits)
    key |= (best - found.score) << owner_bits
    key |= found.subscription
    key.sort()
    return Matches(
        ((key >> (score_bits + owner_bits)) + first).astype(np.int32),
        (key & ((1 << owner_bits) - 1)).astype(np.int32),
        best - ((key >> owner_bits) & ((1 << score_bits) - 1)),
    )
