"""Deals the hits of a chunk to its events: hits are put in order once, so each event's matches come to it in order.

A hit is sorted instead of each of its matches: its key is how far its score is from the best, then its owner word. One
of a record with several owners takes part with each of them; they share its mask.
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
from index.block.layout import Bools, Int32s, Int64s, UInt16s, UInt64s
from index.block.ordering import bits_of, sorted_by
from index.block.owner_lists import Owners, list_of
from index.block.selecting import list_words, select, select_near
from index.block.streaming import write_past
from index.block.turning import TOGETHER, turn_hits
from index.kernel import inlined, kernel

_TILE = 1 << 16
"""So many hits are written for all events, then the next: their owners stay in the cache meanwhile."""

_BITS_EACH = 128
"""An event that has fewer than one of so many hits, which is half a bit a word, is written another way."""

SPARSE, SHORT, WHOLE = 0, 1, 2
"""How hits of a piece are picked: by the words that are not zero, by short numbers, or as they are."""

_FAR = 1 << 16
"""What no short number says."""

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
        room = Room(np.empty(_TILE + 64, np.int32), np.empty(_TILE + 64, np.int64), np.empty(_TILE // 64 + 9, np.int32))
        near = Near.of(self.ordinal)
        is_sparse = self.counts.sum(axis=0) * _BITS_EACH < np.diff(self.bounds) * len(self.counts)
        for stretch, sparse in zip(pairwise(self.bounds.tolist()), is_sparse.tolist(), strict=True):
            for piece in pairwise([*range(*stretch, _TILE), stretch[1]]):
                way = SPARSE if sparse else SHORT if near.has(piece) else WHOLE
                write_piece(self.turned, piece, way, self.ordinal, near, self.points, room, places, subscription, score)


class Near(NamedTuple):
    """Ordinals as short numbers: how far each hit's is from that of the first of its word of 64 hits.

    Attributes
    ----------
    base, is_near
        int32, bool [words]: the first one's ordinal; whether short numbers say all the others.
    offset
        uint16 [hits], in memory of whole words of hits.
    """

    base: Int32s
    is_near: Bools
    offset: UInt16s

    @classmethod
    def of(cls, ordinal: Int32s) -> Near:
        """Return the ordinals of all hits."""
        words = -(-len(ordinal) // 64)
        near = cls(np.empty(words, np.int32), np.empty(words, np.bool_), np.empty(64 * words, np.uint16))
        shorten(ordinal, near)
        return near

    def has(self, piece: tuple[int, int]) -> bool:
        """Return whether those of a piece are said, its first and last word left out, which may hold other scores."""
        return bool(self.is_near[(piece[0] >> 6) + 1 : (piece[1] - 1) >> 6].all())


class Room(NamedTuple):
    """Memory for a piece: int32 and int64 for an event's ordinals and scores and 64 more; int32 for its words."""

    ordinals: Int32s
    scores: Int64s
    words: Int32s


class Ordered(NamedTuple):
    """Hits by score falling and owner word rising; one of several owners stands with each of them.

    Attributes
    ----------
    hit, owner, points
        int32, int32, int64: where a hit was, and what it says, the latter two in memory of whole words of hits.
    doubtful
        How many owners have other clauses.
    """

    hit: Int32s
    owner: Int32s
    points: Int64s
    doubtful: int


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
    ordered = _ordered(hits.owner[:size], hits.points[:size], owned, owners)
    turned = _turned(hits.mask, ordered, events)
    bounds = _bounds(ordered.points)
    counts = np.empty((events, len(bounds) - 1), np.int64)
    count_bits(turned, bounds, counts)
    ordinal = ordered.owner
    ordinal >>= 1
    return Dealt(first, turned, ordinal, ordered.points, bounds, counts)


