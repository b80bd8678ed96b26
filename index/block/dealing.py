"""Deals the hits of a chunk to its events: hits are put in order once, so each event's matches come to it in order.

A hit is sorted instead of each of its matches: its key is how far its score is from the best, then its owner word. In
that order a hit is a *slip*, its owner word and the number of its score; `turning.py` says which slips an event has,
and they are written as matches, event by event.
"""

from __future__ import annotations

import numpy as np

from index.block.bits import lowest_bit, ones, without_lowest
from index.block.hits import Hits
from index.block.layout import Int32s, Int64s
from index.block.ordering import bits_of, sort_places
from index.block.prefetching import prefetch
from index.block.turning import OWNER, TOGETHER, turn_hits
from index.engine import Matches
from index.kernel import inlined, kernel

_AHEAD = 32
"""How many turns before it is read a row is fetched."""

_UNASKED = 2
"""Places of a word's bits that are written without asking whether it has so many: most words have few, and a guess that
fails costs more."""


def dealt(hits: Hits, size: int, matches: int, owner_bits: int, first: int, events: int) -> Matches:
    """Return the matches of a chunk's plain events by (event, score falling, ordinal rising), each once.

    Parameters
    ----------
    hits, size
        The hits, whose masks are changed, and how many of them are written.
    matches
        How many matches they have at most.
    owner_bits
        How many bits an owner word has.
    first, events
        The chunk's first event, and how many it has.
    """
    owner, points, mask = hits.owner[:size], hits.points[:size], hits.mask[:size]
    order = _ordered(owner, points, owner_bits)
    slips, score = np.empty(size, np.int64), np.empty(size, np.int64)
    doubtful = int(number_scores(order, owner, points, slips, score))
    words = -(-size // (64 * TOGETHER)) * TOGETHER
    turned = np.empty((events, words), np.uint64)
    slots = np.full(1 << (2 * doubtful).bit_length() if doubtful else 0, -1, np.int64)
    lanes, row = (0,) * mask.shape[1], 64 * mask.shape[1]
    # rows of squares are a line longer than they must be, which puts them into different sets of the cache
    squares, spare = np.empty((TOGETHER, row + TOGETHER), np.uint64), np.empty(row, np.uint64)
    turn_hits(lanes, order, slips, mask, slots, squares, spare, np.empty(64, np.int64), turned)
    out = Matches(np.empty(matches, np.int32), np.empty(matches, np.int32), np.empty(matches, np.int64))
    total = write_matches(turned, slips, score, first, np.empty(size + _UNASKED, np.int32), out)
    return Matches(out.event[:total], out.subscription[:total], out.score[:total])


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
    """Write the slips of hits in order, and the numbered scores; return how many owner words say several clauses."""
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
    return doubtful


@kernel
def write_matches(turned, slips, score, first, places, out):  # type: ignore[no-untyped-def]
    """Write each event's slips as matches; return how many there are.

    ``places`` has room for all slips and for `_UNASKED` more.
    """
    written = 0
    for event in range(len(turned)):
        n = list_places(turned, event, places)
        for i in range(n):
            slip = slips[places[i]]
            out.event[written + i] = first + event
            out.subscription[written + i] = (slip & OWNER) >> 1
            out.score[written + i] = score[slip >> 32]
        written += n
    return written


@inlined
def list_places(turned, event, places):  # type: ignore[no-untyped-def]
    """Write the places of an event's bits, in order; return how many there are."""
    n = np.int64(0)
    for word in range(turned.shape[1]):
        bits, place = turned[event, word], 64 * word
        end = n + np.int64(ones(bits))
        for _ in range(_UNASKED):
            places[n] = place + lowest_bit(bits)  # type: ignore[no-untyped-call]
            bits = without_lowest(bits)  # type: ignore[no-untyped-call]
            n += 1
        while bits != np.uint64(0):
            places[n] = place + lowest_bit(bits)  # type: ignore[no-untyped-call]
            bits = without_lowest(bits)  # type: ignore[no-untyped-call]
            n += 1
        n = end
    return n
