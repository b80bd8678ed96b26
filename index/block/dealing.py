"""Deals the hits of a chunk to its events: hits are put in order once, so each event's matches come to it in order.

A hit is sorted instead of each of its matches: its key is how far its score is from the best, then its owner word.
`turning.py` says which of the hits in that order an event has, and they are written as matches, event by event.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from index.block import pages
from index.block.answers import Classes
from index.block.bits import lowest_bit, ones
from index.block.hits import Hits
from index.block.layout import Int32s, Int64s, UInt64s
from index.block.ordering import bits_of, sort_places
from index.block.prefetching import prefetch
from index.block.selecting import select
from index.block.streaming import write_past
from index.block.turning import TOGETHER, turn_hits
from index.kernel import inlined, kernel

_AHEAD = 32
"""How many turns before it is read a row is fetched."""

_TILE = 1 << 16
"""So many hits are written for all events, then the next: their owners stay in the cache meanwhile."""

_BITS_EACH = 64
"""An event that has fewer than one of so many hits, which is a word, is written another way."""

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
    def sizes(self) -> Int64s:
        """See `index.block.answers.Part`."""
        total: Int64s = self.counts.sum(axis=1)
        return total

    @property
    def classes(self) -> Classes | None:
        """See `index.block.answers.Part`."""
        first, last = self.points[self.bounds[:-1]], self.points[self.bounds[1:] - 1]
        if (first != last).any() or self.counts.size * _LEAST > self.counts.sum():
            return None
        return Classes(first, self.counts)

    def write(self, places: Int64s, subscription: Int32s, score: Int64s) -> None:
        """See `index.block.answers.Part`."""
        room = np.empty(_TILE + 64, np.int32), np.empty(_TILE + 64, np.int64)
        is_sparse = self.counts.sum(axis=0) * _BITS_EACH < np.diff(self.bounds) * len(self.counts)
        for stretch, sparse in zip(pairwise(self.bounds.tolist()), is_sparse.tolist(), strict=True):
            for piece in pairwise([*range(*stretch, _TILE), stretch[1]]):
                write_piece(self.turned, piece, sparse, self.ordinal, self.points, *room, places, subscription, score)


def dealt(hits: Hits, size: int, owner_bits: int, first: int, events: int) -> Dealt:
    """Return the matches of a chunk's plain events, by score falling and ordinal rising, each once.

    Parameters
    ----------
    hits, size
        The hits, whose masks are changed, and how many of them are written.
    owner_bits
        How many bits an owner word has.
    first, events
        The chunk's first event, and how many it has.
    """
    order = _ordered(hits.owner[:size], hits.points[:size], owner_bits)
    words = -(-size // (64 * TOGETHER)) * TOGETHER
    owner, points = pages.empty(64 * words, np.int32)[:size], pages.empty(64 * words, np.int64)[:size]
    doubtful = int(put_in_order(order, hits.owner, hits.points, owner, points))
    turned = _turned(hits.mask, order, owner, doubtful, words, events)
    bounds = _bounds(points)
    counts = np.empty((events, len(bounds) - 1), np.int64)
    count_bits(turned, bounds, counts)
    owner >>= 1
    return Dealt(first, turned, owner, points, bounds, counts)


def _turned(mask: UInt64s, order: Int32s, owner: Int32s, doubtful: int, words: int, events: int) -> UInt64s:
    """Return the hits of each event, in order; ``doubtful`` of the owner words say that there are other clauses."""
    width = min(mask.shape[1], TOGETHER)
    parts, used = mask.shape[1] // width, -(-events // (64 * width))
    turned = pages.empty((64 * width * used, words), np.uint64)
    slots = np.full(1 << (2 * doubtful).bit_length() if doubtful else 0, -1, np.int64)
    # squares are a line longer than they must be, which puts their rows into different sets of the cache
    squares = pages.empty((TOGETHER, 64 + TOGETHER // width, width), np.uint64)
    room = slots, squares, np.empty(64, np.int64)
    for part in range(used):
        rows = turned[64 * width * part : 64 * width * (part + 1)]
        turn_hits((0,) * width, part, parts, order, owner, mask.reshape(-1, width), *room, rows)
    return turned


def _bounds(points: Int64s) -> Int64s:
    """Return where stretches of one score begin and the last ends, if they are long; else those of one stretch."""
    changes = np.flatnonzero(points[1:] != points[:-1]) + 1
    inner = changes if len(changes) * _RUN <= len(points) else changes[:0]
    return np.array([0, *inner.tolist(), *([len(points)] if len(points) else [])], np.int64)


def _ordered(owner: Int32s, points: Int64s, owner_bits: int) -> Int32s:
    """Return the places of the hits, best score first, then by owner word."""
    n = len(owner)
    best, width, shift = bits_of(points, n)
    place = n.bit_length()
    if width + owner_bits + place > 63:
        return np.lexsort((owner, ~points)).astype(np.int32)
    key, order = pages.empty(n, np.int64), pages.empty(n, np.int32)
    pack(owner, points, best, shift, owner_bits, place, key)
    sort_places(key, pages.empty(n, np.int64), place, place + owner_bits + width, order)
    return order


@kernel
def pack(owner, points, best, shift, owner_bits, place, key):  # type: ignore[no-untyped-def]
    """Write each hit's key: how far its score is from the best, its owner word, its place."""
    for i in range(len(key)):
        far = (best - points[i]) >> shift
        key[i] = (far << owner_bits | np.int64(owner[i])) << place | i


