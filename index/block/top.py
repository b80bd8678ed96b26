"""Kernels that find the best matches of a chunk: lists end early once nothing in them can be among the best.

Tiers, groups and records come in the order of falling bounds; a bound is compared with what each event needs
(`index.block.ranking`), so that one poor event does not keep a list alive for the others. Records of equal bounds come
in the order of subscriptions, which decides between equal scores, so they end early as well.
"""

from __future__ import annotations

import numpy as np

from index.block.bits import lowest_bit
from index.block.layout import LINEAR, NO_MATCH
from index.block.literal_points import literal_points, plain_points, weight_of
from index.block.masks import derive
from index.block.owner_lists import first_owner, has_live_owner, list_of
from index.block.ranking import offer, too_late
from index.block.records import FOUND, LONG_GROUP, many, one, screen, size_of, unrefused
from index.block.score_programs import clause_points
from index.kernel import inlined, kernel
from schemas.values import SCORE_SCALE

FEW_RANKED = 4
"""A group that at most so many events reach is tested event by event, unless it is long: then it is one."""


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
    for at in range(groups):
        group, p = memory.live_group[at], memory.live_row[at]
        q, record, stop = (
            postings.group_second[group],
            np.int64(postings.group_record[group]),
            postings.group_record[group + 1],
        )
        word = np.int64(postings.group_word[group])
        n = _reach(lanes, chunk.masks, p, q, alive_, best, record, postings, memory.start, memory.few)
        memory.near.group[0] += 1
        if n > (1 if stop - record >= LONG_GROUP else FEW_RANKED):
            _rank_many(lanes, base, p, q, record, stop, word, chunk, rows, postings, scores, entries, memory, n, best)
            continue
        for i in range(n):
            _rank_one(
                memory.few[i], base, p, q, record, stop, word, chunk, rows, postings, scores, entries, memory, best
            )


@inlined
def _reach(lanes, masks, p, q, alive_, best, record, postings, start, few):  # type: ignore[no-untyped-def]
    """Fill ``start`` and ``few`` with the events that reach a group and may need it, by its first record.

    Returns
    -------
    count
        How many there are.
    """
    n = 0
    bound, owner = np.float64(postings.record_bound[record]), first_owner(postings.record_owner[record], postings)
    for x in range(len(lanes)):
        bits = masks[p, x] & masks[q, x] & alive_[x]
        kept = np.uint64(0)
        while bits != np.uint64(0):
            low = bits & (~bits + np.uint64(1))
            event = 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
            bits ^= low
            if not too_late(best.need[event], best.last[event], bound, owner):
                kept |= low
                few[n] = event
                n += 1
        start[x] = kept
    return n


@inlined
def _rank_one(local, base, p, q, record, stop, word, chunk, rows, postings, scores, entries, memory, best):  # type: ignore[no-untyped-def]
    """Offer one event's matches among the records of a group, until they come too late for it."""
    plain, need, last = entries.plain[base + local], best.need[local], best.last[local]
    a, b = _shares(local, p, q, plain, postings, memory, best)
    while record < stop and not _is_late(need, last, record, postings):
        if need == -np.inf:  # no record is late
            record, word = unrefused(record, stop, word, postings.record_head, postings.words, memory.filters[local])
            if record == stop:
                break
        here = word
        kind, k, end, word = size_of(np.int64(postings.record_head[record]), postings.words, word)
        if kind == LINEAR and need > _refined(record, a, b, end, postings, memory):
            record += 1
            continue
        outcome = one(local, postings.words, k, end, chunk, memory)
        if outcome >= 0:
            derive(outcome, chunk, rows)
            word = here
            continue
        if outcome == FOUND and has_live_owner(postings.record_owner[record], memory.is_dead):
            _offer(
                local,
                base,
                p,
                q,
                record,
                kind,
                k,
                end,
                word,
                plain,
                chunk,
                rows,
                postings,
                scores,
                entries,
                memory,
                best,
            )
            need, last = best.need[local], best.last[local]
        record += 1


