"""Chooses the order in which a block's events are cut into chunks, and how long those are.

A group is read once for each chunk that reaches it, so a block of several chunks is read less often when events that
are alike share a chunk: sorted by an attribute of which each group wants some value, most groups are reached by one
chunk or two, and chunks end where a value does if that leaves them half full. Which attribute that is follows from a
sample of the records and from how often the block's events set their rows. Where no order spares many reads, as when
each group is reached by some events of any chunk, longer chunks do. Whatever it is, the answers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from index.arrays import group
from index.block.layout import ALL, Float64s, Int32s, Int64s, LadderArrays, PostingArrays, RowArrays, RowKinds
from index.block.masks import Marks
from index.engine import Parts
from index.kernel import kernel

_SAMPLE = 8192
"""So many records are looked at."""

_LEAST_RECORDS = 1024
"""Fewer records than this are read in less time than sorting events takes."""

_LEAST_GAIN = 0.05
"""The share of reads that must be expected to be spared."""


_LONGER = 0.5
"""A read takes longer in a longer chunk, by this power of how much longer: in one of four times the events, twice."""


class Order(NamedTuple):
    """How a block is matched.

    Attributes
    ----------
    event
        int64 [events]: the block's events in the order in which they are matched.
    cuts
        int64 [chunks + 1]: chunk i has those from place ``cuts[i]`` on, up to the next.
    is_arranged
        Whether that is another order than the block's own.
    """

    event: Int64s
    cuts: Int64s
    is_arranged: bool


class Standing(NamedTuple):
    """Where the values of a block's terms stand.

    Attributes
    ----------
    attribute
        int32 [terms]: the term's attribute in the segment, or -1.
    ladder, rank
        int32 [terms]: the ladder of its kind of values, or -1, and its rank there.
    """

    attribute: Int32s
    ladder: Int32s
    rank: Int32s


class _Sample(NamedTuple):
    """The rows under which sampled records are found.

    Attributes
    ----------
    row, attribute, values
        int64 [rows]: the row, `ALL` for what is outside a list; its attribute, or -1; how many values it lists.
    list_start, list_row
        int64: the term rows whose events a row has, by `numpy.add.reduceat`; row 0 where these do not tell.
    ladder, low, high
        int64 [rows]: the interval of ranks whose events a row has; -1 where it is none.
    pair
        int64 [2, records]: a record's p and q, as places among the rows.
    """

    row: Int64s
    attribute: Int64s
    values: Int64s
    list_start: Int64s
    list_row: Int64s
    ladder: Int64s
    low: Int64s
    high: Int64s
    pair: Int64s


class Arrangement:
    """A segment's records as far as they say by which attribute to sort.

    Parameters
    ----------
    parts
        The segment's.
    tags
        int32 [terms]: each term's attribute.
    """

    def __init__(self, parts: Parts, tags: Int32s) -> None:
        self._rows, self._postings = group(RowArrays, parts), group(PostingArrays, parts)
        self._ladders, self._tags = group(LadderArrays, parts), tags
        self._kinds = RowKinds.of(self._rows, self._postings)
        self._set = np.zeros(self._kinds.first_in, np.int64)

    def order(self, marks: Marks, standing: Standing, sizes: Sequence[int]) -> Order:
        """Return how to match a block in chunks of at most one of some sizes, ascending, which is chosen."""
        events = len(marks.offsets) - 1
        wanted, size = self._plan(marks, standing, sizes) if events > sizes[0] else (-1, sizes[0])
        if wanted < 0:
            return as_they_come(events, size)
        key = np.empty(events, np.int64)
        fill_keys(marks, standing, wanted, key)
        event = np.argsort(key, kind="stable")
        return Order(event, cuts_of(key[event], size), True)

    def _plan(self, marks: Marks, standing: Standing, sizes: Sequence[int]) -> tuple[int, int]:
        """Return the attribute to sort by, or -1, and the size."""
        if len(self._postings.record_owner) < _LEAST_RECORDS:
            return -1, sizes[0]
        events, times = len(marks.offsets) - 1, np.bincount(marks.term, minlength=len(marks.term_row))
        share = np.minimum(self._times_set(times, marks, standing) / events, 1.0)
        plans = [self._best_attribute(share, events, size) for size in sizes]
        best = min(range(len(sizes)), key=lambda i: plans[i][1] * (sizes[i] / sizes[0]) ** _LONGER)
        return plans[best][0], sizes[best]

    def _best_attribute(self, share: Float64s, events: int, size: int) -> tuple[int, float]:
        """Return the attribute by which sorting spares most reads, or -1, and how many reads of the sample there are.

        ``share`` of the events have each sampled row.
        """
        sample = self._sample
        p, q = sample.pair
        chunks, size = -(-events // size), min(size, events)
        before = chunks * _reached(share[p] * share[q], size)
        gain = np.zeros(1 + int(sample.attribute.max(initial=0)))
        for one, other in ((p, q), (q, p)):
            # sorted by the attribute of a row, its events fill so many chunks, and are more of each
            filled = np.clip(chunks * share[one] + sample.values[one], 1, chunks)
            after = filled * _reached(np.minimum(share[one] * chunks / filled, 1.0) * share[other], size)
            useful = sample.attribute[one] >= 0
            gain += np.bincount(sample.attribute[one][useful], (before - after)[useful], len(gain))
        best, reads = int(gain.argmax()), float(before.sum())
        return (best, reads - float(gain[best])) if gain[best] > _LEAST_GAIN * reads else (-1, reads)

    def _times_set(self, times: Int64s, marks: Marks, standing: Standing) -> Float64s:
        """Return how many entries of a block set each sampled row, from how many have each of its terms."""
        sample, count, first_in = self._sample, self._set, self._kinds.first_in
        count_rows(times, marks, count)
        listed = np.add.reduceat(count[sample.list_row], sample.list_start)
        found = np.where(sample.row < first_in, count[np.minimum(sample.row, first_in - 1)], listed)
        count_rows(-times, marks, count)
        stands = standing.ladder >= 0
        place = standing.ladder[stands].astype(np.int64) << 32 | standing.rank[stands]
        order = np.argsort(place)
        place, before = place[order], np.concatenate([[0], np.cumsum(times[stands][order])])
        first = np.searchsorted(place, sample.ladder << 32 | sample.low)
        inside = before[np.searchsorted(place, sample.ladder << 32 | sample.high, "right")] - before[first]
        found = np.where(sample.ladder >= 0, inside, found)
        return np.where(sample.row == ALL, np.inf, found)

    @cached_property
    def _sample(self) -> _Sample:
        rows, (first_in, first_range, first_outside, _) = self._rows, self._kinds
        row, pair = np.unique(self._pairs(), return_inverse=True)
        is_in, is_range = (row >= first_in) & (row < first_range), row >= first_range
        listed = [
            1 + rows.in_term[rows.in_start[r - first_in] : rows.in_start[r - first_in + 1]] if i else np.zeros(1, int)
            for r, i in zip(row.tolist(), is_in.tolist(), strict=True)
        ]
        values = np.array([len(some) for some in listed])
        list_row = np.concatenate(listed).astype(np.int64)
        list_start = np.cumsum(values) - values
        attribute = np.full(len(row), -1)
        is_term = (row > ALL) & (row <= len(self._tags))
        attribute[is_term] = self._tags[row[is_term] - 1]
        attribute[is_in] = self._tags[list_row[list_start[is_in]] - 1]
        ranges = row[is_range] - first_range
        of_ladders = self._ladders.number_attribute, self._ladders.text_attribute, rows.member_attribute
        attribute[is_range] = np.concatenate(of_ladders)[rows.range_ladder[ranges]]
        # what is outside a list is most of the events: as good as all of them
        row[row >= first_outside] = ALL
        ladder, low, high = (np.full(len(row), -1) for _ in range(3))
        ladder[is_range], low[is_range], high[is_range] = (
            array[ranges] for array in (rows.range_ladder, rows.range_low, rows.range_high)
        )
        return _Sample(row, attribute, values, list_start, list_row, ladder, low, high, pair.reshape(2, -1))

    def _pairs(self) -> Int64s:
        """Return p and q of records that lie evenly among all, int64 [2, records]."""
        postings, records = self._postings, len(self._postings.record_owner)
        count = min(records, _SAMPLE)
        groups = np.searchsorted(postings.group_record, np.arange(count) * records // count, "right") - 1
        slot = np.searchsorted(postings.group_start, groups, "right") - 1
        posted = np.where(groups < postings.group_start[-1], slot % self._kinds.rows, ALL)
        return np.stack([posted, postings.group_second[groups]])


@lru_cache(maxsize=8)
def as_they_come(events: int, size: int) -> Order:
    """Return a block's own order, in full chunks; events that come one by one ask for the same again and again."""
    return Order(np.arange(events), np.minimum(np.arange(0, events + size, size), events), False)


