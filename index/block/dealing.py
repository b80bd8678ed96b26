"""Deals the hits of a chunk to its events: hits are put in order once, so each event's matches come to it in order.

A hit is sorted instead of each of its matches: its key is how far its score is from the best, then its owner word. An
owner with several clauses loses from each hit the events that a better one of its hits has. Then all hits are gone
through in order, and each event that one holds for gets a *slip*, the hit's owner word and the number of its score,
appended to the event's *pages*; what the pages say is copied out, event by event.
"""

from __future__ import annotations

import numpy as np

from index.block.bits import lowest_bit
from index.block.hits import Hits
from index.block.layout import Int32s, Int64s, UInt64s
from index.block.ordering import bits_of, sort_places
from index.engine import Matches
from index.kernel import kernel

_LEAST_PAGE, _MOST_PAGE = 4, 9
"""Slips a page, as powers of two: the largest is a page of the system's memory, so that copying out is one stretch."""

_AHEAD = 64
"""Masks that are fetched together: they lie anywhere, and memory is waited for once instead of once a mask."""

_OWNER = (1 << 32) - 1


def dealt(hits: Hits, size: int, matches: int, owner_bits: int, first: int, events: int) -> Matches:
    """Return the matches of a chunk's plain events by (event, score falling, ordinal rising), each once.

    Parameters
    ----------
    hits, size
        The hits, whose masks are narrowed, and how many of them are written.
    matches
        How many matches they have at most.
    owner_bits
        How many bits an owner word has.
    first, events
        The chunk's first event, and how many it has.
    """
    owner, points, mask = hits.owner[:size], hits.points[:size], hits.mask[:size]
    best, width, shift = bits_of(points, size)
    order = _ordered(owner, points, best, width, shift, owner_bits)
    _drop_doubles(owner, points, mask, best, width, shift, owner_bits)
    page = min(max((matches // max(events, 1)).bit_length() - 1, _LEAST_PAGE), _MOST_PAGE)
    slips = np.empty(matches + (events + 1 << page), np.int64)
    pages = np.empty((len(slips) >> page) + 1, np.int32)
    at = np.arange(events, dtype=np.int64) << page
    score = np.empty(size, np.int64)
    tile = np.empty((_AHEAD, mask.shape[1]), np.uint64)
    total = deal_hits((0,) * mask.shape[1], order, owner, points, mask, page, tile, at, slips, pages, score)
    out = Matches(np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int64))
    copy_out(first, page, at, slips, pages, score, out)
    return out


def _ordered(owner: Int32s, points: Int64s, best: int, width: int, shift: int, owner_bits: int) -> Int32s:
    """Return the places of the hits, best score first, then by owner word."""
    n = len(owner)
    place = n.bit_length()
    if width + owner_bits + place > 63:
        return np.lexsort((owner, ~points)).astype(np.int32)
    key = np.empty(n, np.int64)
    pack(owner, points, best, shift, owner_bits, place, key)
    return _places(key, place, place + owner_bits + width)


def _drop_doubles(
    owner: Int32s, points: Int64s, mask: UInt64s, best: int, width: int, shift: int, owner_bits: int
) -> None:
    """Take from the hits of each owner with several clauses the events that a better one of them has."""
    doubtful = np.flatnonzero(owner & 1)
    if len(doubtful) < 2:
        return
    place = len(doubtful).bit_length()
    if width + owner_bits + place > 63:
        order = np.lexsort((~points[doubtful], owner[doubtful])).astype(np.int32)
    else:
        key = np.empty(len(doubtful), np.int64)
        pack_owners_first(doubtful, owner, points, best, shift, width, place, key)
        order = _places(key, place, place + owner_bits + width)
    narrow((0,) * mask.shape[1], doubtful, order, owner, mask, np.empty(mask.shape[1], np.uint64))


def _places(key: Int64s, place: int, bits: int) -> Int32s:
    """Sort keys whose lowest ``place`` bits say where each stood; return those, in order."""
    order = np.empty(len(key), np.int32)
    sort_places(key, np.empty_like(key), place, bits, order)
    return order


@kernel
def pack(owner, points, best, shift, owner_bits, place, key):  # type: ignore[no-untyped-def]
    """Write each hit's key: how far its score is from the best, its owner word, its place."""
    for i in range(len(key)):
        far = (best - points[i]) >> shift
        key[i] = (far << owner_bits | np.int64(owner[i])) << place | i


@kernel
def pack_owners_first(chosen, owner, points, best, shift, width, place, key):  # type: ignore[no-untyped-def]
    """Write the keys of chosen hits: owner word, how far the score is from the best, the place among the chosen."""
    for i in range(len(key)):
        far = (best - points[chosen[i]]) >> shift
        key[i] = (np.int64(owner[chosen[i]]) << width | far) << place | i


@kernel
def narrow(lanes, chosen, order, owner, mask, seen):  # type: ignore[no-untyped-def]
    """Clear the bits that an earlier hit of the same owner has; ``order`` has an owner's hits side by side."""
    last = -1
    for i in range(len(order)):
        hit = chosen[order[i]]
        if owner[hit] != last:
            last = owner[hit]
            for x in range(len(lanes)):
                seen[x] = np.uint64(0)
        for x in range(len(lanes)):
            bits = mask[hit, x]
            mask[hit, x] = bits & ~seen[x]
            seen[x] |= bits


@kernel
def deal_hits(lanes, order, owner, points, mask, page, tile, at, slips, pages, score):  # type: ignore[no-untyped-def]
    """Append a slip for each match to its event's pages; return how many there are.

    ``at`` is where an event's next slip goes, at first the start of its own first page; ``pages`` tells what page
    follows one that is full, ``score`` the numbered scores.
    """
    slip_count, fresh, number = 0, len(at), -1
    for first in range(0, len(order), len(tile)):
        some = min(len(tile), len(order) - first)
        for i in range(some):
            for x in range(len(lanes)):
                tile[i, x] = mask[order[first + i], x]
        for i in range(some):
            hit = order[first + i]
            if number < 0 or score[number] != points[hit]:
                number += 1
                score[number] = points[hit]
            slip = np.int64(number) << 32 | np.int64(owner[hit])
            which = np.uint64(0)
            for x in range(len(lanes)):
                which |= np.uint64(tile[i, x] != np.uint64(0)) << np.uint64(x)
            while which != np.uint64(0):
                x = lowest_bit(which)  # type: ignore[no-untyped-call]
                which &= which - np.uint64(1)
                bits = tile[i, x]
                while bits != np.uint64(0):
                    event = 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
                    bits &= bits - np.uint64(1)
                    here = at[event]
                    slips[here] = slip
                    here += 1
                    if here & ((1 << page) - 1) == 0:
                        pages[(here - 1) >> page] = fresh
                        here, fresh = fresh << page, fresh + 1
                    at[event] = here
                    slip_count += 1
    return slip_count


@kernel
def copy_out(first, page, at, slips, pages, score, out):  # type: ignore[no-untyped-def]
    """Write each event's slips as matches."""
    n = 0
    for event in range(len(at)):
        here = np.int64(event)
        while True:
            last = at[event] >> page == here
            for i in range(here << page, at[event] if last else (here + 1) << page):
                out.event[n], out.subscription[n] = first + event, (slips[i] & _OWNER) >> 1
                out.score[n] = score[slips[i] >> 32]
                n += 1
            if last:
                break
            here = np.int64(pages[here])
