"""Kernels that test records: for all events of a mask at once, or for one event by its filter.

A filter holds the rows that one event satisfies, as bits at row modulo the filter's size; a bit that is not set says no
for sure, one that is set says yes where the segment has no more rows than the filter has bits, and else asks the mask.
One event's filter stays in the nearest cache while a long posting list streams by, which the masks would not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.bits import lowest_bit
from index.block.kernel import kernel
from index.block.layout import (
    KIND_SHIFT,
    LAST,
    LAZY,
    LONG,
    POP_LAST,
    PUSH,
    ROW_SHIFT,
    TAIL_LIMIT,
    TAIL_SHIFT,
    WORDS_LIMIT,
    Int64s,
    UInt8s,
    UInt64s,
)

FOUND = -1
EMPTY = -2
"""What testing a record comes to; a number that is not negative is a row that must be derived before."""

FILTER_BITS = 2**16
"""The most bits of a filter: 8 KiB, a quarter of the nearest cache."""


class Scratch(NamedTuple):
    """Memory for match programs.

    Attributes
    ----------
    mask, union
        uint64 [W]: m and acc of `index.block.programs`.
    saved
        uint64 [depth, 2, W]: m and acc of the frames around.
    truths
        uint8 [depth, 2]: the same for one event.
    resume
        int64 [depth]: the place of each frame's POP.
    """

    mask: UInt64s
    union: UInt64s
    saved: UInt64s
    truths: UInt8s
    resume: Int64s


@kernel
def spread(filters, masks, touched, n):  # type: ignore[no-untyped-def]
    """Set the filters' bits of the first ``n`` touched rows and of row 0."""
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


@kernel
def size_of(head, words, k):  # type: ignore[no-untyped-def]
    """Return kind, first word of the program, its end, and the end of the tail of the record at word ``k``."""
    kind = head >> KIND_SHIFT
    if kind == LONG:
        stop = k + 1 + words[k]
        return kind, k + 1, stop, stop + 1
    stop = k + (head & WORDS_LIMIT)
    tail = 0 if kind == 0 else (head >> TAIL_SHIFT) & TAIL_LIMIT
    return kind, k, stop, stop + tail


@kernel
def held(event, row, filters, exact, masks):  # type: ignore[no-untyped-def]
    """Return 1 where the event satisfies a row that is set, else 0."""
    places = np.int64(filters.shape[1] - 1)
    bit = (filters[event, (row >> 6) & places] >> np.uint64(row & 63)) & np.uint64(1)
    if bit != np.uint64(0) and not exact:
        bit = (masks[row, event >> 6] >> np.uint64(event & 63)) & np.uint64(1)
    return np.int64(bit)


@kernel
def one_conjunction(event, words, k, stop, filters, exact, masks, stamp, epoch):  # type: ignore[no-untyped-def]
    """Return whether the event satisfies every literal."""
    while k < stop:
        word = np.int64(words[k])
        k += 1
        row = word >> ROW_SHIFT
        if word & LAZY:
            if stamp[row] != epoch:
                return row
            bit = np.int64((masks[row, event >> 6] >> np.uint64(event & 63)) & np.uint64(1))
        else:
            bit = held(event, row, filters, exact, masks)
        if bit == (word >> 1) & 1:
            return np.int64(EMPTY)
    return np.int64(FOUND)


@kernel
def one_program(event, words, k, stop, filters, exact, masks, stamp, epoch, truths, resume):  # type: ignore[no-untyped-def]
    """Return whether the event satisfies a program."""
    depth, mask, union = 0, True, False
    while k < stop:
        word = np.int64(words[k])
        k += 1
        if word >= 0:
            row = word >> ROW_SHIFT
            if word & LAZY:
                if stamp[row] != epoch:
                    return row
                bit = np.int64((masks[row, event >> 6] >> np.uint64(event & 63)) & np.uint64(1))
            else:
                bit = held(event, row, filters, exact, masks)
            union = union or bit != (word >> 1) & 1
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


