"""Puts single matches in the order of `index.matches.MatchRows`: dealt to their events, then sorted there.

Each full buffer of matches is dealt to its chunk's events while it is in the cache; what it leaves is a *run*, one
stretch an event. When all chunks are done, an event's stretches are gathered, and a match becomes one integer: how far
its score is from the event's best, then its owner word. NumPy sorts those, by vector instructions where the processor
has them. Of an owner's matches the best comes first, and the others are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from index.block.layout import Int32s, Int64s
from index.kernel import kernel
from index.matches import MatchRows

Number = TypeVar("Number", np.int32, np.int64)

_SMALL = 40
"""So few are sorted by insertion, without a call."""

_TOGETHER = 1 << 16
"""So many matches are made keys, sorted and written, then the next: they stay in the cache meanwhile."""


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


class Keys(NamedTuple):
    """Matches of some events as integers.

    Attributes
    ----------
    key
        int64: how far a match's score is from the event's best, then its owner word.
    begin
        int64 [events + 1]: where each event's keys are.
    best, shift
        int64 [events]: the best score; so many lower bits of all distances from it are zero, and left out of the keys.
    """

    key: Int64s
    begin: Int64s
    best: Int64s
    shift: Int64s

    @classmethod
    def room(cls, matches: int, events: int) -> Keys:
        """Return room for so many."""
        key, begin = np.empty(matches, np.int64), np.zeros(events + 1, np.int64)
        return cls(key, begin, np.empty(events, np.int64), np.empty(events, np.int64))

    def sort(self, events: int) -> None:
        """Sort what each of the first ``events`` events has; few are sorted already."""
        for event in np.flatnonzero(np.diff(self.begin[: events + 1]) > _SMALL).tolist():
            self.key[self.begin[event] : self.begin[event + 1]].sort()


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
    sizes = [(chunk.end - chunk.begin).sum(axis=0) for chunk in chunks]
    out = MatchRows.room(sum(int(size.sum()) for size in sizes))
    owner_bits, seen = (2 * owners).bit_length(), np.zeros((2 * owners >> 6) + 1, np.uint64)
    written = 0
    for chunk, size in zip(chunks, sizes, strict=True):
        room = max(_TOGETHER, int(size.max(initial=0)))
        end, event = np.cumsum(size), 0
        gathered = np.empty(room, np.int32), np.empty(room, np.int64)
        while event < len(size):
            before = int(end[event]) - int(size[event])
            keys = Keys.room(room, max(1, int(np.searchsorted(end, before + room, "right")) - event))
            made = int(make_keys(chunk, event, owner_bits, *gathered, keys))
            keys.sort(made)
            written = int(unpack(keys, made, owner_bits, seen, chunk.first + event, out, written))
            event += made
            if made < len(keys.best):
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


@kernel
def make_keys(chunk, first, owner_bits, owner, points, keys):  # type: ignore[no-untyped-def]
    """Make keys of the matches of the events from ``first`` on; few of an event are sorted.

    Parameters
    ----------
    owner, points
        Room for an event's matches.

    Returns
    -------
    made
        How many events there are; behind them is one whose scores are so far apart that no integer tells them, or none.
    """
    end = np.int64(0)
    for e in range(len(keys.best)):
        n = gather(chunk.begin, chunk.end, first + e, chunk.owner, chunk.points, owner, points)
        best, width, shift = bits_of(points, n)
        if width + owner_bits > 63:
            return e
        for i in range(n):
            keys.key[end + i] = ((best - points[i]) >> shift) << owner_bits | np.int64(owner[i])
        if n <= _SMALL:
            insert(keys.key[end : end + n])
        end += n
        keys.best[e], keys.shift[e], keys.begin[e + 1] = best, shift, end
    return len(keys.best)


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


@kernel
def insert(key):  # type: ignore[no-untyped-def]
    """Sort keys by insertion."""
    for i in range(1, len(key)):
        value, j = key[i], i
        while j > 0 and key[j - 1] > value:
            key[j] = key[j - 1]
            j -= 1
        key[j] = value


@kernel
def unpack(keys, events, owner_bits, seen, event, out, written):  # type: ignore[no-untyped-def]
    """Write sorted keys as matches from ``written`` on, an owner's first only; return the next place.

    Parameters
    ----------
    seen
        uint64, a bit for each owner word, all of them zero before and after.
    event
        The number of the first event.
    """
    mask = (np.int64(1) << owner_bits) - 1
    for e in range(events):
        begin, end = keys.begin[e], keys.begin[e + 1]
        for i in range(begin, end):  # without a branch: which owners have several clauses cannot be guessed
            word = keys.key[i] & mask
            cell, place = word >> 7, np.uint64((word >> 1) & 63)
            before = seen[cell]
            seen[cell] = before | np.uint64(word & 1) << place
            out.event[written], out.subscription[written] = event + e, word >> 1
            out.score[written] = keys.best[e] - ((keys.key[i] >> owner_bits) << keys.shift[e])
            written += 1 - (np.int64(before >> place) & word & 1)
        for i in range(begin, end):
            seen[(keys.key[i] & mask) >> 7] = np.uint64(0)
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
