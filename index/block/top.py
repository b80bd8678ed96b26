"""Kernels that find the best matches of a chunk: lists end early once nothing in them can be among the best.

Tiers, groups and records come in the order of falling bounds; a bound is compared with what each event needs
(`index.block.ranking`), so that one poor event does not keep a list alive for the others. Nothing is left out but what
scores strictly less than needed, so ties are decided by the order of subscriptions alone.
"""

from __future__ import annotations

import numpy as np

from index.block.bits import lowest_bit
from index.block.kernel import kernel
from index.block.layout import (
    KIND_SHIFT,
    LAZY,
    LINEAR,
    NO_MATCH,
    ROW_SHIFT,
    TAIL_LIMIT,
    TAIL_SHIFT,
    WORDS_LIMIT,
)
from index.block.masks import derive
from index.block.ranking import offer
from index.block.records import EMPTY, FOUND, one_program, program, size_of
from index.block.scoring import SEVERAL, clause_points, linear_points, plain_points, single_points
from schemas.values import SCORE_SCALE

FEW_RANKED = 4
"""A group that at most so many events reach is tested event by event."""


@kernel
def alive(need, bound, mask):  # type: ignore[no-untyped-def]
    """Set the bits of the events for which a tier of this bound may matter; return whether there are any."""
    mask[:] = 0
    some = False
    for event in range(len(need)):
        if need[event] <= bound:
            mask[event >> 6] |= np.uint64(1) << np.uint64(event & 63)
            some = True
    return some


