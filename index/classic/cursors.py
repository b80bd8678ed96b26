"""Cursors over an event's posting lists: the steps of which the K-index algorithms are made.

Whang et al., "Indexing Boolean Expressions", algorithm 1: ``GetPostingLists`` is `gather`, ``InitializeCurrentEntries``
`open_lists`, and ``SortByCurrentEntries`` with ``SkipTo`` is `skip`, which keeps the lists sorted by their current
entry. An entry ``id << 1`` of an exclusion is smaller than the plain one of the same id, so the first list tells
whether some exclusion is violated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.arrays import Int32s, Int64s
from index.classic.counters import ENTRIES, READ
from index.classic.keys import EventKeys
from index.classic.postings import NO_SLOT, Postings
from index.kernel import inlined, kernel
from index.lower_bound import lower_bound
from index.slices import starts_of


class Cursors(NamedTuple):
    """Memory for one event at a time.

    Attributes
    ----------
    bucket
        int64 [largest size + 3]: lists of size k are ``bucket[k]`` to ``bucket[k + 1]`` of the next two.
    list, source
        int32, int64 [most lists of an event]: an event's lists, and the event's entry that has the key.
    bound
        int64 [most lists]: the most that a list can add to a score; of ranked events only.
    current
        int64 [most lists]: the current entries of the open lists, ascending.
    which
        int64 [most lists]: the open lists in that order, as indices into ``list``.
    at, stop
        int64 [most lists]: where the current entry of a list is, and where the list ends.
    seen
        int64 [slots]: the stamp of the candidate that last had the slot.
    stamp
        int64 [1], the stamp last used.
    """

    bucket: Int64s
    list: Int32s
    source: Int64s
    bound: Int64s
    current: Int64s
    which: Int64s
    at: Int64s
    stop: Int64s
    seen: Int64s
    stamp: Int64s

    @classmethod
    def of(cls, postings: Postings, view: EventKeys, slots: int | None = None) -> Cursors:
        """Return memory for the events of a block and expressions of at most this many slots; None: their size."""
        lists = np.diff(postings.key_list).astype(np.int64)
        total = starts_of(lists[view.key], len(view.key))
        most = int((total[view.start[1:]] - total[view.start[:-1]]).max(initial=0) + lists[-1])
        largest = int(postings.list_size.max(initial=0))
        bucket, seen, stamp = (np.zeros(n, np.int64) for n in (largest + 3, largest if slots is None else slots, 1))
        source, bound, current, which, at, stop = (np.zeros(most, np.int64) for _ in range(6))
        return cls(bucket, np.zeros(most, np.int32), source, bound, current, which, at, stop, seen, stamp)


@kernel
def gather(first, stop, key, postings, cursors):  # type: ignore[no-untyped-def]
    """Sort the lists of an event, whose entries are ``first`` to ``stop``, by size; an attribute's stay together."""
    bucket, key_list, size = cursors.bucket, postings.key_list, postings.list_size
    bucket[:] = 0
    zero = len(key_list) - 2
    for i in range(first, stop + 1):
        k = key[i] if i < stop else zero
        for one in range(key_list[k], key_list[k + 1]):
            bucket[size[one] + 2] += 1
    for k in range(1, len(bucket)):
        bucket[k] += bucket[k - 1]
    for i in range(first, stop + 1):
        k = key[i] if i < stop else zero
        for one in range(key_list[k], key_list[k + 1]):
            place = bucket[size[one] + 1]
            bucket[size[one] + 1] = place + 1
            cursors.list[place] = one
            cursors.source[place] = i


@kernel
def open_lists(low, high, postings, cursors, counts):  # type: ignore[no-untyped-def]
    """Put the lists ``low`` to ``high`` at their first entries, sorted by these; return their number."""
    current, which = cursors.current, cursors.which
    for i in range(low, high):
        one = cursors.list[i]
        cursors.at[i] = postings.list_start[one]
        cursors.stop[i] = postings.list_start[one + 1]
        counts[ENTRIES] += cursors.stop[i] - cursors.at[i]
        entry = np.int64(postings.entry[cursors.at[i]])
        j = i - low
        while j > 0 and current[j - 1] > entry:
            current[j], which[j] = current[j - 1], which[j - 1]
            j -= 1
        current[j], which[j] = entry, i
    counts[READ] += high - low
    return high - low


@kernel
def skip(n, next_id, entry, cursors, counts):  # type: ignore[no-untyped-def]
    """Move every list to its first id of at least ``next_id``; return how many lists are not at their end.

    Only the first lists stand before that id. They are moved from the last of them to the first, each into its place
    among those behind it, which are sorted.
    """
    current, which = cursors.current, cursors.which
    target = next_id << 1
    behind = 0
    while behind < n and current[behind] < target:
        behind += 1
    for i in range(behind - 1, -1, -1):
        one = which[i]
        at = _seek(entry, cursors.at[one] + 1, cursors.stop[one], target)
        cursors.at[one] = at
        j = i
        ended = at == cursors.stop[one]
        counts[READ] += not ended
        if ended:
            n -= 1
            while j < n:
                current[j], which[j] = current[j + 1], which[j + 1]
                j += 1
            continue
        code = np.int64(entry[at])
        while j + 1 < n and current[j + 1] < code:
            current[j], which[j] = current[j + 1], which[j + 1]
            j += 1
        current[j], which[j] = code, one
    return n


@inlined
def _seek(entry, low, stop, target):  # type: ignore[no-untyped-def]
    """Return the first place from ``low`` on with an entry of at least ``target``, by growing steps and then halves."""
    step = 1
    high = low
    while high < stop and entry[high] < target:
        low = high + 1
        high += step
        step <<= 1
    return lower_bound(entry, low, min(high, stop), target)


@inlined
def distinct(n, slot, cursors):  # type: ignore[no-untyped-def]
    """Return how many literals of the first list's conjunction hold; none of its exclusions is violated."""
    cursors.stamp[0] += 1
    stamp, entry, held = cursors.stamp[0], cursors.current[0], 0
    for i in range(n):
        if cursors.current[i] != entry:
            break
        one = slot[cursors.at[cursors.which[i]]]
        if one != NO_SLOT and cursors.seen[one] != stamp:
            cursors.seen[one] = stamp
            held += 1
    return held


@kernel
def satisfied(event, view, postings, cursors, counts, out):  # type: ignore[no-untyped-def]
    """Write the conjunctions that the event satisfies to ``out``, each once; return their number."""
    gather(view.start[event], view.start[event + 1], view.key, postings, cursors)
    found = 0
    for size in range(len(cursors.bucket) - 3, -1, -1):
        low, high = cursors.bucket[size], cursors.bucket[size + 1]
        wanted = max(size, 1)
        n = open_lists(low, high, postings, cursors, counts) if high - low >= wanted else 0
        # The first lists stand at the smallest ids; an id before that of the wanted-th list has too few lists.
        while n >= wanted:
            pivot = cursors.current[wanted - 1] >> 1
            if cursors.current[0] >> 1 != pivot:
                n = skip(n, pivot, postings.entry, cursors, counts)
                continue
            if cursors.current[0] & 1 and distinct(n, postings.slot, cursors) >= size:
                out[found] = pivot
                found += 1
            n = skip(n, pivot + 1, postings.entry, cursors, counts)
    return found
