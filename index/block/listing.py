"""The matches of hits of few scores, listed by event: each event sorts its own, instead of all hits once.

What dealing costs is that every event looks at a word for every 64 owners that any event of the chunk has. Where each
has few of them, as of standing queries for words of which every text has others, it is less to copy the lists of the
owners that it meets one behind the other and to sort those, score by score.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from index.block.answers import Classes, stretches
from index.block.bits import lowest_bit
from index.block.hits import Hits
from index.block.layout import Int32s, Int64s, UInt64s
from index.block.owner_lists import Owners, list_of
from index.kernel import inlined, kernel

_SORTED_BIT, _SORTED = 0.17, -0.35
"""To copy and sort an event's matches takes so many ns each, for every bit of their number, and so many besides."""

_HIT = 2.5
"""To list takes so many ns besides for each word of the hits' masks, which are put in order and read twice."""

_WORD, _OWNER = 2.2, 14.0
"""To deal takes so many ns for each event and 64 owners, and for each owner of a hit."""

_LEAST = 64
"""For fewer matches an event nothing else is thought of."""

_SCORES = 16
"""Hits of more scores are dealt."""


class Listed(NamedTuple):
    """The matches of a chunk's plain events, still as hits, none of whose owners has another clause.

    Attributes
    ----------
    first
        The chunk's first event.
    owner, mask
        int32 [hits], uint64 [hits, W]: as in `index.block.hits.Hits`, by score falling.
    bounds, points
        int64 [scores + 1], int64 [scores]: where the hits of each score begin, and the score.
    owners, some_dead
        Who the owners are, and whether any is dead.
    counts
        int64 [events, scores]: how many matches each event has with each score.
    """

    first: int
    owner: Int32s
    mask: UInt64s
    bounds: Int64s
    points: Int64s
    owners: Owners
    some_dead: bool
    counts: Int64s

    @property
    def classes(self) -> Classes:
        """See `index.block.answers.Part`."""
        return Classes(self.points, self.counts)

    def write(self, places: Int64s, subscription: Int32s, score: Int64s) -> None:
        """See `index.block.answers.Part`."""
        for (low, high), points in zip(pairwise(self.bounds.tolist()), self.points.tolist(), strict=True):
            begin = places.tolist()
            write_lists(self.owner[low:high], self.mask[low:high], self.owners, self.some_dead, places, subscription)
            for start, stop in zip(begin, places.tolist(), strict=True):
                subscription[start:stop].sort()
                if len(score):
                    score[start:stop] = points


def listed(
    hits: Hits, size: int, matches: int, owned: int, owners: Owners, some_dead: bool, first: int, events: int
) -> Listed | None:
    """Return the matches of a chunk's plain events if that takes less than to deal them, else None.

    Parameters
    ----------
    hits, size, matches
        The hits, how many of them are written, and how many matches they are.
    owned, owners, some_dead
        How many owners they have, dead ones included; who these are, and whether anybody is dead.
    first, events
        The chunk's first event, and how many it has.
    """
    if not is_less(matches, owned, events, size * hits.mask.shape[1]) or not _are_single(hits.owner[:size], owners):
        return None
    order = np.argsort(~hits.points[:size], kind="stable")
    points = hits.points[order]
    bounds = stretches(points)
    if len(bounds) - 1 > _SCORES:
        return None
    owner, mask = hits.owner[order], hits.mask[order]
    counts = np.zeros((len(bounds) - 1, events), np.int64)
    for score, (low, high) in enumerate(pairwise(bounds.tolist())):
        count_lists(owner[low:high], mask[low:high], owners, some_dead, counts[score])
    return Listed(first, owner, mask, bounds, points[bounds[:-1]], owners, some_dead, counts.T.copy())


def is_less(matches: int, owned: int, events: int, words: int) -> bool:
    """Return whether to list so many events' matches takes less than to deal them from so many owners' hits.

    Parameters
    ----------
    matches, owned, events, words
        How many matches, owners of hits, events, and words of the hits' masks there are.
    """
    each = matches / max(events, 1)
    if each < _LEAST:
        return False
    to_list = matches * (_SORTED_BIT * math.log2(each) + _SORTED) + _HIT * words
    return to_list < _WORD * events * owned / 64 + _OWNER * owned


def _are_single(owner: Int32s, owners: Owners) -> bool:
    """Return whether none of the owners has another clause."""
    if (owner[owner >= 0] & 1).any():
        return False
    return not (owners.listed[owners.start[-1 - owner[owner < 0]]] & 1).any()


@kernel
def count_lists(owner, mask, owners, some_dead, sizes):  # type: ignore[no-untyped-def]
    """Add up how many owners alive the hits of each event have."""
    for i in range(len(owner)):
        each = np.int64(1)
        if owner[i] < 0:
            first, stop = list_of(owner[i], owners.start)
            each = stop - first
            for j in range(first, stop if some_dead else first):
                each -= np.int64(owners.is_dead[owners.listed[j] >> 1])
        for x in range(mask.shape[1]):
            bits = mask[i, x]
            while bits != np.uint64(0):
                sizes[64 * x + lowest_bit(bits)] += each  # type: ignore[no-untyped-call]
                bits &= bits - np.uint64(1)


@kernel
def write_lists(owner, mask, owners, some_dead, places, subscription):  # type: ignore[no-untyped-def]
    """Write the owners of each event's hits one behind the other, from its place on, and move the place."""
    for i in range(len(owner)):
        for x in range(mask.shape[1]):
            bits = mask[i, x]
            while bits != np.uint64(0):
                event = 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
                bits &= bits - np.uint64(1)
                places[event] = _append(owner[i], owners, some_dead, subscription, places[event])


@inlined
def _append(word, owners, some_dead, subscription, place):  # type: ignore[no-untyped-def]
    """Write who owns a hit, the dead ones of a list left out, from a place on; return where they end."""
    if word >= 0:
        subscription[place] = word >> 1
        return place + 1
    first, stop = list_of(word, owners.start)
    if not some_dead:
        for j in range(stop - first):
            subscription[place + j] = owners.listed[first + j] >> 1
        return place + stop - first
    for j in range(first, stop):
        own = owners.listed[j] >> 1
        if not owners.is_dead[own]:
            subscription[place] = own
            place += 1
    return place
