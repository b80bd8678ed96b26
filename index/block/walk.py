"""Kernels that find all matches of a chunk: pick the groups at hand, then test their records.

The buffer of matches has a fixed size; when it is nearly full the walk stops and the cursor remembers where, so nothing
is ever cut off. The walk scores what is the same for all plain events; the rest is left to `settle`, which is told by
the record.
"""

from __future__ import annotations

import numpy as np

from index.block.bits import lowest_bit
from index.block.kernel import inlined, kernel
from index.block.layout import ALL, KIND_SHIFT, LINEAR
from index.block.masks import derive
from index.block.records import FOUND, many, one, size_of
from index.block.scoring import clause_points, linear_points, plain_points

FEW = 3
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
def walk(lanes, base, chunk, rows, postings, scores, plain, memory, groups, cursor, found):  # type: ignore[no-untyped-def]
    """Write the matches of the listed groups from ``cursor`` on.

    ``lanes`` is a tuple of W numbers: its length is part of its type, so each W has its own unrolled code. ``cursor``
    holds the group, the record and the word to go on at.

    Returns
    -------
    n, late
        The number of matches, and how many of them are listed in ``found.late_match`` for `settle`.
    """
    n, late = 0, 0
    at, record, word = cursor[0], cursor[1], cursor[2]
    while at < groups:
        group = memory.live_group[at]
        stop = postings.group_record[group + 1]
        reached = _reach(
            lanes, chunk.masks, memory.live_row[at], postings.group_second[group], memory.start, memory.few
        )
        if record < 0:
            record, word = np.int64(postings.group_record[group]), np.int64(postings.group_word[group])
            linear = np.int64(postings.record_head[record]) >> KIND_SHIFT <= LINEAR
            if reached <= (FEW_LINEAR if linear else FEW) and n + reached * (stop - record) <= len(found.event):
                for i in range(reached):
                    n, late = _walk_one(
                        memory.few[i],
                        base,
                        at,
                        record,
                        stop,
                        word,
                        chunk,
                        rows,
                        postings,
                        scores,
                        plain,
                        memory,
                        found,
                        n,
                        late,
                    )
                record = np.int64(stop)
        while record < stop:
            if n + 64 * len(lanes) > len(found.event):
                cursor[0], cursor[1], cursor[2] = at, record, word
                return n, late
            here = word
            kind, k, end, word = size_of(np.int64(postings.record_head[record]), postings.words, word)
            outcome = many(lanes, postings.words, k, end, chunk, memory)
            if outcome >= 0:
                derive(outcome, chunk, rows)
                word = here
                continue
            if outcome == FOUND and not memory.is_dead[postings.record_owner[record] >> 1]:
                fixed, points = _known(record, kind, end, word, postings, scores, memory)
                for x in range(len(lanes)):
                    bits = memory.scratch.mask[x]
                    while bits != np.uint64(0):
                        event = base + 64 * x + lowest_bit(bits)  # type: ignore[no-untyped-call]
                        late = _write(event, at, record, here, fixed and plain[event], points, postings, found, n, late)
                        n += 1
                        bits &= bits - np.uint64(1)
            record += 1
        at, record = at + 1, np.int64(-1)
    cursor[0], cursor[1] = at, -1
    return n, late


@inlined
def _walk_one(local, base, at, record, stop, word, chunk, rows, postings, scores, plain, memory, found, n, late):  # type: ignore[no-untyped-def]
    """Write one event's matches among the records of a group; the buffer has room for all of them."""
    while record < stop:
        here = word
        kind, k, end, word = size_of(np.int64(postings.record_head[record]), postings.words, word)
        outcome = one(local, postings.words, k, end, chunk, memory)
        if outcome >= 0:
            derive(outcome, chunk, rows)
            word = here
            continue
        if outcome == FOUND and not memory.is_dead[postings.record_owner[record] >> 1]:
            fixed, points = _known(record, kind, end, word, postings, scores, memory)
            event = base + local
            late = _write(event, at, record, here, fixed and plain[event], points, postings, found, n, late)
            n += 1
        record += 1
    return n, late


@inlined
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


@inlined
def _known(record, kind, end, tail_stop, postings, scores, memory):  # type: ignore[no-untyped-def]
    """Return whether all plain events get the same from a record, and what."""
    if kind > LINEAR:
        clause = postings.words[end]
        return scores.score_plain[clause] == 0, scores.clause_points[clause]
    head = np.int64(postings.record_head[record])
    points = plain_points(kind, head, end, tail_stop, postings.words, memory.codes, postings.weight_table)
    if len(scores.owner_points):
        points += scores.owner_points[postings.record_owner[record] >> 1]
    return True, points


@inlined
def _write(event, at, record, word, known, points, postings, found, n, late):  # type: ignore[no-untyped-def]
    """Write a match, list it when its score is not known, and return how many are listed."""
    found.event[n], found.owner[n], found.points[n] = event, postings.record_owner[record], points
    if not known:
        found.late_match[late], found.late_record[late] = n, record
        found.late_word[late], found.late_group[late] = word, at
        late += 1
    return late


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