def _turned(mask: UInt64s, ordered: Ordered, events: int) -> UInt64s:
    """Return the hits of each event, in order."""
    words, doubtful = _words(len(ordered.hit)), ordered.doubtful
    width = min(mask.shape[1], TOGETHER)
    parts, used = mask.shape[1] // width, -(-events // (64 * width))
    turned = pages.empty((64 * width * used, words), np.uint64)
    slots = np.full(1 << (2 * doubtful).bit_length() if doubtful else 0, -1, np.int64)
    # squares are a line longer than they must be, which puts their rows into different sets of the cache
    squares = pages.empty((TOGETHER, 64 + TOGETHER // width, width), np.uint64)
    room = slots, squares, np.empty(64, np.int64)
    for part in range(used):
        rows = turned[64 * width * part : 64 * width * (part + 1)]
        turn_hits((0,) * width, part, parts, ordered.hit, ordered.owner, mask.reshape(-1, width), *room, rows)
    return turned


def _words(hits: int) -> int:
    """Return how many words so many hits take."""
    return -(-hits // (64 * TOGETHER)) * TOGETHER


def _bounds(points: Int64s) -> Int64s:
    """Return where stretches of one score begin and the last ends, if they are long; else those of one stretch."""
    changes = np.flatnonzero(points[1:] != points[:-1]) + 1
    inner = changes if len(changes) * _RUN <= len(points) else changes[:0]
    return np.array([0, *inner.tolist(), *([len(points)] if len(points) else [])], np.int64)


def _ordered(word: Int32s, points: Int64s, owned: int, owners: Owners) -> Ordered:
    """Put hits in order, given their words of owners, and how many owners they have, dead ones included."""
    size, owner_bits, place = len(word), (2 * len(owners.is_dead)).bit_length(), len(word).bit_length()
    best, width, shift = bits_of(points, size)
    room = 64 * _words(owned)
    owner, score = pages.empty(room, np.int32), pages.empty(room, np.int64)
    if width + owner_bits + place > 63:
        hit, each = pages.empty(owned, np.int32), np.empty(owned, np.int32)
        n = write_owners(word, owners, hit, each)
        order = np.lexsort((each[:n], ~points[hit[:n]]))
        hit, owner[:n] = hit[:n][order], each[:n][order]
        score[:n] = points[hit]
        return Ordered(hit, owner[:n], score[:n], int(np.count_nonzero(owner[:n] & 1)))
    key = pages.empty(owned, np.int64)
    n = pack(word, points, owners, best, shift, owner_bits, place, key)
    key, hit = sorted_by(key[:n], place, place + owner_bits + width), pages.empty(n, np.int32)
    doubtful = int(unpack(key, best, shift, owner_bits, place, hit, owner, score))
    return Ordered(hit, owner[:n], score[:n], doubtful)


@kernel
def pack(word, points, owners, best, shift, owner_bits, place, key):  # type: ignore[no-untyped-def]
    """Write a key for each hit and owner: how far the score is from the best, the owner word, the hit's place.

    Returns
    -------
    n
        How many there are.
    """
    n = 0
    for i in range(len(word)):
        far = ((best - points[i]) >> shift) << owner_bits
        if word[i] >= 0:
            key[n] = (far | np.int64(word[i])) << place | i
            n += 1
            continue
        first, stop = list_of(word[i], owners.start)
        for j in range(first, stop):
            if not owners.is_dead[owners.listed[j]]:
                key[n] = (far | np.int64(owners.listed[j]) << 1) << place | i
                n += 1
    return n


@kernel
def unpack(key, best, shift, owner_bits, place, hit, owner, points):  # type: ignore[no-untyped-def]
    """Write what keys were made of; return how many owner words say that there are other clauses."""
    doubtful = np.int64(0)
    owner_mask, place_mask = (np.int64(1) << owner_bits) - 1, (np.int64(1) << place) - 1
    for i in range(len(key)):
        own = (key[i] >> place) & owner_mask
        hit[i], owner[i] = key[i] & place_mask, own
        points[i] = best - ((key[i] >> (place + owner_bits)) << shift)
        doubtful += own & 1
    return doubtful


@kernel
def write_owners(word, owners, hit, owner):  # type: ignore[no-untyped-def]
    """Write each hit with each of its owners that are alive; return how many there are."""
    n = 0
    for i in range(len(word)):
        first, stop = np.int64(0), np.int64(1)
        if word[i] < 0:
            first, stop = list_of(word[i], owners.start)
        for j in range(first, stop):
            own = np.int64(word[i]) if word[i] >= 0 else np.int64(owners.listed[j]) << 1
            if word[i] >= 0 or not owners.is_dead[own >> 1]:
                hit[n], owner[n] = i, own
                n += 1
    return n


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
def shorten(ordinal, near):  # type: ignore[no-untyped-def]
    """Write the ordinals as short numbers, see `Near`."""
    for word in range(len(near.base)):
        first, stop = word << 6, min((word << 6) + 64, len(ordinal))
        near.base[word], beyond = ordinal[first], np.int64(0)
        for i in range(first, stop):
            far = np.int64(ordinal[i]) - np.int64(ordinal[first])
            beyond |= far & ~np.int64(_FAR - 1)  # the upper bits of what is too far, or negative
            near.offset[i] = far & (_FAR - 1)
        near.is_near[word] = beyond == 0


@kernel
def write_piece(turned, piece, way, ordinal, near, points, room, places, subscription, score):  # type: ignore[no-untyped-def]
    """Write what each event has of some hits as matches, from its place on, and move the place.

    Parameters
    ----------
    piece, way
        The first of the hits and the one behind the last; how they are picked.
    ordinal, near, points
        What they say; ``near`` as far as that is the way.
    subscription, score
        What is written; no scores are if there is no room for any.
    """
    first, stop = piece
    best, is_same = points[first], points[first] == points[stop - 1]  # and what is between, since they fall
    for i in range(len(places)):
        begin = places[i]
        if way == SHORT:
            end = begin + _pick_short(turned, i, first, stop, ordinal, near, room.ordinals)
        elif way == SPARSE:
            end = begin + _pick_sparse(turned, i, first, stop, ordinal, room.words, room.ordinals)
        else:
            end = begin + _pick(turned, i, first, stop, ordinal, room.ordinals)
        write_past(room.ordinals, end - begin, subscription, begin)
        if len(score) and is_same:
            score[begin:end] = best
        elif len(score):
            if way == SPARSE:
                _pick_sparse(turned, i, first, stop, points, room.words, room.scores)
            else:
                _pick(turned, i, first, stop, points, room.scores)
            write_past(room.scores, end - begin, score, begin)
        places[i] = end


@inlined
def _pick(turned, event, first, stop, values, out):  # type: ignore[no-untyped-def]
    """Write the values of the hits from ``first`` to ``stop`` that an event has; return how many there are."""
    word, last, n = first >> 6, (stop - 1) >> 6, np.int64(0)
    bits = _between(turned[event, word], word << 6, first, stop)
    while word < last:
        n = select(values, word << 6, bits, out, n)  # type: ignore[no-untyped-call]
        word += 1
        bits = turned[event, word]
    return select(values, word << 6, _between(bits, word << 6, first, stop), out, n)  # type: ignore[no-untyped-call]


@inlined
def _pick_short(turned, event, first, stop, ordinal, near, out):  # type: ignore[no-untyped-def]
    """Do the same for ordinals; words within the piece are near."""
    word, last, n = first >> 6, (stop - 1) >> 6, np.int64(0)
    bits = _between(turned[event, word], word << 6, first, stop)
    n = select(ordinal, word << 6, bits, out, n)  # type: ignore[no-untyped-call]
    for inner in range(word + 1, last):
        n = select_near(near.base[inner], near.offset, inner << 6, turned[event, inner], out, n)  # type: ignore[no-untyped-call]
    if last > word:
        bits = _between(turned[event, last], last << 6, first, stop)
        n = select(ordinal, last << 6, bits, out, n)  # type: ignore[no-untyped-call]
    return n


@inlined
def _pick_sparse(turned, event, first, stop, values, words, out):  # type: ignore[no-untyped-def]
    """Do the same where most words are zero, and most others have one bit, of which nothing is guessed."""
    word, last, n = first >> 6, (stop - 1) >> 6, np.int64(0)
    n = _append(values, word << 6, _between(turned[event, word], word << 6, first, stop), out, n)
    some = list_words(turned, event, word + 1, last, words, 0)  # type: ignore[no-untyped-call]
    for i in range(some):
        inner = np.int64(words[i])
        n = _append(values, inner << 6, turned[event, inner], out, n)
    if last > word:
        n = _append(values, last << 6, _between(turned[event, last], last << 6, first, stop), out, n)
    return n


@inlined
def _append(values, place, bits, out, n):  # type: ignore[no-untyped-def]
    """Do what `select` does; where the word has one bit at most, nothing is guessed."""
    if ones(bits) < np.uint64(2):
        out[n] = values[place + (lowest_bit(bits) & 63)]  # type: ignore[no-untyped-call]
        return n + np.int64(ones(bits))
    return select(values, place, bits, out, n)  # type: ignore[no-untyped-call]