def cuts_of(key: Int64s, size: int) -> Int64s:
    """Return where chunks of sorted events begin and end: where they are full, or have been half full at a new key."""
    cuts = [0]
    while cuts[-1] + size < len(key):
        full = cuts[-1] + size
        border = int(np.searchsorted(key, key[full]))
        cuts.append(border if 2 * (border - cuts[-1]) >= size else full)
    return np.array([*cuts, len(key)])


def _reached(share: Float64s, size: int) -> Float64s:
    """Return how likely a chunk of ``size`` events has one of those whose share of all this is."""
    found: Float64s = -np.expm1(size * np.log1p(-np.minimum(share, 1.0 - 1e-12)))
    return found


@kernel
def count_rows(times, marks, count):  # type: ignore[no-untyped-def]
    """Add to each row how many entries set it, when a block has so many of each of its terms."""
    for term in range(len(times)):
        count[marks.term_row[term]] += times[term]
        count[marks.exists_row[term]] += times[term]
        for i in range(marks.test_start[term], marks.test_start[term + 1]):
            count[marks.test_row[i]] += times[term]


@kernel
def fill_keys(marks, standing, wanted, key):  # type: ignore[no-untyped-def]
    """Write by what each event is sorted: the rank, then the row of its first value of an attribute; -1 without one."""
    for event in range(len(key)):
        key[event] = -1
        for entry in range(marks.offsets[event], marks.offsets[event + 1]):
            term = marks.term[entry]
            if standing.attribute[term] == wanted:
                key[event] = np.int64(standing.rank[term]) << 32 | np.int64(marks.term_row[term])
                break