@kernel
def conjunction(lanes, words, k, stop, start, masks, stamp, epoch, mask):  # type: ignore[no-untyped-def]
    """Narrow ``start`` to the events that satisfy every literal, into ``mask``; return whether there are any."""
    for x in range(len(lanes)):
        mask[x] = start[x]
    while k < stop:
        word = np.int64(words[k])
        k += 1
        row = word >> ROW_SHIFT
        if word & LAZY and stamp[row] != epoch:
            return row
        flip = np.uint64(0) - np.uint64((word >> 1) & 1)
        left = np.uint64(0)
        for x in range(len(lanes)):
            mask[x] &= masks[row, x] ^ flip
            left |= mask[x]
        if left == np.uint64(0):
            return np.int64(EMPTY)
    return np.int64(FOUND)


@kernel
def program(lanes, words, k, stop, start, masks, stamp, epoch, mask, union, saved, resume):  # type: ignore[no-untyped-def]
    """Narrow ``start`` by a program into ``mask``; return whether there are any.

    ``pending`` says that ``union`` holds something; literals that stand alone never go through it.
    """
    for x in range(len(lanes)):
        mask[x] = start[x]
    depth, pending = 0, False
    while k < stop:
        word = np.int64(words[k])
        k += 1
        if word >= 0:
            row = word >> ROW_SHIFT
            if word & LAZY and stamp[row] != epoch:
                return row
            flip = np.uint64(0) - np.uint64((word >> 1) & 1)
            if word & LAST:
                left = _narrow(lanes, masks, row, flip, mask, union, pending)
                pending = False
            else:
                _join(lanes, masks, row, flip, union, pending)
                pending = True
                continue
        elif word == PUSH:
            left = _push(lanes, mask, union, pending, saved, depth)
            resume[depth] = k + 1 + words[k]
            k += 1
            depth += 1
            pending = False
        else:
            depth -= 1
            left = _pop(lanes, mask, union, saved, depth, word == POP_LAST)
            pending = word != POP_LAST
            if pending:
                continue
        if left == np.uint64(0):
            if depth == 0:
                return np.int64(EMPTY)
            k = resume[depth - 1]
            pending = False
    return np.int64(FOUND)


@kernel
def _narrow(lanes, masks, row, flip, mask, union, pending):  # type: ignore[no-untyped-def]
    """``mask &= union | literal``; return the OR of what is left."""
    left = np.uint64(0)
    if pending:
        for x in range(len(lanes)):
            mask[x] &= union[x] | (masks[row, x] ^ flip)
            left |= mask[x]
    else:
        for x in range(len(lanes)):
            mask[x] &= masks[row, x] ^ flip
            left |= mask[x]
    return left


@kernel
def _join(lanes, masks, row, flip, union, pending):  # type: ignore[no-untyped-def]
    """``union |= literal``."""
    for x in range(len(lanes)):
        union[x] = (union[x] if pending else np.uint64(0)) | (masks[row, x] ^ flip)


@kernel
def _push(lanes, mask, union, pending, saved, depth):  # type: ignore[no-untyped-def]
    """Begin an AND inside an OR: only events that the OR does not hold for yet matter; return the OR of those."""
    left = np.uint64(0)
    for x in range(len(lanes)):
        held_ = union[x] if pending else np.uint64(0)
        saved[depth, 0, x], saved[depth, 1, x] = mask[x], held_
        mask[x] &= ~held_
        left |= mask[x]
    return left


@kernel
def _pop(lanes, mask, union, saved, depth, last):  # type: ignore[no-untyped-def]
    """End it: what is left joins the OR, which narrows the mask around when it ends too; return the OR of that mask."""
    left = np.uint64(0)
    for x in range(len(lanes)):
        union[x] = saved[depth, 1, x] | mask[x]
        mask[x] = saved[depth, 0, x] & union[x] if last else saved[depth, 0, x]
        left |= mask[x]
    return left
