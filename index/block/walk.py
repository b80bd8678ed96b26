"""Kernels that find all matches of a chunk: pick the groups at hand, then test their records.

The buffer of matches has a fixed size; when it is nearly full the walk stops and the cursor remembers where, so nothing
is ever cut off. The walk scores what is the same for all plain events; the rest is left to `settle`, which is told by
the record.

Compiled code counts references whenever an array is taken from a tuple, so a kernel takes its arrays once, before its
loops.
"""

from __future__ import annotations

import numpy as np

from index.block.bits import lowest_bit
from index.block.kernel import kernel
from index.block.layout import (
    ALL,
    KIND_SHIFT,
    LAST,
    LAZY,
    LINEAR,
    LONG,
    ROW_SHIFT,
    TAIL_LIMIT,
    TAIL_SHIFT,
    UNIT,
    WORDS_LIMIT,
)
from index.block.masks import derive
from index.block.records import EMPTY, FOUND, one_program, program, size_of
from index.block.scoring import clause_points, linear_points, plain_points
from schemas.values import SCORE_SCALE

FEW = 8
"""A group of programs that at most so many events reach is tested event by event."""

FEW_LINEAR = 1
"""The same for a group of plain conjunctions, which take little longer for all events at once."""


@kernel
def pick(lanes, touched, n, tier, alive, masks, postings, start, live_group, live_row):  # type: ignore[no-untyped-def]
    """List the groups of a tier that alive events reach, with the rows they are posted under; return their number."""
    end = 0
    first = tier * (len(postings.shared_start) - 1)
    group_start, group_second = postings.group_start, postings.group_second
    for i in range(-1, n):
        row = np.int64(ALL) if i < 0 else np.int64(touched[i])
        low, high = group_start[first + row], group_start[first + row + 1]
        if low == high:
            continue
        left = np.uint64(0)
        for x in range(len(lanes)):
            start[x] = masks[row, x] & alive[x]
            left |= start[x]
        if left == np.uint64(0):
            continue
        for group in range(low, high):
            second = group_second[group]
            left = np.uint64(0)
            for x in range(len(lanes)):
                left |= start[x] & masks[second, x]
            if left != np.uint64(0):
                live_group[end], live_row[end] = group, row
                end += 1
    return end


@kernel
def pick_shared(touched, n, postings, visited, epoch, live_group, live_row, end):  # type: ignore[no-untyped-def]
    """Append the shared groups that row 0 or touched rows wake, each once."""
    first = postings.group_start[-1]
    for i in range(-1, n):
        row = np.int64(ALL) if i < 0 else np.int64(touched[i])
        for j in range(postings.shared_start[row], postings.shared_start[row + 1]):
            group = postings.shared_group[j]
            if visited[group - first] != epoch:
                visited[group - first] = epoch
                live_group[end], live_row[end] = group, ALL
                end += 1
    return end


