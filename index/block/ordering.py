"""Puts the matches of a chunk in the order of `index.engine.Matches`: dealt to their events, then sorted there.

A match of an event becomes one integer, how far its score is from the event's best, then its owner word; those are
sorted by their digits, so an event's matches stay in the nearest caches. Of an owner's matches the best comes first,
and the others are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from index.block.kernel import kernel
from index.block.layout import Int32s, Int64s
from index.engine import Matches

DIGIT = 12
_SMALL = 48
"""So few are sorted by insertion."""


def arranged(base: int, members: int, owners: int, found: Sequence[Matches]) -> Matches:
    """Return the matches, whose subscriptions are owner words, by (event, score falling, ordinal rising), each once.

    Parameters
    ----------
    base, members
        The chunk's first event, and how many it has.
    owners
        How many subscriptions there are.
    found
        The matches, in any order.
    """
    count = np.zeros(members, np.int64)
    for part in found:
        tally(part.event, base, count)
    start = np.zeros(members + 1, np.int64)
    np.cumsum(count, out=start[1:])
    place = start[:-1].copy()
    owner, points = np.empty(start[-1], np.int32), np.empty(start[-1], np.int64)
    for part in found:
        deal(part.event, part.subscription, part.score, base, place, owner, points)
    stop = np.empty(members, np.int64)
    seen = np.zeros((2 * owners >> 6) + 1, np.uint64)
    if not sort_events(start, owner, points, (2 * owners).bit_length(), seen, stop):
        _sort_wide(start, owner, points, stop)
    event = np.repeat(np.arange(base, base + members, dtype=np.int32), stop - start[:-1])
    if (stop < start[1:]).any():
        kept = np.arange(start[-1]) < np.repeat(stop, count)
        owner, points = owner[kept], points[kept]
    return Matches(event, owner >> 1, points)


@kernel
def tally(event, base, count):  # type: ignore[no-untyped-def]
    """Count each event's matches."""
    for i in range(len(event)):
        count[event[i] - base] += 1


@kernel
def deal(event, owner, points, base, place, owner_out, points_out):  # type: ignore[no-untyped-def]
    """Write each match to the next place of its event."""
    for i in range(len(event)):
        at = place[event[i] - base]
        place[event[i] - base] = at + 1
        owner_out[at], points_out[at] = owner[i], points[i]


@njit(cache=True, nogil=True)
def sort_events(start, owner, points, owner_bits, seen, stop):  # type: ignore[no-untyped-def]
    """Sort every event's matches and drop doubles; return False, with nothing changed, when some have no integer.

    ``seen`` is a bit for each owner word, all of them zero before and after.
    """
    members, longest = len(stop), 0
    for event in range(members):
        longest = max(longest, start[event + 1] - start[event])
        low, high = start[event], start[event + 1]
        if low < high and bits_of(points, low, high)[1] + owner_bits > 63:
            return False
    key, other = np.empty(longest, np.int64), np.empty(longest, np.int64)
    tallies = np.empty((64 // DIGIT + 1, 1 << DIGIT), np.int64)
    for event in range(members):
        low, high = start[event], start[event + 1]
        stop[event] = low
        if low == high:
            continue
        best, width, shift = bits_of(points, low, high)
        n = high - low
        for i in range(n):
            key[i] = ((best - points[low + i]) >> shift) << owner_bits | np.int64(owner[low + i])
        in_other = sort_keys(key, other, n, width + owner_bits, tallies)
        stop[event] = low + unpack(other if in_other else key, n, best, shift, owner_bits, seen, owner, points, low)
    return True


@kernel
def bits_of(points, low, high):  # type: ignore[no-untyped-def]
    """Return the best score, how many bits tell how far the others are from it, and how many are zero for all."""
    best, union = points[low], np.int64(0)
    for i in range(low, high):
        best = max(best, points[i])
    for i in range(low, high):
        union |= best - points[i]
    shift = 0
    if union == 0:
        return best, 0, 0
    if union < 0:
        return best, 64, 0
    while not (union >> shift) & 1:
        shift += 1
    width = 0
    while union >> (shift + width):
        width += 1
    return best, width, shift


@kernel
def sort_keys(key, other, n, bits, tallies):  # type: ignore[no-untyped-def]
    """Sort the first ``n`` keys of so many bits; return whether they now stand in ``other``."""
    if n <= _SMALL:
        for i in range(1, n):
            value, j = key[i], i
            while j > 0 and key[j - 1] > value:
                key[j] = key[j - 1]
                j -= 1
            key[j] = value
        return False
    passes = (bits + DIGIT - 1) // DIGIT
    for p in range(passes):
        for d in range(1 << DIGIT):
            tallies[p, d] = 0
    mask = (1 << DIGIT) - 1
    for i in range(n):
        value = key[i]
        for p in range(passes):
            tallies[p, value & mask] += 1
            value >>= DIGIT
    a, b = key, other
    for p in range(passes):
        total = np.int64(0)
        for d in range(1 << DIGIT):
            size = tallies[p, d]
            tallies[p, d] = total
            total += size
        for i in range(n):
            digit = (a[i] >> (p * DIGIT)) & mask
            at = tallies[p, digit]
            tallies[p, digit] = at + 1
            b[at] = a[i]
        a, b = b, a
    return passes & 1 == 1


@kernel
def unpack(key, n, best, shift, owner_bits, seen, owner, points, low):  # type: ignore[no-untyped-def]
    """Write sorted keys back as matches from ``low`` on, an owner's first only, and return how many were written."""
    written, mask = 0, (np.int64(1) << owner_bits) - 1
    for i in range(n):
        word = key[i] & mask
        if word & 1:
            bit = np.uint64(1) << np.uint64((word >> 1) & 63)
            if seen[word >> 7] & bit:
                continue
            seen[word >> 7] |= bit
        owner[low + written] = word
        points[low + written] = best - ((key[i] >> owner_bits) << shift)
        written += 1
    for i in range(written):
        word = np.int64(owner[low + i])
        if word & 1:
            seen[word >> 7] = np.uint64(0)
    return written


def _sort_wide(start: Int64s, owner: Int32s, points: Int64s, stop: Int64s) -> None:
    """Do the same by columns, for scores that are further apart than a key can say."""
    for event in range(len(stop)):
        own = slice(int(start[event]), int(start[event + 1]))
        order = np.lexsort((owner[own], -points[own]))
        words, scores = owner[own][order], points[own][order]
        _, first = np.unique(words, return_index=True)
        first.sort()
        stop[event] = own.start + len(first)
        owner[own.start : stop[event]], points[own.start : stop[event]] = words[first], scores[first]
