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
from index.block.prefetching import prefetch
from index.block.ranking import is_outdone, need_floors, offer, too_late
from index.block.records import FOUND, LONG_GROUP, many, one, place_of, screen, unrefused
from index.block.score_programs import clause_points
from index.block.surplus import is_exact, limits
from index.block.walk import pick_tier
from index.kernel import inlined, kernel
from schemas.values import SCORE_SCALE

FEW_RANKED = 4
"""A group that at most so many events reach is tested event by event, unless it is long: then it is one."""


@kernel
def find(lanes, scene, floor, touched, n, visited, alive_, best):  # type: ignore[no-untyped-def]
    """Hold the best matches of a chunk; all tiers in one call, since to hand over so many arrays takes long.

    Parameters
    ----------
    floor
        int64 [events]: what their matches have to score.
    touched, n, visited
        The rows that are set, how many, and when each shared group was last listed.
    alive_
        uint64 [W], room for the events that a tier may matter to.
    """
    chunk, postings, memory = scene.chunk, scene.postings, scene.memory
    limits(scene.first, len(best.size), scene.entries, postings, best.surplus)
    need_floors(best, floor)
    for tier in range(len(postings.tier_bound)):
        if not alive(best.need, postings.tier_bound[tier], alive_):
            return
        lists = memory.live_group, memory.live_row
        groups = pick_tier(lanes, touched, n, visited, tier, alive_, chunk.masks, chunk.epoch, postings, *lists, 0)
        rank(lanes, scene, groups, alive_, best)


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
def rank(lanes, scene, groups, alive_, best):  # type: ignore[no-untyped-def]
    """Offer the matches of the listed groups."""
    postings, memory = scene.postings, scene.memory
    for at in range(groups):
        group, p = memory.live_group[at], memory.live_row[at]
        q, word = postings.group_second[group], np.int64(postings.group_word[group])
        record, stop = np.int64(postings.group_record[group]), postings.group_record[group + 1]
        _fetch_ahead(at, groups, scene.chunk.masks, postings, memory)
        n = _reach(lanes, scene.chunk.masks, p, q, alive_, best, group, postings, memory.start, memory.few)
        memory.near.group[0] += 1
        if n > (1 if stop - record >= LONG_GROUP else FEW_RANKED):
            _rank_many(lanes, p, q, record, stop, word, n, scene, best)
            continue
        for i in range(n):
            _rank_one(memory.few[i], p, q, record, stop, word, scene, best)


@inlined
def _fetch_ahead(at, groups, masks, postings, memory):  # type: ignore[no-untyped-def]
    """Begin to fetch what the next group begins with, and the masks of the one behind it."""
    last = groups - 1
    group, later = memory.live_group[min(at + 1, last)], memory.live_group[min(at + 2, last)]
    prefetch(masks, memory.live_row[min(at + 2, last)])  # type: ignore[no-untyped-call]
    prefetch(masks, postings.group_second[later])  # type: ignore[no-untyped-call]
    record = postings.group_record[group]
    prefetch(postings.record_bound, record)  # type: ignore[no-untyped-call]
    prefetch(postings.record_owner, record)  # type: ignore[no-untyped-call]
    prefetch(postings.record_head, record)  # type: ignore[no-untyped-call]
    prefetch(postings.record_marks, record)  # type: ignore[no-untyped-call]
    prefetch(postings.words, postings.group_word[group])  # type: ignore[no-untyped-call]


@inlined
def _reach(lanes, masks, p, q, alive_, best, group, postings, start, few):  # type: ignore[no-untyped-def]
    """Fill ``start`` and ``few`` with the events that reach a group and may need it, by its first record and its marks.

    Returns
    -------
    count
        How many there are.
    """
    n = 0
    record, marks = postings.group_record[group], postings.group_marks[group]
    bound, owner = np.float64(postings.record_bound[record]), first_owner(postings.record_owner[record], postings)
    for x in range(len(lanes)):
        bits = masks[p, x] & masks[q, x] & alive_[x]
        kept = np.uint64(0)
        while bits != np.uint64(0):
            low = bits & (~bits + np.uint64(1))
            event = 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
            bits ^= low
            if not too_late(best.need[event], best.last[event], bound, owner) and not is_outdone(
                best, event, bound, marks
            ):
                kept |= low
                few[n] = event
                n += 1
        start[x] = kept
    return n


@inlined
def _rank_one(local, p, q, record, stop, word, scene, best):  # type: ignore[no-untyped-def]
    """Offer one event's matches among the records of a group, until they come too late for it."""
    chunk, postings, memory = scene.chunk, scene.postings, scene.memory
    need, last = best.need[local], best.last[local]
    a, b = _shares(local, p, q, scene, best)
    while record < stop and not _is_late(need, last, record, postings):
        if need == -np.inf:  # no record is late
            record, word = unrefused(record, stop, word, postings.record_head, postings.words, memory.filters[local])
            if record == stop:
                break
        at = place_of(record, p, q, word, postings)
        if _is_outdone(local, at, best, postings) or (
            at.kind == LINEAR and need > _refined(at, a, b, postings, memory)
        ):
            record, word = record + 1, at.tail
            continue
        outcome = one(local, postings.words, at.k, at.end, chunk, memory)
        if outcome >= 0:
            derive(outcome, chunk, scene.rows)
            continue
        if outcome == FOUND and has_live_owner(postings.record_owner[record], memory.is_dead):
            _offer(local, at, scene, best)
            need, last = best.need[local], best.last[local]
        record, word = record + 1, at.tail


