"""Writes what each event has of some hits in order: their ordinals, and their scores where these differ.

Words of 64 hits are read one after the other. Where an event has few hits only words that are not zero are looked at;
elsewhere ordinals are picked as short numbers, where these can say them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.bits import lowest_bit, ones
from index.block.layout import Bools, Int32s, Int64s, UInt16s
from index.block.selecting import list_words, select, select_near
from index.block.streaming import write_lines, write_past
from index.kernel import inlined, kernel

SPARSE, SHORT, WHOLE = 0, 1, 2
"""How hits of a piece are picked: by the words that are not zero, by short numbers, or as they are."""

_FAR = 1 << 16
"""What no short number says."""

_TOGETHER = 32
"""So many words of hits are picked, then written: while the memory takes the lines the next words are picked."""


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

    @classmethod
    def of(cls, hits: int) -> Room:
        """Return room for pieces of at most so many hits."""
        return cls(np.empty(hits + 64, np.int32), np.empty(hits + 64, np.int64), np.empty(hits // 64 + 9, np.int32))


@inlined
def between(bits, place, first, stop):  # type: ignore[no-untyped-def]
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
            end = _pick_short(turned, i, first, stop, ordinal, near, room.ordinals, subscription, begin)
        elif way == SPARSE:
            end = begin + _pick_sparse(turned, i, first, stop, ordinal, room.words, room.ordinals)
            write_past(room.ordinals, end - begin, subscription, begin)
        else:
            end = _pick(turned, i, first, stop, ordinal, room.ordinals, subscription, begin)
        if len(score) and is_same:
            score[begin:end] = best
        elif len(score):
            if way == SPARSE:
                _pick_sparse(turned, i, first, stop, points, room.words, room.scores)
                write_past(room.scores, end - begin, score, begin)
            else:
                _pick(turned, i, first, stop, points, room.scores, score, begin)
        places[i] = end


@inlined
def _pick(turned, event, first, stop, values, room, out, place):  # type: ignore[no-untyped-def]
    """Write the values of the hits from ``first`` to ``stop`` that an event has to ``out``; return where they end."""
    word, last, n = first >> 6, (stop - 1) >> 6, np.int64(0)
    bits = between(turned[event, word], word << 6, first, stop)
    while word < last:
        n = select(values, word << 6, bits, room, n)  # type: ignore[no-untyped-call]
        word += 1
        bits = turned[event, word]
        if word % _TOGETHER == 0:
            n, place = write_lines(room, n, out, place)  # type: ignore[no-untyped-call]
    n = select(values, word << 6, between(bits, word << 6, first, stop), room, n)  # type: ignore[no-untyped-call]
    write_past(room, n, out, place)
    return place + n


@inlined
def _pick_short(turned, event, first, stop, ordinal, near, room, out, place):  # type: ignore[no-untyped-def]
    """Do the same for ordinals; words within the piece are near."""
    word, last, n = first >> 6, (stop - 1) >> 6, np.int64(0)
    bits = between(turned[event, word], word << 6, first, stop)
    n = select(ordinal, word << 6, bits, room, n)  # type: ignore[no-untyped-call]
    for begin in range(word + 1, last, _TOGETHER):
        for inner in range(begin, min(begin + _TOGETHER, last)):
            n = select_near(near.base[inner], near.offset, inner << 6, turned[event, inner], room, n)  # type: ignore[no-untyped-call]
        n, place = write_lines(room, n, out, place)  # type: ignore[no-untyped-call]
    if last > word:
        bits = between(turned[event, last], last << 6, first, stop)
        n = select(ordinal, last << 6, bits, room, n)  # type: ignore[no-untyped-call]
    write_past(room, n, out, place)
    return place + n


@inlined
def _pick_sparse(turned, event, first, stop, values, words, out):  # type: ignore[no-untyped-def]
    """Do the same where most words are zero, and most others have one bit, of which nothing is guessed."""
    word, last, n = first >> 6, (stop - 1) >> 6, np.int64(0)
    n = _append(values, word << 6, between(turned[event, word], word << 6, first, stop), out, n)
    some = list_words(turned, event, word + 1, last, words, 0)  # type: ignore[no-untyped-call]
    for i in range(some):
        inner = np.int64(words[i])
        n = _append(values, inner << 6, turned[event, inner], out, n)
    if last > word:
        n = _append(values, last << 6, between(turned[event, last], last << 6, first, stop), out, n)
    return n


@inlined
def _append(values, place, bits, out, n):  # type: ignore[no-untyped-def]
    """Do what `select` does; where the word has one bit at most, nothing is guessed."""
    if ones(bits) < np.uint64(2):
        out[n] = values[place + (lowest_bit(bits) & 63)]  # type: ignore[no-untyped-call]
        return n + np.int64(ones(bits))
    return select(values, place, bits, out, n)  # type: ignore[no-untyped-call]