@kernel
def rank(lanes, base, chunk, rows, postings, scores, entries, memory, groups, alive_, best):  # type: ignore[no-untyped-def]
    """Offer the matches of the listed groups."""
    masks, stamp, epoch, first_in = chunk.masks, chunk.stamp, chunk.epoch, chunk.first_in
    second, group_record, group_word = postings.group_second, postings.group_record, postings.group_word
    owners, heads, words, bounds = (
        postings.record_owner,
        postings.record_head,
        postings.words,
        postings.record_bound,
    )
    table, codes, row_attribute = postings.weight_table, memory.codes, postings.row_attribute
    live_group, live_row, start, filters, exact = (
        memory.live_group,
        memory.live_row,
        memory.start,
        memory.filters,
        memory.exact,
    )
    is_dead, mask, union, saved = memory.is_dead, memory.scratch.mask, memory.scratch.union, memory.scratch.saved
    truths, resume, weight = memory.scratch.truths, memory.scratch.resume, memory.weight
    need, scale, slack, plain, priorities = best.need, best.scale, best.slack, entries.plain, scores.owner_points
    few, tabled, places = memory.few, len(postings.weight_table) > 0, np.int64(memory.filters.shape[1] - 1)
    for at in range(groups):
        group = live_group[at]
        p, q, record, stop = live_row[at], second[group], np.int64(group_record[group]), group_record[group + 1]
        word = np.int64(group_word[group])
        n = _reach(lanes, masks, p, q, alive_, need, np.float64(bounds[record]), start, few)
        turns = n if n <= FEW_RANKED else 0
        for turn in range(turns):
            local, i, at_word = few[turn], record, word
            event = base + local
            a, b = 1.0, 1.0
            if not plain[event]:
                a = _share(local, p, row_attribute, weight, scale, slack)
                b = _share(local, q, row_attribute, weight, scale, slack)
            wanted = need[local]
            while i < stop and np.float64(bounds[i]) >= wanted:
                head, here = np.int64(heads[i]), at_word
                kind = head >> KIND_SHIFT
                if kind <= LINEAR:
                    k, end = at_word, at_word + (head & WORDS_LIMIT)
                    at_word = end
                    if kind == LINEAR:
                        at_word = end + ((head >> TAIL_SHIFT) & TAIL_LIMIT)
                        wp = table[words[end]] if tabled else np.float64(codes[end])
                        wq = table[words[end + 1]] if tabled else np.float64(codes[end + 1])
                        spare = max(wp, 0.0) - wp * a + max(wq, 0.0) - wq * b
                        if wanted > np.float64(bounds[i]) - spare * SCORE_SCALE + 1.0:
                            i += 1
                            continue
                    held = np.int64(FOUND)
                    while k < end:
                        literal = np.int64(words[k])
                        row = literal >> ROW_SHIFT
                        k += 1
                        if literal & LAZY and stamp[row] != epoch:
                            held = row
                            break
                        bit = np.uint64(1)
                        if not literal & LAZY:
                            bit = filters[local, (row >> 6) & places] >> np.uint64(row & 63) & np.uint64(1)
                        if bit != np.uint64(0) and (literal & LAZY or not exact):
                            bit = masks[row, local >> 6] >> np.uint64(local & 63) & np.uint64(1)
                        if np.int64(bit) == (literal >> 1) & 1:
                            held = np.int64(EMPTY)
                            break
                    k = here
                else:
                    kind, k, end, at_word = size_of(head, words, at_word)
                    held = one_program(local, words, k, end, filters, exact, masks, stamp, epoch, truths, resume)
                i += 1
                if held >= 0:
                    derive(held, chunk, rows)
                    i, at_word = i - 1, here
                    continue
                owner = owners[i - 1]
                if held != FOUND or is_dead[owner >> 1]:
                    continue
                if kind > LINEAR:
                    points = clause_points(event, base, words[end], chunk, rows, scores, entries, memory.frames)
                    if points == NO_MATCH:
                        continue
                else:
                    if plain[event]:
                        points = plain_points(kind, head, end, at_word, words, codes, table)
                    else:
                        points = single_points(local, p, q, kind, k, end, words, codes, table, row_attribute, weight)
                        if points == SEVERAL:
                            points = linear_points(
                                event, p, q, kind, k, end, words, codes, table, row_attribute, entries, rows, first_in
                            )
                    if len(priorities):
                        points += priorities[owner >> 1]
                offer(best, local, owner, points)
                wanted = need[local]
        if turns or n == 0:
            continue
        least = _least(need, few, n)
        while record < stop and np.float64(bounds[record]) >= least:
            bound, head, here = np.float64(bounds[record]), np.int64(heads[record]), word
            kind = head >> KIND_SHIFT
            if kind <= LINEAR:
                k, end = word, word + (head & WORDS_LIMIT)
                word = end + (((head >> TAIL_SHIFT) & TAIL_LIMIT) if kind == LINEAR else 0)
                held = np.int64(FOUND)
                for x in range(len(lanes)):
                    mask[x] = start[x]
                for place in range(k, end):
                    literal = np.int64(words[place])
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
            owner = owners[record]
            record += 1
            if held != FOUND or is_dead[owner >> 1]:
                continue
            raised, wp, wq = False, 0.0, 0.0
            if kind == LINEAR:
                wp = table[words[end]] if tabled else np.float64(codes[end])
                wq = table[words[end + 1]] if tabled else np.float64(codes[end + 1])
            for x in range(len(lanes)):
                bits = mask[x]
                while bits != np.uint64(0):
                    local = 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
                    event = base + local
                    bits &= bits - np.uint64(1)
                    before = need[local]
                    if before > bound:
                        continue
                    if kind == LINEAR and not plain[event]:
                        a = _share(local, p, row_attribute, weight, scale, slack)
                        b = _share(local, q, row_attribute, weight, scale, slack)
                        if before > bound - (max(wp, 0.0) - wp * a + max(wq, 0.0) - wq * b) * SCORE_SCALE + 1.0:
                            continue
                    if kind > LINEAR:
                        points = clause_points(event, base, words[end], chunk, rows, scores, entries, memory.frames)
                        if points == NO_MATCH:
                            continue
                    else:
                        if plain[event]:
                            points = plain_points(kind, head, end, word, words, codes, table)
                        else:
                            points = single_points(
                                local, p, q, kind, k, end, words, codes, table, row_attribute, weight
                            )
                            if points == SEVERAL:
                                points = linear_points(
                                    event,
                                    p,
                                    q,
                                    kind,
                                    k,
                                    end,
                                    words,
                                    codes,
                                    table,
                                    row_attribute,
                                    entries,
                                    rows,
                                    first_in,
                                )
                        if len(priorities):
                            points += priorities[owner >> 1]
                    offer(best, local, owner, points)
                    raised = raised or (before == least and need[local] > before)
            if raised:
                least = _least(need, few, n)


@kernel
def _reach(lanes, masks, p, q, alive_, need, bound, start, few):  # type: ignore[no-untyped-def]
    """Fill ``start`` and ``few`` with the events that reach the group and may need it; return how many there are."""
    n = 0
    for x in range(len(lanes)):
        bits = masks[p, x] & masks[q, x] & alive_[x]
        kept = np.uint64(0)
        while bits != np.uint64(0):
            low = bits & (~bits + np.uint64(1))
            event = 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
            bits ^= low
            if need[event] <= bound:
                kept |= low
                few[n] = event
                n += 1
        start[x] = kept
    return n


@kernel
def _share(local, row, row_attribute, weight, scale, slack):  # type: ignore[no-untyped-def]
    """Return how much of a row's weight the event takes, NaN where bounds are too simple for it."""
    if scale[local] != 1.0 or slack[local] != 0.0:
        return np.nan
    return weight[row_attribute[row], local] if row < len(row_attribute) and row_attribute[row] >= 0 else 1.0


@kernel
def _least(need, few, n):  # type: ignore[no-untyped-def]
    least = np.inf
    for i in range(n):
        least = min(least, need[few[i]])
    return least
