"""Hits: records that hold for some events of a chunk, with what those get; kernels that score what the walk could not.

A hit is a match of many events at once, which stays so until all hits of a chunk stand in order (`dealing.py`). Only
plain events share a score, so the matches of other events leave here one by one.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from index.block import pages
from index.block.bits import lowest_bit, ones
from index.block.lanes import load, some, store
from index.block.layout import NO_MATCH, Int32s, Int64s, UInt64s
from index.block.literal_points import literal_points
from index.block.masks import derive
from index.block.owner_lists import first_owner, list_of, owners_of
from index.block.prefetching import LINE, prefetch
from index.block.records import place_of
from index.block.score_classes import SPLIT, split
from index.block.score_programs import clause_points
from index.kernel import inlined, kernel

Number = TypeVar("Number", np.int32, np.int64, np.uint64)

MANY_SCORED = 4
"""The events of a hit are scored together when they are so many, else one by one."""

_AHEAD = 4
"""So many hits before it is scored its clause's program is fetched, and twice as many before where that lies."""

_ALIKE = 16
"""Among so many of a record's last scores an event's is looked for; one that is not there makes a hit of its own."""


class Found(NamedTuple):
    """What a walk writes: a buffer of hits.

    Attributes
    ----------
    owner, points
        int32, int64: the record's word of owners, see `index.block.owner_lists`; what plain events get.
    known
        bool: whether ``points`` is that; else each event is scored by `settle`.
    record, word, group
        int32: the record, its first word, and its place among the listed groups.
    clause
        int32: the clause by which a general record scores, -1 for others.
    mask
        uint64 [hits, W]: the events.
    """

    owner: Int32s
    points: Int64s
    known: npt.NDArray[np.bool_]
    record: Int32s
    word: Int32s
    group: Int32s
    clause: Int32s
    mask: UInt64s

    @classmethod
    def of(cls, size: int, words: int) -> Found:
        """Return a buffer of this size for masks of so many words."""
        owner, record, word, group, clause = (np.empty(size, np.int32) for _ in range(5))
        points, known, mask = np.empty(size, np.int64), np.empty(size, np.bool_), pages.empty((size, words), np.uint64)
        return cls(owner, points, known, record, word, group, clause, mask)

    def take(self, n: int, other: Found) -> None:
        """Copy the first ``n`` hits of another buffer that has the same arrays but for three."""
        self.owner[:n], self.points[:n], self.mask[:n] = other.owner[:n], other.points[:n], other.mask[:n]


class Singles(NamedTuple):
    """Matches one by one: int32 event and owner word, int64 points."""

    event: Int32s
    owner: Int32s
    points: Int64s

    @classmethod
    def of(cls, size: int) -> Singles:
        """Return room for so many."""
        return cls(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int64))


class Hits(NamedTuple):
    """Hits that are scored: owner, points and mask are those of `Found`."""

    owner: Int32s
    points: Int64s
    mask: UInt64s

    @classmethod
    def of(cls, words: int) -> Hits:
        """Return no hits, of masks of so many words."""
        return cls(np.empty(0, np.int32), np.empty(0, np.int64), np.empty((0, words), np.uint64))

    def with_room(self, size: int, room: int) -> Hits:
        """Return these arrays, or longer ones that begin with their first ``size`` hits, with room for so many."""
        if room <= len(self.owner):
            return self
        room = max(room, 2 * size)
        return Hits(_grown(self.owner, size, room), _grown(self.points, size, room), _grown(self.mask, size, room))


def _grown(array: npt.NDArray[Number], size: int, room: int) -> npt.NDArray[Number]:
    """Return a longer array that begins with the first ``size`` rows of this one."""
    shape = room, *array.shape[1:]
    # for a few hits, as of one event, an array that begins anywhere is made sooner
    is_large = math.prod(shape) * array.itemsize >= pages.LARGE
    grown = pages.empty(shape, array.dtype.type) if is_large else np.empty(shape, array.dtype)
    grown[:size] = array[:size]
    return grown


class Tally(NamedTuple):
    """What hits hold.

    Attributes
    ----------
    late
        Plain events whose score is to be found; each may get a hit of its own.
    single, all
        Matches of other events, and of all; at most so many, since some owners of a list may be dead.
    """

    late: int
    single: int
    all: int


@kernel
def tally(lanes, n, plain, owners, found):  # type: ignore[no-untyped-def]
    """Return the fields of `Tally` for the first ``n`` hits; ``plain`` is uint64 [W]."""
    late, single, total = np.int64(0), np.int64(0), np.int64(0)
    for i in range(n):
        ours, others = np.uint64(0), np.uint64(0)
        for x in range(len(lanes)):
            ours += ones(found.mask[i, x] & plain[x])
            others += ones(found.mask[i, x] & ~plain[x])
        each = owners_of(found.owner[i], owners.start)
        single += np.int64(others) * each
        total += np.int64(ours + others) * each
        if not found.known[i]:
            late += np.int64(ours)
    return late, single, total


