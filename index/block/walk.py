"""Kernels that find all matches of a chunk: pick the groups at hand, then test their records.

The buffer of hits has a fixed size; when it is full the walk stops and the cursor remembers where, so nothing is ever
cut off. The walk scores what is the same for all plain events; the rest is left to `index.block.hits.settle`.
"""

from __future__ import annotations

import numpy as np

from index.block.bits import lowest_bit
from index.block.lanes import everywhere, load, some, store
from index.block.layout import ALL, INTERVAL, KIND_SHIFT, LINEAR
from index.block.literal_points import plain_points
from index.block.masks import derive
from index.block.owner_lists import first_owner, has_live_owner
from index.block.prefetching import LINE, prefetch
from index.block.records import FEW_JOINED, FEW_RANGED, FOUND, LONG_GROUP, many, one, place_of, screen, unrefused
from index.kernel import inlined, kernel

FEW = 3
"""A group of programs that at most so many events reach is tested event by event."""

FEW_LINEAR = 1
"""The same for a group of plain conjunctions, which take little longer for all events at once, and for a long one."""

_FAR, _NEAR, _NEXT = 24, 12, 4
"""So many rows before a row's turn the places of its groups, their second rows and the masks of these are fetched."""

_SECONDS = 8
"""Of so many groups; the others' masks are fetched as many groups before their turn."""

_FETCHED = 256
"""So many words of the next group are fetched; see `index.block.records` for the others."""


@kernel
def pick_tier(lanes, touched, n, visited, tier, alive, masks, epoch, postings, live_group, live_row, end):  # type: ignore[no-untyped-def]
    """Append what `pick` does, and behind the first tier's groups the shared ones; return the new end."""
    end = pick(lanes, touched, n, tier, alive, masks, postings, live_group, live_row, np.int64(end))
    return pick_shared(touched, n, postings, visited, epoch, live_group, live_row, end) if tier == 0 else end


@kernel
def pick(lanes, touched, n, tier, alive, masks, postings, live_group, live_row, end):  # type: ignore[no-untyped-def]
    """Append the groups of a tier that alive events reach, with the rows they are posted under; return the new end."""
    first = tier * (len(postings.shared_start) - 1)
    group_start, group_second = postings.group_start, postings.group_second
    for i in range(-1, n):
        row = np.int64(ALL) if i < 0 else np.int64(touched[i])
        _fetch_rows(i, n, first, touched, masks, postings)
        low, high = group_start[first + row], group_start[first + row + 1]
        if low == high:
            continue
        reaching = load(lanes, masks, row) & load(lanes, alive, 0)
        if not some(reaching):
            continue
        for group in range(low, high):
            second = group_second[group]
            prefetch(masks, group_second[min(group + _SECONDS, high - 1)])  # type: ignore[no-untyped-call]
            # without a guess: about as many groups are reached as not
            live_group[end], live_row[end] = group, row
            end += np.int64(some(reaching & load(lanes, masks, second)))
    return end


@inlined
def _later(i, n, touched):  # type: ignore[no-untyped-def]
    """Return the ``i``-th touched row, or the last one."""
    return np.int64(touched[min(i, n - 1)]) if n else np.int64(ALL)


@inlined
def _fetch_rows(i, n, first, touched, masks, postings):  # type: ignore[no-untyped-def]
    """Begin to fetch what rows behind the ``i``-th touched one lead to, the nearest ones' last of all."""
    far, near, next_ = _later(i + _FAR, n, touched), _later(i + _NEAR, n, touched), _later(i + _NEXT, n, touched)
    prefetch(postings.group_start, first + far)  # type: ignore[no-untyped-call]
    prefetch(masks, far)  # type: ignore[no-untyped-call]
    prefetch(postings.group_second, postings.group_start[first + near])  # type: ignore[no-untyped-call]
    begin, stop = postings.group_start[first + next_], postings.group_start[first + next_ + 1]
    for group in range(begin, min(stop, begin + _SECONDS)):
        prefetch(masks, postings.group_second[group])  # type: ignore[no-untyped-call]


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
def walk(lanes, scene, groups, cursor, found):  # type: ignore[no-untyped-def]
    """Write the hits of the listed groups from ``cursor`` on; return how many there are.

    ``lanes`` is a tuple of W numbers: its length is part of its type, so each W has its own unrolled code. ``cursor``
    holds the group, the record and the word to go on at.
    """
    chunk, postings, memory = scene.chunk, scene.postings, scene.memory
    n = 0
    at, record, word = cursor[0], cursor[1], cursor[2]
    while at < groups:
        group = memory.live_group[at]
        stop = postings.group_record[group + 1]
        ranged = _is_ranged(postings.group_word[group], postings.words)
        p, q, most = memory.live_row[at], postings.group_second[group], FEW_RANGED if ranged else FEW_JOINED
        _fetch_ahead(at, groups, chunk.masks, postings, memory)
        reached = _reach(lanes, chunk.masks, p, q, most, memory.start, memory.few)
        memory.near.group[0] += 1
        if record < 0:
            record, word = np.int64(postings.group_record[group]), np.int64(postings.group_word[group])
            linear = np.int64(postings.record_head[record]) >> KIND_SHIFT <= LINEAR
            few = FEW_LINEAR if linear or stop - record >= LONG_GROUP else FEW
            if reached <= few and n + reached * (stop - record) <= len(found.owner):
                for i in range(reached):
                    n = _walk_one(lanes, memory.few[i], at, record, stop, word, scene, found, n)
                record = np.int64(stop)
        listed = reached if ranged else FEW_RANGED + 1
        joint = np.int64(-1) if ranged else screen(reached, stop - record, memory)
        while record < stop:
            if n == len(found.owner):
                cursor[0], cursor[1], cursor[2] = at, record, word
                return n
            if joint >= 0:
                record, word = unrefused(
                    record, stop, word, postings.record_head, postings.words, memory.filters[joint]
                )
                if record == stop:
                    break
            there = place_of(record, p, q, word, postings)
            outcome = many(lanes, postings.words, there.k, there.end, listed, chunk, memory)
            if outcome >= 0:
                derive(outcome, chunk, scene.rows)
                continue
            if outcome == FOUND and has_live_owner(postings.record_owner[record], memory.is_dead):
                store(load(lanes, memory.scratch.mask, 0), found.mask, n)
                _write(at, there, word, scene, found, n)
                n += 1
            record, word = record + 1, there.tail
        at, record = at + 1, np.int64(-1)
    cursor[0], cursor[1] = at, -1
    return n