@kernel
def walk(lanes, base, chunk, rows, postings, priorities, plain, memory, groups, cursor, found):  # type: ignore[no-untyped-def]
    """Write the matches of the listed groups from ``cursor`` on.

    ``lanes`` is a tuple of W numbers: its length is part of its type, so each W has its own unrolled code. ``cursor``
    holds the group, the record and the word to go on at.

    Returns
    -------
    n, late
        The number of matches, and how many of them are listed in ``found.late`` for `settle`.
    """
    masks, stamp, epoch = chunk.masks, chunk.stamp, chunk.epoch
    second, group_record, group_word = postings.group_second, postings.group_record, postings.group_word
    owners, heads, words = postings.record_owner, postings.record_head, postings.words
    table, codes = postings.weight_table, memory.codes
    live_group, live_row, start, filters, exact = (
        memory.live_group,
        memory.live_row,
        memory.start,
        memory.filters,
        memory.exact,
    )
    is_dead, mask, union, saved = memory.is_dead, memory.scratch.mask, memory.scratch.union, memory.scratch.saved
    truths, resume = memory.scratch.truths, memory.scratch.resume
    event_out, owner_out, points_out = found.event, found.owner, found.points
    late_match, late_record, late_word, late_group = (
        found.late_match,
        found.late_record,
        found.late_word,
        found.late_group,
    )
    all_plain = True
    for event in range(base, min(base + 64 * len(lanes), len(plain))):
        all_plain = all_plain and plain[event]
    n, late = 0, 0
    at, record, word = cursor[0], cursor[1], cursor[2]
    few, places = memory.few, np.int64(memory.filters.shape[1] - 1)
    while at < groups:
        group = live_group[at]
        p, q, stop = live_row[at], second[group], group_record[group + 1]
        reached = _reach(lanes, masks, p, q, start, few)
        fresh = record < 0
        if fresh:
            record, word = np.int64(group_record[group]), np.int64(group_word[group])
        turns = 0
        limit = FEW_LINEAR if np.int64(heads[record]) >> KIND_SHIFT <= LINEAR else FEW
        if fresh and 0 < reached <= limit and n + reached * (stop - record) <= len(event_out):
            turns = reached
        for turn in range(turns):
            local, at_record, at_word = few[turn], record, word
            while at_record < stop:
                head = np.int64(heads[at_record])
                here = at_word
                kind, k = head >> KIND_SHIFT, at_word
                end = at_word + (head & WORDS_LIMIT)
                at_word = end + (((head >> TAIL_SHIFT) & TAIL_LIMIT) if kind != UNIT else 0)
                if kind == LONG:
                    kind, k, end, at_word = size_of(head, words, here)
                held, some, first = np.int64(FOUND), False, k
                while k < end:
                    literal = np.int64(words[k])
                    if literal < 0:
                        # a frame opens: too seldom, and too long, to be run here
                        held = one_program(
                            local, words, first, end, filters, exact, masks, stamp, epoch, truths, resume
                        )
                        break
                    row = literal >> ROW_SHIFT
                    if literal & LAZY:
                        if stamp[row] != epoch:
                            held = row
                            break
                        bit = masks[row, local >> 6] >> np.uint64(local & 63) & np.uint64(1)
                    else:
                        bit = filters[local, (row >> 6) & places] >> np.uint64(row & 63) & np.uint64(1)
                        if bit != np.uint64(0) and not exact:
                            bit = masks[row, local >> 6] >> np.uint64(local & 63) & np.uint64(1)
                    k += 1
                    some = some or np.int64(bit) != (literal >> 1) & 1
                    if literal & LAST:
                        if not some:
                            held = np.int64(EMPTY)
                            break
                        some = False
                if held >= 0:
                    derive(held, chunk, rows)
                    at_word = here
                    continue
                if held == FOUND and not is_dead[owners[at_record] >> 1]:
                    event_out[n], owner_out[n] = base + local, owners[at_record]
                    if kind <= LINEAR and plain[base + local]:
                        points_out[n] = plain_points(kind, head, end, at_word, words, codes, table)
                        if len(priorities):
                            points_out[n] += priorities[owners[at_record] >> 1]
                    else:
                        late_match[late], late_record[late], late_word[late] = n, at_record, here
                        late_group[late] = at
                        late += 1
                    n += 1
                at_record += 1
        if turns:
            record = np.int64(stop)
        while record < stop:
            if n + 64 * len(lanes) > len(event_out):
                cursor[0], cursor[1], cursor[2] = at, record, word
                return n, late
            head = np.int64(heads[record])
            here, kind = word, head >> KIND_SHIFT
            if kind <= LINEAR:
                k, end = word, word + (head & WORDS_LIMIT)
                word = end + (((head >> TAIL_SHIFT) & TAIL_LIMIT) if kind == LINEAR else 0)
                held = np.int64(FOUND)
                for x in range(len(lanes)):
                    mask[x] = start[x]
                for i in range(k, end):
                    literal = np.int64(words[i])
                    row = literal >> ROW_SHIFT
                    if literal & LAZY and stamp[row] != epoch:
                        held = row
                        break
                    flip = np.uint64(0) - np.uint64((literal >> 1) & 1)
                    left = np.uint64(0)
                    for x in range(len(lanes)):
                        mask[x] &= masks[row, x] ^ flip
                        left |= mask[x]
                    if left == np.uint64(0):
                        held = np.int64(EMPTY)
                        break
            else:
                kind, k, end, word = size_of(head, words, word)
                held = program(lanes, words, k, end, start, masks, stamp, epoch, mask, union, saved, resume)
            if held >= 0:
                derive(held, chunk, rows)
                word = here
                continue
            if held == FOUND and not is_dead[owners[record] >> 1]:
                owner = owners[record]
                alike = np.int64(0)
                if kind == UNIT:
                    alike = ((head >> TAIL_SHIFT) & TAIL_LIMIT) * np.int64(SCORE_SCALE)
                elif kind == LINEAR:
                    alike = plain_points(kind, head, end, word, words, codes, table)
                if len(priorities) and kind <= LINEAR:
                    alike += priorities[owner >> 1]
                settled = kind <= LINEAR and all_plain
                for x in range(len(lanes)):
                    bits = mask[x]
                    while bits != np.uint64(0):
                        event = base + 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
                        event_out[n], owner_out[n], points_out[n] = event, owner, alike
                        if not settled and (kind > LINEAR or not plain[event]):
                            late_match[late], late_record[late], late_word[late] = n, record, here
                            late_group[late] = at
                            late += 1
                        n += 1
                        bits &= bits - np.uint64(1)
            record += 1
        at, record = at + 1, np.int64(-1)
    cursor[0], cursor[1] = at, -1
    return n, late


@kernel
def _reach(lanes, masks, p, q, start, few):  # type: ignore[no-untyped-def]
    """Fill ``start`` with the events that reach the group, ``few`` with the first of them; return how many there are.

    More than `FEW` count as one more.
    """
    n = 0
    for x in range(len(lanes)):
        bits = masks[p, x] & masks[q, x]
        start[x] = bits
        while bits != np.uint64(0) and n <= FEW:
            if n < FEW:
                few[n] = 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
            n += 1
            bits &= bits - np.uint64(1)
    return n


@kernel
def settle(base, late, chunk, rows, postings, scores, entries, memory, found):  # type: ignore[no-untyped-def]
    """Score the first ``late`` of the matches that the walk has listed."""
    for i in range(late):
        n, record = found.late_match[i], found.late_record[i]
        head = np.int64(postings.record_head[record])
        kind, k, end, _ = size_of(head, postings.words, np.int64(found.late_word[i]))
        event, owner = found.event[n], found.owner[n] >> 1
        if kind > LINEAR:
            found.points[n] = clause_points(
                event, base, postings.words[end], chunk, rows, scores, entries, memory.frames
            )
        else:
            group = memory.live_group[found.late_group[i]]
            found.points[n] = linear_points(
                event,
                memory.live_row[found.late_group[i]],
                postings.group_second[group],
                kind,
                k,
                end,
                postings.words,
                memory.codes,
                postings.weight_table,
                postings.row_attribute,
                entries,
                rows,
                chunk.first_in,
            )
            if len(scores.owner_points):
                found.points[n] += scores.owner_points[owner]