@kernel
def settle(lanes, n, plain, owners, scene, found, hits, size, singles):  # type: ignore[no-untyped-def]
    """Append the first ``n`` hits, scored, to ``hits``, which has ``size``, and matches to ``singles``.

    Returns
    -------
    size, count
        How many hits and how many single matches there are then.
    """
    count = 0
    for i in range(n):
        _fetch_ahead(i, n, scene.scores, found)
        if found.known[i]:
            size += _keep(lanes, i, plain, found, hits, size)
        elif _split(lanes, i, plain, scene, found):
            size = _keep_classes(lanes, found.owner[i], scene.memory.classes, hits, size)
        else:
            begin = size
            for x in range(len(lanes)):
                bits = found.mask[i, x] & plain[x]
                while bits != np.uint64(0):
                    low = bits & (~bits + np.uint64(1))
                    bits ^= low
                    local = 64 * x + lowest_bit(low)  # type: ignore[no-untyped-call]
                    got = _points(local, i, scene, found)
                    if got != NO_MATCH:
                        size = _gather(lanes, found.owner[i], got, x, low, hits, begin, size)
        for x in range(len(lanes)):
            bits = found.mask[i, x] & ~plain[x]
            while bits != np.uint64(0):
                local = 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
                bits &= bits - np.uint64(1)
                got = _points(local, i, scene, found)
                if got != NO_MATCH:
                    count = _put(scene.first + local, found.owner[i], got, owners, singles, count)
    return size, count


@kernel
def scatter(lanes, base, owners, hits, size, singles):  # type: ignore[no-untyped-def]
    """Write the first ``size`` hits as single matches."""
    n = 0
    for i in range(size):
        for x in range(len(lanes)):
            bits = hits.mask[i, x]
            while bits != np.uint64(0):
                event = base + 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
                bits &= bits - np.uint64(1)
                n = _put(event, hits.owner[i], hits.points[i], owners, singles, n)
    return n


@inlined
def _put(event, word, points, owners, singles, n):  # type: ignore[no-untyped-def]
    """Write an event's match with each of a record's owners from ``n`` on; return how many there are then."""
    if word >= 0:
        singles.event[n], singles.owner[n], singles.points[n] = event, word, points
        return n + 1
    first, stop = list_of(word, owners.start)
    for i in range(first, stop):
        if not owners.is_dead[owners.listed[i] >> 1]:
            singles.event[n], singles.owner[n], singles.points[n] = event, owners.listed[i], points
            n += 1
    return n


@inlined
def _fetch_ahead(i, n, scores, found):  # type: ignore[no-untyped-def]
    """Begin to fetch by what later hits score."""
    later, soon = found.clause[min(i + 2 * _AHEAD, n - 1)], found.clause[min(i + _AHEAD, n - 1)]
    if later >= 0:
        prefetch(scores.score_start, later)  # type: ignore[no-untyped-call]
        prefetch(scores.score_plain, later)  # type: ignore[no-untyped-call]
        prefetch(scores.clause_points, later)  # type: ignore[no-untyped-call]
    if soon >= 0:
        start = scores.score_start[soon]
        prefetch(scores.score_program, start)  # type: ignore[no-untyped-call]
        prefetch(scores.score_program, start + LINE)  # type: ignore[no-untyped-call]


@inlined
def _keep(lanes, i, plain, found, hits, size):  # type: ignore[no-untyped-def]
    """Write plain events' part of hit ``i`` at ``size``; return 1, or 0 if there is none."""
    mask = load(lanes, found.mask, i) & load(lanes, plain, 0)
    hits.owner[size], hits.points[size] = found.owner[i], found.points[i]
    store(mask, hits.mask, size)
    return np.int64(some(mask))


@inlined
def _split(lanes, i, plain, scene, found):  # type: ignore[no-untyped-def]
    """Split the plain events of hit ``i`` into classes of equal scores, if they are many; return whether it could."""
    if found.clause[i] < 0:
        return False
    memory = scene.memory
    store(load(lanes, found.mask, i) & load(lanes, plain, 0), memory.start, 0)
    count = np.uint64(0)
    for x in range(len(lanes)):
        count += ones(memory.start[x])
    if count < np.uint64(MANY_SCORED):
        return False
    row = np.int64(0)
    while row >= 0:
        row = split(lanes, found.clause[i], memory.start, scene.chunk, scene.scores, memory.classes)
        if row >= 0:
            derive(row, scene.chunk, scene.rows)
    return row == SPLIT


@inlined
def _keep_classes(lanes, owner, classes, hits, size):  # type: ignore[no-untyped-def]
    """Write the classes of frame 0 as hits from ``size`` on; return how many there are then."""
    for c in range(classes.size[0]):
        mask = load(lanes, classes.mask, (0, c))
        store(mask, hits.mask, size)
        if some(mask):
            hits.owner[size], hits.points[size] = owner, classes.points[0, c]
            size += 1
    return size


@inlined
def _gather(lanes, owner, got, x, bit, hits, begin, size):  # type: ignore[no-untyped-def]
    """Add an event to the record's hit of this score, or begin one; the record's hits begin at ``begin``."""
    at = max(begin, size - _ALIKE)
    while at < size and hits.points[at] != got:
        at += 1
    if at == size:
        hits.owner[at], hits.points[at] = owner, got
        for y in range(len(lanes)):
            hits.mask[at, y] = np.uint64(0)
        size += 1
    hits.mask[at, x] |= bit
    return size


@inlined
def _points(local, i, scene, found):  # type: ignore[no-untyped-def]
    """Return what an event gets from hit ``i``."""
    postings, scores, memory = scene.postings, scene.scores, scene.memory
    clause = found.clause[i]
    if clause >= 0:
        return clause_points(
            scene.first + local, scene.first, clause, scene.chunk, scene.rows, scores, scene.entries, memory.frames
        )
    row, second = memory.live_row[found.group[i]], postings.group_second[memory.live_group[found.group[i]]]
    points = literal_points(local, place_of(found.record[i], row, second, np.int64(found.word[i]), postings), scene)
    if len(scores.owner_points):
        points += scores.owner_points[first_owner(found.owner[i], postings) >> 1]
    return points
