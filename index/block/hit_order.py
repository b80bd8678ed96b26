"""Puts the hits of a chunk in order, by score falling and ordinal rising: once, instead of each of their matches.

A hit's key is how far its score is from the best, then its owner word. One of a record with several owners takes part
with each of them that is alive; they share its mask. Hits of one owner and one score, as the copies of a clause under
several rows have, become one: their events are joined when their masks are read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block import pages
from index.block.layout import Int32s, Int64s
from index.block.ordering import bits_of
from index.block.owner_lists import Owners, list_of
from index.block.turning import TOGETHER
from index.kernel import kernel


class Ordered(NamedTuple):
    """Hits by score falling and owner word rising, one an owner and score; one of several owners stands with each.

    Attributes
    ----------
    place, begin
        int32: where the hits were; those from ``begin[i]`` to ``begin[i + 1]`` are one, the ``i``-th.
    owner, points
        int32, int64: what that says, in memory of whole words of hits.
    doubtful
        How many owners have other clauses.
    """

    place: Int32s
    begin: Int32s
    owner: Int32s
    points: Int64s
    doubtful: int


def words_of(hits: int) -> int:
    """Return how many words so many hits take."""
    return -(-hits // (64 * TOGETHER)) * TOGETHER


def in_order(word: Int32s, points: Int64s, owned: int, owners: Owners) -> Ordered:
    """Put hits in order, given their words of owners, and how many owners they have, dead ones included.

    No event has two hits of one list any more, so that its owners do not count as having other clauses.
    """
    size, owner_bits, place = len(word), (2 * len(owners.is_dead)).bit_length(), len(word).bit_length()
    best, width, shift = bits_of(points, size)
    if width + owner_bits + place > 63:
        return _in_order_apart(word, points, owned, owners)
    room = 64 * words_of(owned)
    owner, score = pages.empty(room, np.int32), pages.empty(room, np.int64)
    key = pages.empty(owned, np.int64)
    n = pack(word, points, owners, best, shift, owner_bits, place, key)
    key[:n].sort()
    hit, begin = pages.empty(n, np.int32), pages.empty(n + 1, np.int32)
    size, doubtful = map(int, unpack(key[:n], best, shift, owner_bits, place, hit, begin, owner, score))
    return Ordered(hit, begin[: size + 1], owner[:size], score[:size], doubtful)


def _in_order_apart(word: Int32s, points: Int64s, owned: int, owners: Owners) -> Ordered:
    """Do the same where scores are so far apart that no integer tells them and the rest."""
    hit, own = np.empty(owned, np.int32), np.empty(owned, np.int32)
    n = write_owners(word, owners, hit, own)
    order = np.lexsort((own[:n], ~points[hit[:n]]))
    hit, own = hit[order], own[order]
    is_first = np.ones(n, np.bool_)
    is_first[1:] = (own[1:] != own[:-1]) | (points[hit[1:]] != points[hit[:-1]])
    first = np.flatnonzero(is_first)
    size, room = len(first), 64 * words_of(len(first))
    owner, score = pages.empty(room, np.int32), pages.empty(room, np.int64)
    owner[:size], score[:size] = own[first], points[hit[first]]
    begin = np.append(first, n).astype(np.int32)
    return Ordered(hit, begin, owner[:size], score[:size], int(np.count_nonzero(owner[:size] & 1)))


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
            own = np.int64(owners.listed[j] & ~1)
            if not owners.is_dead[own >> 1]:
                key[n] = (far | own) << place | i
                n += 1
    return n


@kernel
def unpack(key, best, shift, owner_bits, place, hit, begin, owner, points):  # type: ignore[no-untyped-def]
    """Write what keys were made of, one owner and score once; see `Ordered`.

    Returns
    -------
    size, doubtful
        How many those are, and how many of them have an owner with other clauses.
    """
    size, doubtful, before = np.int64(0), np.int64(0), np.int64(-1)
    owner_mask, place_mask = (np.int64(1) << owner_bits) - 1, (np.int64(1) << place) - 1
    for i in range(len(key)):  # without a branch: which hits are alike cannot be guessed
        hit[i], this = key[i] & place_mask, key[i] >> place
        is_new = np.int64(this != before)
        size += is_new
        own = this & owner_mask
        owner[size - 1], points[size - 1] = own, best - ((this >> owner_bits) << shift)
        begin[size] = i + 1
        doubtful += own & is_new
        before = this
    begin[0] = 0
    return size, doubtful


@kernel
def write_owners(word, owners, hit, owner):  # type: ignore[no-untyped-def]
    """Write each hit with each of its owners that are alive; return how many there are."""
    n = 0
    for i in range(len(word)):
        first, stop = np.int64(0), np.int64(1)
        if word[i] < 0:
            first, stop = list_of(word[i], owners.start)
        for j in range(first, stop):
            own = np.int64(word[i]) if word[i] >= 0 else np.int64(owners.listed[j] & ~1)
            if word[i] >= 0 or not owners.is_dead[own >> 1]:
                hit[n], owner[n] = i, own
                n += 1
    return n
