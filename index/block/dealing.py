"""Deals the hits of a chunk to its events: hits are put in order once, so each event's matches come to it in order.

A hit is sorted instead of each of its matches: its key is how far its score is from the best, then its owner word. In
that order a hit is a *slip*, its owner word and the number of its score; `turning.py` says which slips an event has,
and they are written as matches, event by event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.bits import lowest_bit, ones, without_lowest
from index.block.hits import Hits
from index.block.layout import Int32s, Int64s, UInt64s
from index.block.ordering import bits_of, sort_places
from index.block.prefetching import prefetch
from index.block.turning import OWNER, TOGETHER, turn_hits
from index.engine import Matches
from index.kernel import inlined, kernel

_AHEAD = 32
"""How many turns before it is read a row is fetched."""

_AT_ONCE = ((1.4, 2), (3.0, 4))
_MOST_AT_ONCE = 6
"""Of words with so many bits, on the average, so many are taken without asking whether there are any: a guess that
fails costs more."""

_TILE = 1024
"""So many words are read for all events, then the next: the slips that they tell of stay in the cache meanwhile."""


class Dealt(NamedTuple):
    """The matches of a chunk's plain events, still as turned hits.

    Attributes
    ----------
    first
        The chunk's first event.
    turned
        uint64 [events, words]: see `index.block.turning.turn_hits`.
    slips, score
        int64 [hits], [scores]: an owner word below the number of its score; the scores by number.
    sizes
        int64 [events]: how many matches each event has.
    """

    first: int
    turned: UInt64s
    slips: Int64s
    score: Int64s
    sizes: Int64s

    def write(self, events: Int64s, places: Int64s, out: Matches) -> None:
        """See `index.block.answers.Part`."""
        density = self.sizes.sum() / max(1, self.turned.size)
        at_once = next((count for most, count in _AT_ONCE if density < most), _MOST_AT_ONCE)
        room, words = np.empty(64 * _TILE + _MOST_AT_ONCE, np.int32), self.turned.shape[1]
        for word in range(0, words, _TILE):
            tile = word, min(word + _TILE, words)
            write_tile((0,) * at_once, self.turned, tile, self.slips, self.score, room, events, places, out)


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
    owner, points, mask = hits.owner[:size], hits.points[:size], hits.mask[:size]
    order = _ordered(owner, points, owner_bits)
    slips, score = np.empty(size, np.int64), np.empty(size, np.int64)
    doubtful, scores = map(int, number_scores(order, owner, points, slips, score))
    words = -(-size // (64 * TOGETHER)) * TOGETHER
    turned = np.empty((events, words), np.uint64)
    slots = np.full(1 << (2 * doubtful).bit_length() if doubtful else 0, -1, np.int64)
    lanes, row = (0,) * mask.shape[1], 64 * mask.shape[1]
    # rows of squares are a line longer than they must be, which puts them into different sets of the cache
    squares, spare = np.empty((TOGETHER, row + TOGETHER), np.uint64), np.empty(row, np.uint64)
    turn_hits(lanes, order, slips, mask, slots, squares, spare, np.empty(64, np.int64), turned)
    sizes = np.empty(events, np.int64)
    count_bits(turned, sizes)
    return Dealt(first, turned, slips, score[:scores].copy(), sizes)


def _ordered(owner: Int32s, points: Int64s, owner_bits: int) -> Int32s:
    """Return the places of the hits, best score first, then by owner word."""
    n = len(owner)
    best, width, shift = bits_of(points, n)
    place = n.bit_length()
    if width + owner_bits + place > 63:
        return np.lexsort((owner, ~points)).astype(np.int32)
    key, order = np.empty(n, np.int64), np.empty(n, np.int32)
    pack(owner, points, best, shift, owner_bits, place, key)
    sort_places(key, np.empty_like(key), place, place + owner_bits + width, order)
    return order


@kernel
def pack(owner, points, best, shift, owner_bits, place, key):  # type: ignore[no-untyped-def]
    """Write each hit's key: how far its score is from the best, its owner word, its place."""
    for i in range(len(key)):
        far = (best - points[i]) >> shift
        key[i] = (far << owner_bits | np.int64(owner[i])) << place | i


@kernel
def number_scores(order, owner, points, slips, score):  # type: ignore[no-untyped-def]
    """Write the slips of hits in order, and the numbered scores.

    Returns
    -------
    doubtful, scores
        How many owner words say that there are other clauses; how many scores there are.
    """
    number, doubtful = -1, np.int64(0)
    for i in range(len(order)):
        hit = order[i]
        ahead = order[min(i + _AHEAD, len(order) - 1)]
        prefetch(owner, ahead)  # type: ignore[no-untyped-call]
        prefetch(points, ahead)  # type: ignore[no-untyped-call]
        if number < 0 or score[number] != points[hit]:
            number += 1
            score[number] = points[hit]
        slips[i] = np.int64(number) << 32 | np.int64(owner[hit])
        doubtful += np.int64(owner[hit] & 1)
    return doubtful, number + 1


@kernel
def count_bits(turned, sizes):  # type: ignore[no-untyped-def]
    """Write how many bits each event's words have."""
    for event in range(len(turned)):
        n = np.int64(0)
        for word in range(turned.shape[1]):
            n += np.int64(ones(turned[event, word]))
        sizes[event] = n


@kernel
def write_tile(at_once, turned, tile, slips, score, room, events, places, out):  # type: ignore[no-untyped-def]
    """Write each event's slips of some words as matches, from its place on, and move the place.

    Parameters
    ----------
    at_once
        A tuple, as ``lanes`` is in `index.block.walk.walk`: so many bits of a word are taken at a time.
    tile
        The first of the words and the one behind the last.
    room
        int32: for the slips of a tile and for some more.
    """
    for i in range(len(turned)):
        n, written = list_bits(at_once, turned, i, tile, room), places[i]
        for k in range(n):
            slip = slips[room[k]]
            out.event[written + k] = events[i]
            out.subscription[written + k] = (slip & OWNER) >> 1
            out.score[written + k] = score[slip >> 32]
        places[i] = written + n


@inlined
def list_bits(at_once, turned, event, tile, room):  # type: ignore[no-untyped-def]
    """Write the places of an event's bits among some words, in order; return how many there are."""
    n = np.int64(0)
    for word in range(tile[0], tile[1]):
        bits, place = turned[event, word], 64 * word
        end = n + np.int64(ones(bits))
        while True:
            for _ in range(len(at_once)):
                room[n] = place + lowest_bit(bits)  # type: ignore[no-untyped-call]
                bits = without_lowest(bits)  # type: ignore[no-untyped-call]
                n += 1
            if n >= end:
                break
        n = end
    return n