@inlined
def _walk_one(lanes, event, at, record, stop, word, scene, found, n):  # type: ignore[no-untyped-def]
    """Write one event's hits among the records of a group, each alone; the buffer has room for all of them."""
    postings, memory = scene.postings, scene.memory
    while True:
        record, word = unrefused(record, stop, word, postings.record_head, postings.words, memory.filters[event])
        if record == stop:
            return n
        there = place_of(record, ALL, ALL, word, postings)
        outcome = one(event, postings.words, there.k, there.end, scene.chunk, memory)
        if outcome >= 0:
            derive(outcome, scene.chunk, scene.rows)
            continue
        if outcome == FOUND and has_live_owner(postings.record_owner[record], memory.is_dead):
            store(everywhere(lanes, 0), found.mask, n)
            found.mask[n, event >> 6] = np.uint64(1) << np.uint64(event & 63)
            _write(at, there, word, scene, found, n)
            n += 1
        record, word = record + 1, there.tail


@inlined
def _fetch_ahead(at, groups, masks, postings, memory):  # type: ignore[no-untyped-def]
    """Begin to fetch what the next group begins with, and the masks of the one behind it."""
    last = groups - 1
    group, later = memory.live_group[min(at + 1, last)], min(at + 2, last)
    prefetch(masks, memory.live_row[later])  # type: ignore[no-untyped-call]
    prefetch(masks, postings.group_second[memory.live_group[later]])  # type: ignore[no-untyped-call]
    prefetch(postings.record_head, postings.group_record[group])  # type: ignore[no-untyped-call]
    word, stop = postings.group_word[group], postings.group_word[group + 1]
    for place in range(word, min(stop, word + _FETCHED), LINE):
        prefetch(postings.words, place)  # type: ignore[no-untyped-call]


@inlined
def _is_ranged(word, words):  # type: ignore[no-untyped-def]
    """Return whether the program at a word, which may be empty, begins with an interval."""
    return word < len(words) and words[word] >= 0 and words[word] & INTERVAL != 0


@inlined
def _reach(lanes, masks, p, q, most, start, few):  # type: ignore[no-untyped-def]
    """Fill ``start`` with the events that reach the group, ``few`` with the first of them; return how many there are.

    More than ``most`` count as one more.
    """
    n = 0
    for x in range(len(lanes)):
        bits = masks[p, x] & masks[q, x]
        start[x] = bits
        while bits != np.uint64(0) and n <= most:
            if n < most:
                few[n] = 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
            n += 1
            bits &= bits - np.uint64(1)
    return n


@inlined
def _known(there, clause, scene):  # type: ignore[no-untyped-def]
    """Return whether all plain events get the same from the record at a place, and what."""
    postings, scores = scene.postings, scene.scores
    if clause >= 0:
        return scores.score_plain[clause] == 0, scores.clause_points[clause]
    points = plain_points(there, postings, scene.memory)
    if len(scores.owner_points):
        points += scores.owner_points[first_owner(postings.record_owner[there.record], postings) >> 1]
    return True, points


@inlined
def _write(at, there, word, scene, found, n):  # type: ignore[no-untyped-def]
    """Write hit ``n``, all but its mask."""
    postings = scene.postings
    found.owner[n], found.record[n] = postings.record_owner[there.record], there.record
    found.word[n], found.group[n] = word, at
    clause = np.int64(postings.words[there.end]) if there.kind > LINEAR else np.int64(-1)
    found.clause[n] = clause
    found.known[n], found.points[n] = _known(there, clause, scene)
