"""Deals the hits of a chunk to its events: hits are put in order once, so each event's matches come to it in order.

A hit is sorted instead of each of its matches: its key is how far its score is from the best, then its owner word.
`turning.py` says which of the hits in that order an event has, and they are written as matches, event by event.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from index.block.bits import lowest_bit, ones, without_lowest
from index.block.hits import Hits
from index.block.layout import Int32s, Int64s, UInt64s
from index.block.ordering import bits_of, sort_places
from index.block.prefetching import prefetch
from index.block.turning import TOGETHER, turn_hits
from index.engine import Matches
from index.kernel import inlined, kernel

_AHEAD = 32
"""How many turns before it is read a row is fetched."""

_FEW_BITS, _FEW_AT_ONCE, _AT_ONCE = 1.4, 2, 4
"""Of words with few bits, on the average, two are taken without asking whether there are any, else four: a guess that
fails costs more."""

_TILE = 1 << 16
"""So many hits are written for all events, then the next: their owners stay in the cache meanwhile."""

_RUN = 1024
"""Hits of equal scores are written by themselves if that leaves so many of them together, on the average."""


class Dealt(NamedTuple):
    """The matches of a chunk's plain events, still as turned hits.

    Attributes
    ----------
    first
        The chunk's first event.
    turned
        uint64 [events, words]: see `index.block.turning.turn_hits`.
    owner, points
        int32, int64 [hits]: owner words and scores, in order.
    sizes
        int64 [events]: how many matches each event has.
    """

    first: int
    turned: UInt64s
    owner: Int32s
    points: Int64s
    sizes: Int64s

    def write(self, events: Int64s, places: Int64s, out: Matches) -> None:
        """See `index.block.answers.Part`."""
        bits = self.sizes.sum() / max(1, self.turned.size)
        at_once = (0,) * (_FEW_AT_ONCE if bits < _FEW_BITS else _AT_ONCE)
        room = np.empty(_TILE + _AT_ONCE, np.int32)
        for piece in self._pieces():
            write_piece(at_once, self.turned, piece, self.owner, self.points, room, events, places, out)

    def _pieces(self) -> Iterable[tuple[int, int]]:
        """Return from where to where hits are written together."""
        cuts = np.arange(0, len(self.points), _TILE)
        changes = np.flatnonzero(self.points[1:] != self.points[:-1]) + 1
        if len(changes) * _RUN <= len(self.points):
            cuts = np.union1d(cuts, changes)
        return pairwise([*cuts.tolist(), len(self.points)])


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
    mask, order = hits.mask[:size], _ordered(hits.owner[:size], hits.points[:size], owner_bits)
    owner, points = np.empty(size, np.int32), np.empty(size, np.int64)
    doubtful = int(put_in_order(order, hits.owner, hits.points, owner, points))
    words = -(-size // (64 * TOGETHER)) * TOGETHER
    turned = np.empty((events, words), np.uint64)
    slots = np.full(1 << (2 * doubtful).bit_length() if doubtful else 0, -1, np.int64)
    lanes, row = (0,) * mask.shape[1], 64 * mask.shape[1]
    # rows of squares are a line longer than they must be, which puts them into different sets of the cache
    squares, spare = np.empty((TOGETHER, row + TOGETHER), np.uint64), np.empty(row, np.uint64)
    turn_hits(lanes, order, owner, mask, slots, squares, spare, np.empty(64, np.int64), turned)
    sizes = np.empty(events, np.int64)
    count_bits(turned, sizes)
    return Dealt(first, turned, owner, points, sizes)


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
def count_bits(turned, sizes):  # type: ignore[no-untyped-def]
    """Write how many bits each event's words have."""
    for event in range(len(turned)):
        n = np.int64(0)
        for word in range(turned.shape[1]):
            n += np.int64(ones(turned[event, word]))
        sizes[event] = n


@kernel
def write_piece(at_once, turned, piece, owner, points, room, events, places, out):  # type: ignore[no-untyped-def]
    """Write what each event has of some hits as matches, from its place on, and move the place.

    Parameters
    ----------
    at_once
        A tuple, as ``lanes`` is in `index.block.walk.walk`: so many bits of a word are taken at a time.
    piece
        The first of the hits and the one behind the last.
    room
        int32: for all hits of the piece and for one time of bits more.
    """
    first, stop = piece
    best, is_same = points[first], points[first] == points[stop - 1]  # and what is between, since they fall
    for i in range(len(turned)):
        begin = places[i]
        end = begin + list_bits(at_once, turned, i, first, stop, room)
        out.event[begin:end] = events[i]
        _copy_ordinals(out.subscription[begin:end], owner, room)
        if is_same:
            out.score[begin:end] = best
        else:
            _copy_scores(out.score[begin:end], points, room)
        places[i] = end


@inlined
def list_bits(at_once, turned, event, first, stop, room):  # type: ignore[no-untyped-def]
    """Write the places of an event's bits from ``first`` to ``stop``, in order; return how many there are."""
    n, every = np.int64(0), ~np.uint64(0)
    for word in range(first >> 6, (stop + 63) >> 6):
        bits, place = turned[event, word], word << 6
        if place < first:
            bits &= every << np.uint64(first - place)
        if place + 64 > stop:
            bits &= every >> np.uint64(place + 64 - stop)
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


@inlined
def _copy_ordinals(out, owner, hits):  # type: ignore[no-untyped-def]
    for k in range(len(out)):
        out[k] = owner[hits[k]] >> 1


@inlined
def _copy_scores(out, points, hits):  # type: ignore[no-untyped-def]
    for k in range(len(out)):
        out[k] = points[hits[k]]
