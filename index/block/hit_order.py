"""Puts the hits of a chunk in order, by score falling and ordinal rising: once, instead of each of their matches.

A hit's key is how far its score is from the best, then its owner word. One of a record with several owners takes part
with each of them that is alive; they share its mask.
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


def words_of(hits: int) -> int:
    """Return how many words so many hits take."""
    return -(-hits // (64 * TOGETHER)) * TOGETHER


def in_order(word: Int32s, points: Int64s, owned: int, owners: Owners) -> Ordered:
    """Put hits in order, given their words of owners, and how many owners they have, dead ones included.

    No event has two hits of one list any more, so that its owners do not count as having other clauses.
    """
    size, owner_bits, place = len(word), (2 * len(owners.is_dead)).bit_length(), len(word).bit_length()
    best, width, shift = bits_of(points, size)
    room = 64 * words_of(owned)
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
    key[:n].sort()
    hit = pages.empty(n, np.int32)
    doubtful = int(unpack(key[:n], best, shift, owner_bits, place, hit, owner, score))
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
            own = np.int64(owners.listed[j] & ~1)
            if not owners.is_dead[own >> 1]:
                key[n] = (far | own) << place | i
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
            own = np.int64(word[i]) if word[i] >= 0 else np.int64(owners.listed[j] & ~1)
            if word[i] >= 0 or not owners.is_dead[own >> 1]:
                hit[n], owner[n] = i, own
                n += 1
    return n
