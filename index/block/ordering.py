"""Puts single matches in the order of `index.matches.MatchRows`: dealt to their events, then sorted there.

Each full buffer of matches is dealt to its chunk's events while it is in the cache; what it leaves is a *run*, one
stretch an event. When all chunks are done, an event's stretches are gathered, and a match becomes one integer: how far
its score is from the event's best, then its owner word. Those are sorted by as many of their upper digits as tell most
of them apart, and the rest by insertion. Of an owner's matches the best comes first, and the others are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from numba import njit

from index.block import pages
from index.block.layout import Int32s, Int64s
from index.kernel import inlined, kernel
from index.matches import MatchRows

Number = TypeVar("Number", np.int32, np.int64)

_SMALL = 40
"""So few are sorted by insertion alone."""

_MOVES = 8
"""An insertion that moves more keys than this, on the average, was misled: a sort by all digits takes its place."""

_FEW_KEYS = 8192
"""For so many keys 256 stretches, which stay in the nearest cache, are better than fewer passes over more."""

_DIGIT = 11


class Runs(NamedTuple):
    """The matches of a chunk, dealt to its events.

    Attributes
    ----------
    first
        The chunk's first event.
    begin, end
        int64 [runs, events of the chunk]: where a run's matches of an event are.
    owner, points
        int32, int64: the matches; owner words are those of records.
    """

    first: int
    begin: Int64s
    end: Int64s
    owner: Int32s
    points: Int64s


class Dealer:
    """Collects the matches of a chunk, buffer after buffer.

    Parameters
    ----------
    first, events
        The chunk's first event, and how many it has.
    """

    def __init__(self, first: int, events: int) -> None:
        self._first, self._events = first, events
        self._cuts: list[Int64s] = []
        self._size = 0
        self._owner, self._points = np.empty(0, np.int32), np.empty(0, np.int64)

    def add(self, event: Int32s, owner: Int32s, points: Int64s) -> None:
        """Deal matches, which are copied."""
        room = self._size + len(event)
        if room > len(self._owner):
            self._owner = _grown(self._owner, self._size, room)
            self._points = _grown(self._points, self._size, room)
        cut = np.zeros(self._events + 2, np.int64)
        cut[0] = self._size
        self._size = int(deal(event, owner, points, self._first, cut, self._owner, self._points))
        self._cuts.append(cut[:-1])

    def runs(self) -> Runs:
        """Return what has been dealt."""
        cuts = np.concatenate([np.zeros(0, np.int64), *self._cuts]).reshape(len(self._cuts), self._events + 1)
        return Runs(self._first, cuts[:, :-1].copy(), cuts[:, 1:].copy(), self._owner, self._points)


def _grown(array: npt.NDArray[Number], size: int, room: int) -> npt.NDArray[Number]:
    """Return a longer array that begins with the first ``size`` numbers of this one."""
    grown = np.empty(max(room, 2 * size), array.dtype)
    grown[:size] = array[:size]
    return grown


def arranged(owners: int, chunks: Sequence[Runs]) -> MatchRows:
    """Return the matches of a block by (event, score falling, ordinal rising), each once.

    Parameters
    ----------
    owners
        How many subscriptions there are.
    chunks
        The chunks, by their first events.
    """
    total = sum(int((chunk.end - chunk.begin).sum()) for chunk in chunks)
    out = MatchRows.room(total)
    seen = np.zeros((2 * owners >> 6) + 1, np.uint64)
    written = 0
    for chunk in chunks:
        event = 0
        while True:
            event, written = sort_events(chunk, event, (2 * owners).bit_length(), seen, out, written)
            if event == chunk.begin.shape[1]:
                break
            written = _sort_wide(chunk, event, out, written)
            event += 1
    return MatchRows(out.event[:written], out.subscription[:written], out.score[:written])


@kernel
def deal(event, owner, points, first, cut, owner_out, points_out):  # type: ignore[no-untyped-def]
    """Write the matches event by event from ``cut[0]`` on, and where each event's end to ``cut``; return the end."""
    for i in range(len(event)):
        cut[event[i] - first + 2] += 1
    cut[1] = cut[0]
    for e in range(2, len(cut)):
        cut[e] += cut[e - 1]
    for i in range(len(event)):
        at = cut[event[i] - first + 1]
        cut[event[i] - first + 1] = at + 1
        owner_out[at], points_out[at] = owner[i], points[i]
    return cut[-1]


