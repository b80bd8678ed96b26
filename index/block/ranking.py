"""Keeps the best matches of each event, and says what a match must score to be among them.

An event that wants up to `HEAP_MOST` matches has a heap whose root is the worst of them. One that wants more has a
buffer half as large again: it is filled, then cut to the best, which costs less than to keep it ordered. In both,
``need`` is the score below which nothing can come in any more: minus infinity, or what the floor of other segments
says, until as many *distinct* subscriptions are held as are wanted, and it never falls. A match that scores just that
comes in only if its subscription is before ``last``: equal scores are in the order of subscriptions, so that lists of
equal bounds end early, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.layout import Float64s, Int32s, Int64s
from index.block.ordering import Runs
from index.block.owner_slots import first_slot
from index.block.surplus import Surplus, is_exact, of_marks
from index.kernel import inlined, kernel
from index.slices import starts_of

RANK_LIMIT = 10_000
"""Events that want more matches than this get all, cut to their number when they have been ordered."""

HEAP_MOST = 32

_EVERY_OWNER = 2**31 - 1
"""No owner word is greater."""

_EXACT = 2.0**52
"""Scores beyond this, in units, have no exact double; they do not raise ``need``."""


class Best(NamedTuple):
    """What the events of a chunk hold.

    Attributes
    ----------
    start
        int64 [events + 1]: event e has room from ``start[e]`` to ``start[e + 1]``.
    wanted, size
        int32 [events].
    owner, points
        int32, int64: what is held; owner words are those of records, subscription << 1 | several.
    table
        int32: slots in which matches of one owner of an event are found.
    need
        float64 [events], in units for a plain event: what a record's bound must reach.
    last
        int32 [events], the owner word of the worst match once as many are held as are wanted: another that scores just
        ``need`` comes in only if its word is less. Before that, and where a surplus has a part in ``need``,
        which then is rounded, it is the greatest word of all and keeps nothing out.
    worst
        float64 [events], what the worst match scores once as many are held as are wanted; the floor before.
    surplus
        What the events can get beyond bounds.
    """

    start: Int64s
    wanted: Int32s
    size: Int32s
    owner: Int32s
    points: Int64s
    table: Int32s
    need: Float64s
    last: Int32s
    worst: Float64s
    surplus: Surplus

    @classmethod
    def of(cls, top: Int32s, most: int) -> Best:
        """Return empty room for events that want ``top`` of at most ``most`` matches, as if they were plain."""
        wanted = np.minimum(top, most).astype(np.int32)
        room = np.where(wanted <= HEAP_MOST, wanted, wanted + wanted // 2 + 8)
        start = starts_of(room, len(top))
        size = np.zeros(len(top), np.int32)
        need, last = np.full(len(top), -np.inf), np.full(len(top), _EVERY_OWNER, np.int32)
        worst, surplus = need.copy(), Surplus.of(len(top))
        owner, points = np.empty(start[-1], np.int32), np.empty(start[-1], np.int64)
        table = np.empty(4 * int(room.max(initial=1)), np.int32)
        return cls(start, wanted, size, owner, points, table, need, last, worst, surplus)

    def runs(self, first: int) -> Runs:
        """Return what is held, as a chunk's matches; ``first`` is the chunk's first event."""
        cut_all(self)
        begin = self.start[:-1].reshape(1, -1).copy()
        return Runs(first, begin, begin + self.size, self.owner, self.points)


@inlined
def too_late(need, last, bound, owner):  # type: ignore[no-untyped-def]
    """Return whether a record of this bound and owner word cannot be among an event's best any more.

    Nor can any that stands behind it in its group, where bounds fall, and owners rise among equal bounds.
    """
    return need > bound or (need == bound and owner > last)


@inlined
def is_outdone(best, event, bound, marks):  # type: ignore[no-untyped-def]
    """Return whether a record of this bound cannot be among an event's best, given the attributes by which it scores.

    This says nothing of those behind it, which may score by others. Without a surplus `too_late` says as much.
    """
    return best.worst[event] > bound and best.worst[event] > bound + of_marks(best.surplus, event, marks)


@kernel
def need_floors(best, floor):  # type: ignore[no-untyped-def]
    """Let matches be needed only from a floor on for each event; nothing is held yet, and surpluses are known."""
    for event in range(len(floor)):
        _raise(best, event, floor[event], np.int32(_EVERY_OWNER))


@kernel
def offer(best, event, owner, points):  # type: ignore[no-untyped-def]
    """Hold the match if it may be among the best."""
    if np.float64(points) < best.worst[event]:
        return
    wanted = best.wanted[event]
    if wanted <= HEAP_MOST:
        _to_heap(best, event, wanted, owner, points)
        return
    start, size = best.start[event], best.size[event]
    best.owner[start + size], best.points[start + size] = owner, points
    best.size[event] = size + 1
    if start + size + 1 == best.start[event + 1]:
        _cut(best, event)


@kernel
def _raise(best, event, points, owner):  # type: ignore[no-untyped-def]
    """Set what is needed, given the worst match: a bound that, raised, stays under ``points`` can't matter."""
    if abs(np.float64(points)) < _EXACT:
        surplus, worst = best.surplus, np.float64(points)
        scaled = (worst - surplus.slack[event]) / surplus.scale[event]
        best.need[event], best.worst[event] = max(scaled, worst - surplus.whole[event]), worst
        if is_exact(surplus, event):
            best.last[event] = owner