@inlined
def _rank_many(lanes, base, p, q, record, stop, word, chunk, rows, postings, scores, entries, memory, n, best):  # type: ignore[no-untyped-def]
    """Offer all the events' matches among the records of a group, until they come too late for every event."""
    poorest, joint = _poorest(best, memory.few, n), screen(n, stop - record, memory)
    while record < stop and not _is_late(best.need[poorest], best.last[poorest], record, postings):
        if joint >= 0 and best.need[poorest] == -np.inf:  # no record is late
            record, word = unrefused(record, stop, word, postings.record_head, postings.words, memory.filters[joint])
            if record == stop:
                break
        here = word
        kind, k, end, word = size_of(np.int64(postings.record_head[record]), postings.words, word)
        outcome = many(lanes, postings.words, k, end, n, chunk, memory)
        if outcome >= 0:
            derive(outcome, chunk, rows)
            word = here
            continue
        raised = False
        if outcome == FOUND and has_live_owner(postings.record_owner[record], memory.is_dead):
            for x in range(len(lanes)):
                bits = memory.scratch.mask[x]
                while bits != np.uint64(0):
                    local = 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
                    bits &= bits - np.uint64(1)
                    plain, need, last = entries.plain[base + local], best.need[local], best.last[local]
                    if _is_late(need, last, record, postings):
                        continue
                    if kind == LINEAR and not plain:
                        a, b = _shares(local, p, q, plain, postings, memory, best)
                        if need > _refined(record, a, b, end, postings, memory):
                            continue
                    _offer(
                        local,
                        base,
                        p,
                        q,
                        record,
                        kind,
                        k,
                        end,
                        word,
                        plain,
                        chunk,
                        rows,
                        postings,
                        scores,
                        entries,
                        memory,
                        best,
                    )
                    raised = raised or (local == poorest and (need != best.need[local] or last != best.last[local]))
        if raised:
            poorest = _poorest(best, memory.few, n)
        record += 1


@inlined
def _offer(local, base, p, q, record, kind, k, end, next_, plain, chunk, rows, postings, scores, entries, memory, best):  # type: ignore[no-untyped-def]
    """Score a record that the event satisfies, and offer it."""
    word, words, event = postings.record_owner[record], postings.words, base + local
    if kind > LINEAR:
        points = clause_points(event, base, words[end], chunk, rows, scores, entries, memory.frames)
        if points != NO_MATCH:
            _offer_owners(best, local, word, points, postings, memory.is_dead)
        return
    codes, table, attribute = memory.codes, postings.weight_table, postings.row_attribute
    if plain:
        points = plain_points(kind, np.int64(postings.record_head[record]), end, next_, words, codes, table)
    else:
        weight = memory.weight
        points = literal_points(
            local, event, p, q, kind, k, end, words, codes, table, attribute, weight, entries, rows, chunk.first_in
        )
    if len(scores.owner_points):
        points += scores.owner_points[first_owner(word, postings) >> 1]
    _offer_owners(best, local, word, points, postings, memory.is_dead)


@inlined
def _offer_owners(best, local, word, points, postings, is_dead):  # type: ignore[no-untyped-def]
    """Offer an event's match with each owner that is alive, until the owners of a list come too late."""
    if word >= 0:
        offer(best, local, word, points)
        return
    # with other events a bound says less than a score
    is_exact = best.scale[local] == 1.0 and best.slack[local] == 0.0
    first, stop = list_of(word, postings.owner_list_start)
    for i in range(first, stop):
        owner = postings.owner_list[i]
        if is_exact and too_late(best.need[local], best.last[local], np.float64(points), owner):
            break
        if not is_dead[owner >> 1]:
            offer(best, local, owner, points)


@inlined
def _shares(local, p, q, plain, postings, memory, best):  # type: ignore[no-untyped-def]
    """Return how much of the weights of p and q the event takes, NaN where bounds are too simple for it."""
    if plain:
        return 1.0, 1.0
    if best.scale[local] != 1.0 or best.slack[local] != 0.0:
        return np.nan, np.nan
    attribute = postings.row_attribute
    a = memory.weight[attribute[p], local] if p < len(attribute) and attribute[p] >= 0 else 1.0
    b = memory.weight[attribute[q], local] if q < len(attribute) and attribute[q] >= 0 else 1.0
    return a, b


@inlined
def _refined(record, a, b, tail, postings, memory):  # type: ignore[no-untyped-def]
    """Return a bound that knows the event's weights of p and q; a unit more makes up for the rounding of both terms.

    A NaN among them gives a NaN, which nothing is greater than.
    """
    wp = weight_of(tail, postings.words, memory.codes, postings.weight_table)
    wq = weight_of(tail + 1, postings.words, memory.codes, postings.weight_table)
    spared = max(wp, 0.0) - wp * a + max(wq, 0.0) - wq * b
    return np.float64(postings.record_bound[record]) - spared * SCORE_SCALE + 1.0


@inlined
def _is_late(need, last, record, postings):  # type: ignore[no-untyped-def]
    """Return whether a record cannot be among an event's best any more, nor any that follows in its group."""
    return too_late(
        need, last, np.float64(postings.record_bound[record]), first_owner(postings.record_owner[record], postings)
    )


@inlined
def _poorest(best, few, n):  # type: ignore[no-untyped-def]
    """Return the event, among the first ``n`` of few, for which records come too late last of all."""
    poorest = few[0]
    for i in range(1, n):
        event = few[i]
        if best.need[event] < best.need[poorest] or (
            best.need[event] == best.need[poorest] and best.last[event] > best.last[poorest]
        ):
            poorest = event
    return poorest