@njit(cache=True, nogil=True)
def sort_events(chunk, event, owner_bits, seen, out, written):  # type: ignore[no-untyped-def]
    """Sort the matches of the events from ``event`` on, drop doubles, and write what is left from ``written`` on.

    ``seen`` is a bit for each owner word, all of them zero before and after.

    Returns
    -------
    event, written
        The event whose scores are so far apart that no integer tells them, or the number of events; the next place.
    """
    runs, events = chunk.begin.shape
    longest = 0
    for e in range(event, events):
        n = 0
        for run in range(runs):
            n += chunk.end[run, e] - chunk.begin[run, e]
        longest = max(longest, n)
    owner, points = np.empty(longest, np.int32), np.empty(longest, np.int64)
    key, other = np.empty(longest, np.int64), np.empty(longest, np.int64)
    tallies = np.empty((64 // _DIGIT + 1, 1 << _DIGIT), np.int32)
    while event < events:
        n = gather(chunk.begin, chunk.end, event, chunk.owner, chunk.points, owner, points)
        best, width, shift = bits_of(points, n)
        if width + owner_bits > 63:
            break
        for i in range(n):
            key[i] = ((best - points[i]) >> shift) << owner_bits | np.int64(owner[i])
        in_other = sort_keys(key, other, n, 0, width + owner_bits, tallies)
        sorted_ = other if in_other else key
        written = unpack(sorted_, n, best, shift, owner_bits, seen, chunk.first + event, out, written)
        event += 1
    return event, written


@kernel
def gather(begin, end, event, owner, points, owner_out, points_out):  # type: ignore[no-untyped-def]
    """Copy an event's matches from all runs; return how many there are."""
    n = 0
    for run in range(len(begin)):
        for i in range(begin[run, event], end[run, event]):
            owner_out[n], points_out[n] = owner[i], points[i]
            n += 1
    return n


@kernel
def bits_of(points, n):  # type: ignore[no-untyped-def]
    """Return the best score, how many bits tell how far the others are from it, and how many are zero for all."""
    if n == 0:
        return np.int64(0), 0, 0
    best = worst = some = points[0]
    union = np.int64(0)
    for i in range(n):
        best, worst = max(best, points[i]), min(worst, points[i])
        union |= some - points[i]
    far = best - worst
    if far == 0:
        return best, 0, 0
    if far < 0:
        return best, 64, 0
    shift = 0
    while not (union >> shift) & 1:
        shift += 1
    width = 0
    while far >> (shift + width):
        width += 1
    return best, width, shift


def sorted_by(key: Int64s, low: int, high: int) -> Int64s:
    """Return keys, which are changed, sorted by their bits ``low`` to ``high``."""
    other, tallies = pages.empty(len(key), np.int64), np.empty((64 // _DIGIT + 1, 1 << _DIGIT), np.int32)
    return other if _sort_bits(key, other, low, high, tallies) else key


@kernel
def _sort_bits(key, other, low, high, tallies):  # type: ignore[no-untyped-def]
    """Do what `sort_keys` does to all keys."""
    return sort_keys(key, other, len(key), low, high, tallies)


@inlined
def sort_keys(key, other, n, low, high, tallies):  # type: ignore[no-untyped-def]
    """Sort the first ``n`` keys by their bits ``low`` to ``high``; return whether they now stand in ``other``."""
    if n <= _SMALL:
        insert(key, n, n * n)
        return False
    telling = 3
    while n >> (telling - 3):
        telling += 1
    telling = min(telling, high - low)
    digit = 8 if n <= _FEW_KEYS else _DIGIT
    in_other = sort_digits(key, other, n, high - telling, high, (telling + digit - 1) // digit, tallies)
    a, b = (other, key) if in_other else (key, other)
    if insert(a, n, _MOVES * n):
        return in_other
    return in_other != sort_digits(a, b, n, low, high, (high - low + _DIGIT - 1) // _DIGIT, tallies)


@kernel
def insert(key, n, moves):  # type: ignore[no-untyped-def]
    """Sort the first ``n`` keys by insertion; give up, with all of them still there, after so many moves."""
    for i in range(1, n):
        value, j = key[i], i
        while j > 0 and key[j - 1] > value:
            key[j] = key[j - 1]
            j -= 1
        key[j] = value
        moves -= i - j
        if moves < 0:
            return False
    return True


@kernel
def sort_digits(key, other, n, low, high, passes, tallies):  # type: ignore[no-untyped-def]
    """Sort ``n`` keys by their bits ``low`` to ``high``, stably; return whether they now stand in ``other``."""
    digit = (high - low + passes - 1) // passes
    mask = (np.int64(1) << digit) - 1
    for p in range(passes):
        for d in range(mask + 1):
            tallies[p, d] = 0
    for i in range(n):
        value = key[i] >> low
        for p in range(passes):
            tallies[p, value & mask] += 1
            value >>= digit
    a, b = key, other
    for p in range(passes):
        total = np.int32(0)
        for d in range(mask + 1):
            size = tallies[p, d]
            tallies[p, d] = total
            total += size
        shift = low + p * digit
        for i in range(n):
            place = (a[i] >> shift) & mask
            at = tallies[p, place]
            tallies[p, place] = at + 1
            b[at] = a[i]
        a, b = b, a
    return passes & 1 == 1


@kernel
def unpack(key, n, best, shift, owner_bits, seen, event, out, written):  # type: ignore[no-untyped-def]
    """Write sorted keys as matches from ``written`` on, an owner's first only; return the next place."""
    mask = (np.int64(1) << owner_bits) - 1
    for i in range(n):
        word = key[i] & mask
        if word & 1:
            bit = np.uint64(1) << np.uint64((word >> 1) & 63)
            if seen[word >> 7] & bit:
                continue
            seen[word >> 7] |= bit
        out.event[written], out.subscription[written] = event, word >> 1
        out.score[written] = best - ((key[i] >> owner_bits) << shift)
        written += 1
    for i in range(n):
        if key[i] & 1:
            seen[(key[i] & mask) >> 7] = np.uint64(0)
    return written


def _sort_wide(chunk: Runs, event: int, out: MatchRows, written: int) -> int:
    """Do the same for one event whose scores are further apart than a key can say; return the next place."""
    stretches = [slice(*stretch) for stretch in np.stack([chunk.begin[:, event], chunk.end[:, event]], 1).tolist()]
    owner = np.concatenate([chunk.owner[stretch] for stretch in stretches])
    points = np.concatenate([chunk.points[stretch] for stretch in stretches])
    order = np.lexsort((owner, -points))
    _, first = np.unique(owner[order], return_index=True)
    order = order[np.sort(first)]
    stop = written + len(order)
    out.event[written:stop] = chunk.first + event
    out.subscription[written:stop], out.score[written:stop] = owner[order] >> 1, points[order]
    return stop