@kernel
def _to_heap(best, event, wanted, owner, points):  # type: ignore[no-untyped-def]
    """Of an owner with several clauses only the best score is held.

    The root never gets better, so an owner that has fallen out comes back only by a score that beats what it had.
    """
    start, size = best.start[event], best.size[event]
    if owner & 1:
        for place in range(start, start + size):
            if best.owner[place] == owner:
                if points > best.points[place]:
                    _sift_down(best, start, place - start, size, owner, points)
                    if size == wanted:
                        _raise(best, event, best.points[start], best.owner[start])
                return
    if size < wanted:
        best.size[event] = size + 1
        _sift_up(best, start, size, owner, points)
        if size + 1 < wanted:
            return
    elif _worse(best.points[start], best.owner[start], points, owner):
        _sift_down(best, start, 0, size, owner, points)
    else:
        return
    _raise(best, event, best.points[start], best.owner[start])


@kernel
def _worse(points, owner, other_points, other_owner):  # type: ignore[no-untyped-def]
    """Owner words are in the order of subscriptions."""
    return points < other_points or (points == other_points and owner > other_owner)


@kernel
def _sift_up(best, start, place, owner, points):  # type: ignore[no-untyped-def]
    """Put a match at ``place`` or above, moving better parents down."""
    while place > 0:
        parent = (place - 1) >> 1
        if not _worse(points, owner, best.points[start + parent], best.owner[start + parent]):
            break
        best.owner[start + place], best.points[start + place] = best.owner[start + parent], best.points[start + parent]
        place = parent
    best.owner[start + place], best.points[start + place] = owner, points


@kernel
def _sift_down(best, start, place, size, owner, points):  # type: ignore[no-untyped-def]
    """Put a match at ``place`` or below, moving worse children up."""
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        a, b = start + child, start + child + 1
        if child + 1 < size and _worse(best.points[b], best.owner[b], best.points[a], best.owner[a]):
            child, a = child + 1, b
        if not _worse(best.points[a], best.owner[a], points, owner):
            break
        best.owner[start + place], best.points[start + place] = best.owner[a], best.points[a]
        place = child
    best.owner[start + place], best.points[start + place] = owner, points


@kernel
def sorted_heap(best, event):  # type: ignore[no-untyped-def]
    """Put what an event holds in order, the best first: the root, its worst, goes to the end, again and again."""
    start = best.start[event]
    for last in range(best.size[event] - 1, 0, -1):
        owner, points = best.owner[start + last], best.points[start + last]
        best.owner[start + last], best.points[start + last] = best.owner[start], best.points[start]
        _sift_down(best, start, 0, last, owner, points)


@kernel
def cut_all(best):  # type: ignore[no-untyped-def]
    """Cut every buffer to the best that are wanted."""
    for event in range(len(best.size)):
        if best.wanted[event] > HEAP_MOST:
            _cut(best, event)


@kernel
def _cut(best, event):  # type: ignore[no-untyped-def]
    """Drop an owner's lower scores, then all but the best wanted; raise the need when there are so many."""
    start, wanted = best.start[event], best.wanted[event]
    size = _distinct(best, start, best.size[event])
    if size > wanted:
        _select(best, start, start + size - 1, start + wanted - 1)
        size = wanted
    best.size[event] = size
    if size == wanted:
        worst = start
        for place in range(start + 1, start + size):
            if _worse(best.points[place], best.owner[place], best.points[worst], best.owner[worst]):
                worst = place
        _raise(best, event, best.points[worst], best.owner[worst])


@kernel
def _distinct(best, start, size):  # type: ignore[no-untyped-def]
    """Move an owner's best match, and every match of an owner with one clause, to the front; return their number."""
    doubtful = 0
    for place in range(start, start + size):
        doubtful += best.owner[place] & 1
    if doubtful < 2:
        return size
    slots = 1
    while slots < 2 * doubtful:
        slots *= 2
    table = best.table
    for slot in range(slots):
        table[slot] = -1
    kept = start
    for place in range(start, start + size):
        owner, points = best.owner[place], best.points[place]
        if owner & 1:
            slot = first_slot(owner, slots)
            while table[slot] >= 0 and best.owner[start + table[slot]] != owner:
                slot = (slot + 1) & (slots - 1)
            if table[slot] >= 0:
                found = start + table[slot]
                best.points[found] = max(best.points[found], points)
                continue
            table[slot] = kept - start
        best.owner[kept], best.points[kept] = owner, points
        kept += 1
    return kept - start


@kernel
def _select(best, low, high, middle):  # type: ignore[no-untyped-def]
    """Order just so far that what stands up to ``middle`` is better than what follows: quickselect."""
    while low < high:
        pivot_points, pivot = best.points[(low + high) >> 1], best.owner[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while _worse(pivot_points, pivot, best.points[i], best.owner[i]):
                i += 1
            while _worse(best.points[j], best.owner[j], pivot_points, pivot):
                j -= 1
            if i <= j:
                best.owner[i], best.owner[j] = best.owner[j], best.owner[i]
                best.points[i], best.points[j] = best.points[j], best.points[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return
