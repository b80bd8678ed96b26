"""Kernels that test records: for all events of a mask at once, or for one event by its filter.

A filter holds the rows that one event satisfies, as bits at row modulo the filter's size; a bit that is not set says no
for sure, one that is set says yes where the segment has no more rows than the filter has bits, and else asks the mask.
One event's filter stays in the nearest cache while a long posting list streams by, which the masks would not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.bits import lowest_bit
from index.block.comparing import AT_ONCE, inside
from index.block.lanes import everywhere, load, some, store
from index.block.layout import (
    INTERVAL,
    KIND_SHIFT,
    LAST,
    LAZY,
    LONG,
    NEGATED,
    POP_LAST,
    PUSH,
    ROW_SHIFT,
    TAIL_LIMIT,
    TAIL_SHIFT,
    UNIT,
    WORDS_LIMIT,
    Int32s,
    Int64s,
    UInt8s,
    UInt64s,
)
from index.block.prefetching import prefetch
from index.block.rank_tables import is_inside, joined, runs_of
from index.kernel import inlined, kernel

FOUND = -1
EMPTY = -2
"""What testing a record comes to; a number that is not negative is a row that must be derived before."""

FILTER_BITS = 2**14
"""The most bits of a filter: 2 KiB, so that those of 512 events stay in the second cache."""

_SPECIAL = LAZY | INTERVAL | NEGATED
"""Literals of which a filter alone says nothing."""

_AHEAD = 256
"""So many words before they are read they are fetched: a kilobyte, about what is read while a fetch takes its time."""

FEW_RANGED = AT_ONCE
"""Of so many events the ranks are compared with an interval, instead of a mask made for it."""

FEW_JOINED = 8
"""The filters of at most so many events are joined: one that holds much refuses little."""

LONG_GROUP = 32
"""A group of so many records is long enough for that."""


class Near(NamedTuple):
    """The ranks of the events that are listed for a group, beside one another.

    Attributes
    ----------
    group
        int64 [1]: a number that the group has to itself.
    of
        int64 [ladders]: the group for which a ladder's ranks are here.
    rank
        int32 [ladders, FEW_RANGED].
    """

    group: Int64s
    of: Int64s
    rank: Int32s

    @classmethod
    def of_ladders(cls, ladders: int) -> Near:
        """Return room for the ranks on so many ladders."""
        return cls(np.zeros(1, np.int64), np.zeros(ladders, np.int64), np.zeros((ladders, FEW_RANGED), np.int32))


class Scratch(NamedTuple):
    """Memory for match programs.

    Attributes
    ----------
    mask
        uint64 [W]: what a program leaves.
    saved
        uint64 [depth, 2, W]: m and acc of the frames around.
    truths
        uint8 [depth, 2]: the same for one event.
    resume
        int64 [depth]: the place of each frame's POP.
    """

    mask: UInt64s
    saved: UInt64s
    truths: UInt8s
    resume: Int64s


class Place(NamedTuple):
    """Where a record stands; made and read by kernels only.

    Attributes
    ----------
    record
        Its number.
    p, q
        The rows that it is posted under.
    kind
        What its words are, see `index.block.layout`.
    k, end, tail
        Its first word, the end of its program, and the end of its tail.
    """

    record: int
    p: int
    q: int
    kind: int
    k: int
    end: int
    tail: int


@kernel
def spread(filters, masks, touched, n):  # type: ignore[no-untyped-def]
    """Set the filters' bits of the first ``n`` touched rows and of row 0.

    Ranges that have postings are among them: words that name those do not ask the mask.
    """
    places = np.int64(filters.shape[1] - 1)
    for i in range(-1, n):
        row = np.int64(0) if i < 0 else np.int64(touched[i])
        place = (row >> 6) & places
        bit = np.uint64(1) << np.uint64(row & 63)
        for word in range(masks.shape[1]):
            bits = masks[row, word]
            while bits != np.uint64(0):
                filters[64 * word + lowest_bit(bits), place] |= bit  # type: ignore[no-untyped-call]
                bits &= bits - np.uint64(1)


@inlined
def size_of(head, words, k):  # type: ignore[no-untyped-def]
    """Return kind, first word of the program, its end, and the end of the tail of the record at word ``k``."""
    kind = head >> KIND_SHIFT
    if kind == LONG:
        stop = k + 1 + words[k]
        return kind, k + 1, stop, stop + 1
    stop = k + (head & WORDS_LIMIT)
    return kind, k, stop, stop + (0 if kind == UNIT else (head >> TAIL_SHIFT) & TAIL_LIMIT)


@inlined
def place_of(record, p, q, word, postings):  # type: ignore[no-untyped-def]
    """Return where a record stands whose first word is ``word`` and which is posted under p and q."""
    kind, k, end, tail = size_of(np.int64(postings.record_head[record]), postings.words, word)
    return Place(record, p, q, kind, k, end, tail)


@inlined
def _bit(event, word, words, k, chunk, memory):  # type: ignore[no-untyped-def]
    """Return whether the event satisfies the literal ``word``, whose row is set or that has an interval."""
    row = word >> ROW_SHIFT
    if word & INTERVAL and chunk.ranks.several[words[k]] == np.uint64(0):
        return is_inside(event, words[k + 1], words[k + 2], words[k], chunk.ranks) != ((word >> 1) & 1 != 0)
    if word & INTERVAL:
        a, b = runs_of(words[k + 1], words[k + 2], words[k], chunk.ranks)
        several, union = chunk.ranks.several[words[k]], np.uint64(0)
        if a >= 0:
            union = joined(a, b, event >> 6, several, chunk.ranks.masks)
        return np.int64(union >> np.uint64(event & 63) & np.uint64(1)) != (word >> 1) & 1
    ask = word & LAZY != 0
    bit = np.uint64(1)
    if not ask:
        places = np.int64(memory.filters.shape[1] - 1)
        bit = memory.filters[event, (row >> 6) & places] >> np.uint64(row & 63) & np.uint64(1)
        ask = bit != np.uint64(0) and not memory.exact
    if ask:
        bit = chunk.masks[row, event >> 6] >> np.uint64(event & 63) & np.uint64(1)
    return np.int64(bit) != (word >> 1) & 1


@inlined
def screen(n, records, memory):  # type: ignore[no-untyped-def]
    """Return the number of a filter that the ``n`` listed events have in common, -1 where joining theirs gains nothing.

    It holds what any of them satisfies, so what it refuses all of them refuse; ``records`` are to be tested.
    """
    if n > FEW_JOINED or records < LONG_GROUP:
        return np.int64(-1)
    filters, listed = memory.filters, memory.few
    last = np.int64(len(filters) - 1)
    for place in range(filters.shape[1]):
        filters[last, place] = filters[listed[0], place]
    for i in range(1, n):
        for place in range(filters.shape[1]):
            filters[last, place] |= filters[listed[i], place]
    return last


@kernel
def unrefused(record, stop, word, heads, words, filter_):  # type: ignore[no-untyped-def]
    """Return the first record from ``record`` on that a filter does not refuse, and its word; ``stop`` if it does all.

    A filter refuses a record when the first alternatives of its program are plain literals and it holds none of them.
    Most records end so; what else there is to a literal is seen to by `one` and `many`. A kernel of its own, not
    inlined: amid the arrays of its callers the few that it reads do not stay in registers.
    """
    places, last_word = np.int64(len(filter_) - 1), len(words) - 1
    while record < stop:
        prefetch(words, min(word + _AHEAD, last_word))  # type: ignore[no-untyped-call]
        _, k, end, behind = size_of(np.int64(heads[record]), words, word)
        special, held = np.int64(0 if k < end else _SPECIAL), np.uint64(0)
        while k < end:
            code = np.int64(words[k])
            row = code >> ROW_SHIFT
            special |= code  # words below 0 have these bits, too
            held |= filter_[(row >> 6) & places] >> np.uint64(row & 63)
            if code & LAST:
                break
            k += 1
        if held & np.uint64(1) or special & _SPECIAL:
            break
        record, word = record + 1, behind
    return record, word


@inlined
def one(event, words, k, stop, chunk, memory):  # type: ignore[no-untyped-def]
    """Run a program for one event; return `FOUND`, `EMPTY`, or a row that must be derived before."""
    truths, resume = memory.scratch.truths, memory.scratch.resume
    depth, mask, union = 0, True, False
    while k < stop:
        word = np.int64(words[k])
        k += 1
        if word >= 0:
            if word & LAZY and chunk.stamp[word >> ROW_SHIFT] != chunk.epoch:
                return word >> ROW_SHIFT
            union = union or _bit(event, word, words, k, chunk, memory)
            k += 3 if word & INTERVAL else 0
            if not word & LAST:
                continue
            mask, union = mask and union, False
        elif word == PUSH:
            truths[depth, 0], truths[depth, 1] = mask, union
            resume[depth] = k + 1 + words[k]
            k += 1
            depth += 1
            mask, union = mask and not union, False
        else:
            depth -= 1
            union = truths[depth, 1] != 0 or mask
            mask = truths[depth, 0] != 0
            if word != POP_LAST:
                continue
            mask, union = mask and union, False
        if not mask:
            if depth == 0:
                return np.int64(EMPTY)
            k = resume[depth - 1]
            union = False
    return np.int64(FOUND)


@inlined
def many(lanes, words, k, stop, n, chunk, memory):  # type: ignore[no-untyped-def]
    """Narrow ``memory.start`` by a program into ``memory.scratch.mask``; return what `one` does.

    ``n`` is how many events those are, if ``memory.few`` lists them all, or more than `FEW_RANGED`.
    """
    saved, resume = memory.scratch.saved, memory.scratch.resume
    depth, nothing = 0, everywhere(lanes, 0)
    union = nothing
    if n <= FEW_RANGED and k < stop and words[k] >= 0 and words[k] & INTERVAL:
        k, left = _ranged(lanes, words, k, stop, n, chunk.ranks, memory)
        if left == 0:
            return np.int64(EMPTY)
        mask = load(lanes, memory.scratch.mask, 0)
    else:
        mask = load(lanes, memory.start, 0)
    while k < stop:
        word = np.int64(words[k])
        k += 1
        if word >= 0:
            row = word >> ROW_SHIFT
            if word & LAZY and chunk.stamp[row] != chunk.epoch:
                return row
            if word & INTERVAL:
                _fill(lanes, words[k], words[k + 1], words[k + 2], chunk, memory.range)
                held = load(lanes, memory.range, 0)
                k += 3
            else:
                held = load(lanes, chunk.masks, row)
            union = union | (held ^ everywhere(lanes, np.int64(0) - ((word >> 1) & 1)))
            if not word & LAST:
                continue
            mask, union = mask & union, nothing
        elif word == PUSH:
            # an AND inside an OR: only events that the OR does not hold for yet matter
            store(mask, saved, (depth, 0))
            store(union, saved, (depth, 1))
            mask, union = mask & ~union, nothing
            resume[depth] = k + 1 + words[k]
            k += 1
            depth += 1
        else:
            depth -= 1
            union = load(lanes, saved, (depth, 1)) | mask
            mask = load(lanes, saved, (depth, 0))
            if word != POP_LAST:
                continue
            mask, union = mask & union, nothing
        if not some(mask):
            if depth == 0:
                return np.int64(EMPTY)
            k, union = resume[depth - 1], nothing
    store(mask, memory.scratch.mask, 0)
    return np.int64(FOUND)


@inlined
def _fill(lanes, ladder, low, high, chunk, out):  # type: ignore[no-untyped-def]
    """Write the mask of a range to row 0 of ``out``."""
    a, b = runs_of(low, high, ladder, chunk.ranks)
    several = chunk.ranks.several[ladder]
    for x in range(len(lanes)):
        out[0, x] = joined(a, b, x, several, chunk.ranks.masks) if a >= 0 else np.uint64(0)


@inlined
def _ranged(lanes, words, k, stop, n, ranks, memory):  # type: ignore[no-untyped-def]
    """Narrow the ``n`` listed events by the intervals that a program begins with; write who is left to the mask.

    Returns
    -------
    k, left
        The word to go on at, and the listed events that are left, as bits.
    """
    near, mask = memory.near, memory.scratch.mask
    left = (np.int64(1) << n) - 1
    while k < stop and words[k] >= 0 and words[k] & INTERVAL and ranks.several[words[k + 1]] == np.uint64(0):
        ladder = np.int64(words[k + 1])
        if near.of[ladder] != near.group[0]:
            _gather(ladder, memory.few, n, ranks, near)
        flip = np.int64(0) - ((np.int64(words[k]) >> 1) & 1)
        left &= inside(near.rank, ladder, words[k + 2], words[k + 3]) ^ flip  # type: ignore[no-untyped-call]
        k += 4
    if left != 0:
        for x in range(len(lanes)):
            mask[x] = np.uint64(0)
        bits = np.uint64(left)
        while bits != np.uint64(0):
            event = memory.few[lowest_bit(bits)]  # type: ignore[no-untyped-call]
            mask[event >> 6] |= np.uint64(1) << np.uint64(event & 63)
            bits &= bits - np.uint64(1)
    return k, left


@inlined
def _gather(ladder, few, n, ranks, near):  # type: ignore[no-untyped-def]
    """Write what the listed events have on a ladder beside one another."""
    near.of[ladder] = near.group[0]
    row = ranks.row[ladder]
    for i in range(n):
        near.rank[ladder, i] = ranks.held[row, few[i]]