@kernel
def put_in_order(order, owner, points, owners, scores):  # type: ignore[no-untyped-def]
    """Write the owner words and scores of hits in order; return how many words say that there are other clauses."""
    doubtful = np.int64(0)
    for i in range(len(order)):
        hit, ahead = order[i], order[min(i + _AHEAD, len(order) - 1)]
        prefetch(owner, ahead)  # type: ignore[no-untyped-call]
        prefetch(points, ahead)  # type: ignore[no-untyped-call]
        owners[i], scores[i] = owner[hit], points[hit]
        doubtful += np.int64(owner[hit] & 1)
    return doubtful


@kernel
def count_bits(turned, bounds, counts):  # type: ignore[no-untyped-def]
    """Write how many of each stretch of hits each event has."""
    for event in range(len(counts)):
        for stretch in range(counts.shape[1]):
            first, stop = bounds[stretch], bounds[stretch + 1]
            n = np.int64(0)
            for word in range(first >> 6, (stop + 63) >> 6):
                n += np.int64(ones(_between(turned[event, word], word << 6, first, stop)))
            counts[event, stretch] = n


@inlined
def _between(bits, place, first, stop):  # type: ignore[no-untyped-def]
    """Return the bits of a word, whose first is that of hit ``place``, that are those of hits ``first`` to ``stop``."""
    every = ~np.uint64(0)
    if place < first:
        bits &= every << np.uint64(first - place)
    if place + 64 > stop:
        bits &= every >> np.uint64(place + 64 - stop)
    return bits


@kernel
def write_piece(turned, piece, is_sparse, ordinal, points, ordinals, scores, places, subscription, score):  # type: ignore[no-untyped-def]
    """Write what each event has of some hits as matches, from its place on, and move the place.

    Parameters
    ----------
    piece, is_sparse
        The first of the hits and the one behind the last; whether an event has few of them.
    ordinals, scores
        int32, int64: room for all hits of the piece and for 64 more.
    subscription, score
        What is written; no scores are if there is no room for any.
    """
    first, stop = piece
    best, is_same = points[first], points[first] == points[stop - 1]  # and what is between, since they fall
    for i in range(len(places)):
        begin = places[i]
        end = begin + _pick(turned, i, first, stop, is_sparse, ordinal, ordinals)
        write_past(ordinals, end - begin, subscription, begin)
        if len(score) and is_same:
            score[begin:end] = best
        elif len(score):
            _pick(turned, i, first, stop, is_sparse, points, scores)
            write_past(scores, end - begin, score, begin)
        places[i] = end


@inlined
def _pick(turned, event, first, stop, is_sparse, values, out):  # type: ignore[no-untyped-def]
    """Write the values of the hits from ``first`` to ``stop`` that an event has; return how many there are."""
    word, last, n = first >> 6, (stop - 1) >> 6, np.int64(0)
    bits = _between(turned[event, word], word << 6, first, stop)
    while word < last:
        n = _append(values, word << 6, bits, is_sparse, out, n)
        word += 1
        bits = turned[event, word]
    return _append(values, word << 6, _between(bits, word << 6, first, stop), is_sparse, out, n)


@inlined
def _append(values, place, bits, is_sparse, out, n):  # type: ignore[no-untyped-def]
    """Do what `select` does; where most words have one bit at most, nothing is guessed of those."""
    if is_sparse and ones(bits) < np.uint64(2):
        out[n] = values[place + (lowest_bit(bits) & 63)]  # type: ignore[no-untyped-call]
        return n + np.int64(ones(bits))
    return select(values, place, bits, out, n)  # type: ignore[no-untyped-call]
