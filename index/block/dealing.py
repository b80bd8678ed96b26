"""Deals the hits of a chunk to its events: hits are put in order once, so each event's matches come to it in order.

`hit_order.py` puts them in order, `turning.py` says which of them in that order an event has, `picking.py` writes these
as matches, event by event.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from index.block import pages
from index.block.answers import Classes, stretches
from index.block.bits import ones
from index.block.hit_order import Ordered, in_order, words_of
from index.block.hits import Hits
from index.block.lanes import load, store
from index.block.layout import Int32s, Int64s, UInt64s
from index.block.owner_lists import Owners
from index.block.picking import SHORT, SPARSE, WHOLE, Near, Room, between, write_piece
from index.block.turning import TOGETHER, turn_hits
from index.kernel import kernel

_TILE = 1 << 16
"""So many hits are written for all events, then the next: their owners stay in the cache meanwhile."""

_BITS_EACH = 128
"""An event that has fewer than one of so many hits, which is half a bit a word, is written another way."""

_RUN = 1024
"""Hits of equal scores are written by themselves if that leaves so many of them together, on the average."""

_LEAST = 4
"""Scores are told by class if an event then has so many matches a class: a class takes as much as two scores."""


class Dealt(NamedTuple):
    """The matches of a chunk's plain events, still as turned hits.

    Attributes
    ----------
    first
        The chunk's first event.
    turned
        uint64 [events or more, words]: see `index.block.turning.turn_hits`.
    ordinal, points
        int32, int64 [hits]: subscriptions and scores, in order; in memory of whole words of hits.
    bounds
        int64 [stretches + 1]: where stretches of hits of one score begin, or only where the first does, as long as it
        is not worth while to write each by itself.
    counts
        int64 [events, stretches]: how many matches each event has in each stretch.
    """

    first: int
    turned: UInt64s
    ordinal: Int32s
    points: Int64s
    bounds: Int64s
    counts: Int64s

    @property
    def classes(self) -> Classes | None:
        """See `index.block.answers.Part`."""
        first, last = self.points[self.bounds[:-1]], self.points[self.bounds[1:] - 1]
        if (first != last).any() or self.counts.size * _LEAST > self.counts.sum():
            return None
        return Classes(first, self.counts)

    def write(self, places: Int64s, subscription: Int32s, score: Int64s) -> None:
        """See `index.block.answers.Part`."""
        room = Room.of(_TILE)
        near = Near.of(self.ordinal)
        is_sparse = self.counts.sum(axis=0) * _BITS_EACH < np.diff(self.bounds) * len(self.counts)
        for stretch, sparse in zip(pairwise(self.bounds.tolist()), is_sparse.tolist(), strict=True):
            for piece in pairwise([*range(*stretch, _TILE), stretch[1]]):
                way = SPARSE if sparse else SHORT if near.has(piece) else WHOLE
                write_piece(self.turned, piece, way, self.ordinal, near, self.points, room, places, subscription, score)


def dealt(hits: Hits, size: int, owned: int, owners: Owners, first: int, events: int) -> Dealt:
    """Return the matches of a chunk's plain events, by score falling and ordinal rising, each once.

    Parameters
    ----------
    hits, size
        The hits, whose masks are changed, and how many of them are written.
    owned, owners
        How many owners they have, dead ones included; and who these are.
    first, events
        The chunk's first event, and how many it has.
    """
    if owned > size:
        _part_lists(hits, size, owners)
    ordered = in_order(hits.owner[:size], hits.points[:size], owned, owners)
    turned = _turned(hits.mask, ordered, events)
    bounds = stretches(ordered.points)
    if (len(bounds) - 2) * _RUN > len(ordered.points):
        bounds = bounds[[0, -1]]
    counts = np.empty((events, len(bounds) - 1), np.int64)
    count_bits(turned, bounds, counts)
    ordinal = ordered.owner
    ordinal >>= 1
    return Dealt(first, turned, ordinal, ordered.points, bounds, counts)


def _part_lists(hits: Hits, size: int, owners: Owners) -> None:
    """Take from the hits of a list of owners the events that a better hit of that list has."""
    listed = np.flatnonzero(hits.owner[:size] < 0)
    first = owners.listed[owners.start[-1 - hits.owner[listed]]]
    doubtful = listed[first & 1 == 1]
    if len(doubtful):
        order = doubtful[np.lexsort((~hits.points[doubtful], hits.owner[doubtful]))]
        width = hits.mask.shape[1]
        part_hits((0,) * width, order, hits.owner, hits.mask, np.empty(width, np.uint64))


@kernel
def part_hits(lanes, order, owner, mask, seen):  # type: ignore[no-untyped-def]
    """Take from each hit what those before it of the same word have; ``seen`` is a mask to work with."""
    for i in range(len(order)):
        held = load(lanes, mask, order[i])
        if i == 0 or owner[order[i]] != owner[order[i - 1]]:
            store(held, seen, 0)
        else:
            before = load(lanes, seen, 0)
            store(held & ~before, mask, order[i])
            store(held | before, seen, 0)


def _turned(mask: UInt64s, ordered: Ordered, events: int) -> UInt64s:
    """Return the hits of each event, in order."""
    words, doubtful = words_of(len(ordered.owner)), ordered.doubtful
    width = min(mask.shape[1], TOGETHER)
    parts, used = mask.shape[1] // width, -(-events // (64 * width))
    turned = pages.empty((64 * width * used, words), np.uint64)
    slots = np.full(1 << (2 * doubtful).bit_length() if doubtful else 0, -1, np.int64)
    # squares are a line longer than they must be, which puts their rows into different sets of the cache
    squares = pages.empty((TOGETHER, 64 + TOGETHER // width, width), np.uint64)
    room = slots, squares, np.empty(64, np.int64)
    for part in range(used):
        rows = turned[64 * width * part : 64 * width * (part + 1)]
        turn_hits((0,) * width, part, parts, ordered, mask.reshape(-1, width), *room, rows)
    return turned


@kernel
def count_bits(turned, bounds, counts):  # type: ignore[no-untyped-def]
    """Write how many of each stretch of hits each event has."""
    for event in range(len(counts)):
        for stretch in range(counts.shape[1]):
            first, stop = bounds[stretch], bounds[stretch + 1]
            n = np.int64(0)
            for word in range(first >> 6, (stop + 63) >> 6):
                n += np.int64(ones(between(turned[event, word], word << 6, first, stop)))
            counts[event, stretch] = n