@inlined
def _rank_many(lanes, p, q, record, stop, word, n, scene, best):  # type: ignore[no-untyped-def]
    """Offer all the events' matches among the records of a group, until they come too late for every event."""
    chunk, postings, memory = scene.chunk, scene.postings, scene.memory
    poorest, joint = _poorest(best, memory.few, n), screen(n, stop - record, memory)
    while record < stop and not _is_late(best.need[poorest], best.last[poorest], record, postings):
        if joint >= 0 and best.need[poorest] == -np.inf:  # no record is late
            record, word = unrefused(record, stop, word, postings.record_head, postings.words, memory.filters[joint])
            if record == stop:
                break
        at = place_of(record, p, q, word, postings)
        if _is_outdone(poorest, at, best, postings) and not _matters(memory.few, n, at, best, postings):
            record, word = record + 1, at.tail
            continue
        outcome = many(lanes, postings.words, at.k, at.end, n, chunk, memory)
        if outcome >= 0:
            derive(outcome, chunk, scene.rows)
            continue
        if outcome == FOUND and has_live_owner(postings.record_owner[record], memory.is_dead):
            need, last = best.need[poorest], best.last[poorest]
            for x in range(len(lanes)):
                bits = memory.scratch.mask[x]
                while bits != np.uint64(0):
                    local = 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
                    bits &= bits - np.uint64(1)
                    if _may_matter(local, at, scene, best):
                        _offer(local, at, scene, best)
            if need != best.need[poorest] or last != best.last[poorest]:
                poorest = _poorest(best, memory.few, n)
        record, word = record + 1, at.tail


@inlined
def _matters(few, n, at, best, postings):  # type: ignore[no-untyped-def]
    """Return whether a record may be among the best of any of the first ``n`` events of few, by bound and marks."""
    for i in range(n):
        event = few[i]
        if not _is_late(best.need[event], best.last[event], at.record, postings) and not _is_outdone(
            event, at, best, postings
        ):
            return True
    return False


@inlined
def _may_matter(local, at, scene, best):  # type: ignore[no-untyped-def]
    """Return whether a record may be among an event's best, by its bound and by what the event takes of p and q."""
    need, postings = best.need[local], scene.postings
    if _is_late(need, best.last[local], at.record, postings) or _is_outdone(local, at, best, postings):
        return False
    if at.kind != LINEAR or scene.entries.plain[scene.first + local]:
        return True
    a, b = _shares(local, at.p, at.q, scene, best)
    return not need > _refined(at, a, b, postings, scene.memory)


@inlined
def _offer(local, at, scene, best):  # type: ignore[no-untyped-def]
    """Score the record at a place, which the event satisfies, and offer it."""
    postings, memory = scene.postings, scene.memory
    event, word = scene.first + local, postings.record_owner[at.record]
    if at.kind > LINEAR:
        clause = postings.words[at.end]
        points = clause_points(
            event, scene.first, clause, scene.chunk, scene.rows, scene.scores, scene.entries, memory.frames
        )
        if points != NO_MATCH:
            _offer_owners(best, local, word, points, postings, memory.is_dead)
        return
    plain = scene.entries.plain[event]
    points = plain_points(at, postings, memory) if plain else literal_points(local, at, scene)
    if len(scene.scores.owner_points):
        points += scene.scores.owner_points[first_owner(word, postings) >> 1]
    _offer_owners(best, local, word, points, postings, memory.is_dead)


@inlined
def _offer_owners(best, local, word, points, postings, is_dead):  # type: ignore[no-untyped-def]
    """Offer an event's match with each owner that is alive, until the owners of a list come too late."""
    if word >= 0:
        offer(best, local, word, points)
        return
    # with other events a bound says less than a score
    ends = is_exact(best.surplus, local)
    first, stop = list_of(word, postings.owner_list_start)
    for i in range(first, stop):
        owner = postings.owner_list[i]
        if ends and too_late(best.need[local], best.last[local], np.float64(points), owner):
            break
        if not is_dead[owner >> 1]:
            offer(best, local, owner, points)


@inlined
def _shares(local, p, q, scene, best):  # type: ignore[no-untyped-def]
    """Return how much of the weights of p and q the event takes, NaN where bounds are too simple for it."""
    if scene.entries.plain[scene.first + local]:
        return 1.0, 1.0
    if not is_exact(best.surplus, local):
        return np.nan, np.nan
    attribute, weight = scene.postings.row_attribute, scene.memory.weight
    a = weight[attribute[p], local] if p < len(attribute) and attribute[p] >= 0 else 1.0
    b = weight[attribute[q], local] if q < len(attribute) and attribute[q] >= 0 else 1.0
    return a, b


@inlined
def _refined(at, a, b, postings, memory):  # type: ignore[no-untyped-def]
    """Return a bound that knows the event's weights of p and q; a unit more makes up for the rounding of both terms.

    A NaN among them gives a NaN, which nothing is greater than.
    """
    wp, wq = weight_of(at.end, postings, memory), weight_of(at.end + 1, postings, memory)
    spared = max(wp, 0.0) - wp * a + max(wq, 0.0) - wq * b
    return np.float64(postings.record_bound[at.record]) - spared * SCORE_SCALE + 1.0


@inlined
def _is_late(need, last, record, postings):  # type: ignore[no-untyped-def]
    """Return whether a record cannot be among an event's best any more, nor any that follows in its group."""
    return too_late(
        need, last, np.float64(postings.record_bound[record]), first_owner(postings.record_owner[record], postings)
    )


@inlined
def _is_outdone(local, at, best, postings):  # type: ignore[no-untyped-def]
    """Return whether a record cannot be among an event's best, given the attributes by which it scores."""
    return is_outdone(best, local, np.float64(postings.record_bound[at.record]), postings.record_marks[at.record])


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
