"""Kernels that find the hits of a chunk: plan the walk over the postings of awake rows, then run the match programs.

A hit is (event, clause). The hit buffer has a fixed size; when it is nearly full the walk stops and `Cursor` remembers
where, so nothing is ever cut off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from index.block.bits import lowest_bit
from index.block.layout import ALL, LAST, POP_LAST, PUSH, ROW_SHIFT, Int32s, Int64s, UInt64s
from index.block.masks import derive

FOUND = -1
EMPTY = -2
"""What a match program comes to."""


class Work(NamedTuple):
    """The walk of a chunk: run clauses ``start[i]`` to ``stop[i]`` from the mask of ``row[i]``."""

    row: Int32s
    start: Int32s
    stop: Int32s


class Scratch(NamedTuple):
    """Memory for match programs.

    Attributes
    ----------
    mask, union
        uint64 [W]: m and acc of `index.block.programs`.
    saved
        uint64 [depth, 2, W]: m and acc of the frames around.
    resume
        int64 [depth]: the place of each frame's POP.
    """

    mask: UInt64s
    union: UInt64s
    saved: UInt64s
    resume: Int64s


@njit(cache=True, nogil=True)
def plan(touched, n, postings, visited, epoch, work):  # type: ignore[no-untyped-def]
    """Fill ``work`` from row 0 and the first ``n`` touched rows, and return its length.

    A clause posted under several rows is planned once, by itself and from all events: whichever of them wakes it, its
    program tests them all.
    """
    end = 0
    first_shared = postings.post_start[-1]
    for i in range(-1, n):
        row = ALL if i < 0 else touched[i]
        start, stop = postings.post_start[row], postings.post_start[row + 1]
        if start < stop:
            work.row[end], work.start[end], work.stop[end] = row, start, stop
            end += 1
        for j in range(postings.shared_start[row], postings.shared_start[row + 1]):
            clause = postings.shared_clause[j]
            if visited[clause - first_shared] != epoch:
                visited[clause - first_shared] = epoch
                work.row[end], work.start[end], work.stop[end] = ALL, clause, clause + 1
                end += 1
    return end


@njit(cache=True, nogil=True)
def walk(lanes, base, chunk, rows, postings, work, items, cursor, scratch, dead, hit_event, hit_clause):  # type: ignore[no-untyped-def]
    """Run the planned clauses from ``cursor`` on and return the number of hits; ``cursor[0] == items`` at the end.

    ``lanes`` is a tuple of W numbers: its length is part of its type, so each W has its own unrolled code.
    """
    n = 0
    masks = chunk.masks
    item, clause = cursor[0], cursor[1]
    while item < items:
        while clause < work.stop[item]:
            if n + 64 * len(lanes) > len(hit_event):
                cursor[0], cursor[1] = item, clause
                return n
            start, stop = postings.program_start[clause], postings.program_start[clause + 1]
            row = work.row[item]
            outcome = _run(
                lanes, row, masks, chunk.stamp, chunk.epoch, chunk.first_in, postings.program, start, stop, scratch
            )
            if outcome >= 0:
                derive(outcome, chunk, rows)
                continue
            if outcome == FOUND and not dead[postings.clause_owner[clause]]:
                n = _emit(lanes, base, clause, scratch.mask, hit_event, hit_clause, n)
            clause += 1
        item += 1
        if item < items:
            clause = work.start[item]
    cursor[0], cursor[1] = item, clause
    return n


@njit(cache=True, nogil=True)
def _run(lanes, row, masks, stamp, epoch, first_in, program, start, stop, scratch):  # type: ignore[no-untyped-def]
    """Narrow the row's mask by a match program (`index.block.programs`) into ``scratch.mask``.

    Return FOUND when a bit is left, EMPTY when none is, or a row that must be derived before the program can run.
    ``pending`` says that ``scratch.union`` holds something; literals that stand alone never go through it.
    """
    mask, union = scratch.mask, scratch.union
    for x in range(len(lanes)):
        mask[x] = masks[row, x]
    k, depth, pending = start, 0, False
    while k < stop:
        word = program[k]
        k += 1
        if word >= 0:
            row = word >> ROW_SHIFT
            if row >= first_in and stamp[row] != epoch:
                return np.int64(row)
            flip = np.uint64(0) - np.uint64((word >> 1) & 1)
            if word & LAST:
                left = _narrow(lanes, masks, row, flip, mask, union, pending)
                pending = False
            else:
                _join(lanes, masks, row, flip, union, pending)
                pending = True
                continue
        elif word == PUSH:
            _push(lanes, mask, union, pending, scratch.saved, depth)
            scratch.resume[depth] = k + 1 + program[k]
            k += 1
            depth += 1
            pending = False
            continue
        else:
            depth -= 1
            left = _pop(lanes, mask, union, scratch.saved, depth, word == POP_LAST)
            pending = word != POP_LAST
            if pending:
                continue
        if left == np.uint64(0):
            if depth == 0:
                return np.int64(EMPTY)
            k = scratch.resume[depth - 1]
            pending = False
    return np.int64(FOUND)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _join(lanes, masks, row, flip, union, pending):  # type: ignore[no-untyped-def]
    """``union |= literal``."""
    for x in range(len(lanes)):
        union[x] = (union[x] if pending else np.uint64(0)) | (masks[row, x] ^ flip)


@njit(cache=True, nogil=True)
def _push(lanes, mask, union, pending, saved, depth):  # type: ignore[no-untyped-def]
    """Begin an AND inside an OR: only events that the OR does not hold for yet matter."""
    for x in range(len(lanes)):
        held = union[x] if pending else np.uint64(0)
        saved[depth, 0, x], saved[depth, 1, x] = mask[x], held
        mask[x] &= ~held


@njit(cache=True, nogil=True)
def _pop(lanes, mask, union, saved, depth, last):  # type: ignore[no-untyped-def]
    """End it: what is left joins the OR, which narrows the mask around when it ends too; return the OR of that mask."""
    left = np.uint64(0)
    for x in range(len(lanes)):
        union[x] = saved[depth, 1, x] | mask[x]
        mask[x] = saved[depth, 0, x] & union[x] if last else saved[depth, 0, x]
        left |= mask[x]
    return left


@njit(cache=True, nogil=True)
def _emit(lanes, base, clause, mask, hit_event, hit_clause, n):  # type: ignore[no-untyped-def]
    for x in range(len(lanes)):
        bits = mask[x]
        while bits != np.uint64(0):
            hit_event[n] = base + 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
            hit_clause[n] = clause
            n += 1
            bits &= bits - np.uint64(1)
    return n
