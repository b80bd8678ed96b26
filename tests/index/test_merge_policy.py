"""The merge policy as a table: sizes in, merges out; and what must hold for any sizes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.merge_policy import (
    DEAD_SHARE,
    FACTOR,
    INPUTS_LIMIT,
    LEVEL_ZERO,
    MERGED_LIMIT,
    SegmentStat,
    everything,
    plan,
)

Sizes = list[tuple[int, int]]


def stats(sizes: Sizes) -> list[SegmentStat]:
    return [SegmentStat(f"s{i}", count, dead) for i, (count, dead) in enumerate(sizes)]


def plans(sizes: Sizes) -> list[list[int]]:
    return [[int(name[1:]) for name in merge.inputs] for merge in plan(stats(sizes))]


TABLE: list[tuple[str, Sizes, list[list[int]]]] = [
    ("nothing", [], []),
    ("one segment rests", [(5, 0)], []),
    ("seven small ones rest", [(1, 0)] * 7, []),
    ("eight small ones merge", [(1, 0)] * 8, [[0, 1, 2, 3, 4, 5, 6, 7]]),
    ("all of a level merge at once, smallest first", [(9 - i, 0) for i in range(9)], [[8, 7, 6, 5, 4, 3, 2, 1, 0]]),
    ("everything under 1,000 is one level", [(1, 0)] * 4 + [(999, 0)] * 4, [[0, 1, 2, 3, 4, 5, 6, 7]]),
    ("1,000 is the next level", [(1, 0)] * 4 + [(1000, 0)] * 4, []),
    ("a large segment is left alone by small ones", [(10_000_000, 0)] + [(1, 0)] * 8, [[1, 2, 3, 4, 5, 6, 7, 8]]),
    ("two levels due, cheapest first", [(2000, 0)] * 8 + [(1, 0)] * 8, [list(range(8, 16)), list(range(8))]),
    ("levels count live subscriptions", [(9000, 8500)] * 8, [list(range(8))]),
    ("a third dead rests", [(30, 10)], []),
    ("more than a third dead is rewritten", [(30, 11)], [[0]]),
    ("a dead-heavy segment joins the merge of its level", [(30, 20)] + [(1, 0)] * 8, [[1, 2, 3, 4, 5, 6, 7, 8, 0]]),
    ("segments dead as a whole are dropped together", [(5, 5), (7, 0), (9, 9)], [[0, 2]]),
    ("one dead as a whole is dropped beside a merge", [(1, 0)] * 8 + [(3, 3)], [[8], list(range(8))]),
    ("no merge beyond the limit of a host", [(5_000_000, 0)] * 8, []),
    ("segments that are too large to be eight at once merge as many as fit", [(700_000, 0)] * 4, [[0, 1, 2]]),
    ("they wait until there are as many", [(700_000, 0)] * 3, []),
    ("what is full stays as it is", [(700_000, 0), (2_100_000, 0), (2_100_000, 0)], []),
    ("no merge for less than half a full segment", [(600_000, 0), (600_000, 0), (2_400_000, 0)], []),
    ("a large dead-heavy segment is still rewritten", [(20_000_000, 10_000_000)], [[0]]),
]


@pytest.mark.parametrize(("sizes", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_plan(sizes: Sizes, expected: list[list[int]]) -> None:
    assert plans(sizes) == expected


SIZE = st.one_of(st.integers(1, 20), st.integers(1, 20_000_000)).flatmap(
    lambda count: st.tuples(st.just(count), st.integers(0, count))
)


@given(st.lists(SIZE, max_size=100))
def test_merges_are_disjoint_bounded_and_useful(sizes: Sizes) -> None:
    by_name = {stat.name: stat for stat in stats(sizes)}
    inputs = [[by_name[name] for name in merge.inputs] for merge in plan(stats(sizes))]
    names = [stat.name for group in inputs for stat in group]
    assert len(set(names)) == len(names)
    for group in inputs:
        dropped = all(stat.alive == 0 for stat in group)
        rewritten = len(group) == 1 and group[0].dead > DEAD_SHARE * group[0].count
        total = sum(stat.alive for stat in group)
        many = FACTOR <= len(group) <= INPUTS_LIMIT or (len(group) > 1 and total > MERGED_LIMIT / 2)
        assert dropped or rewritten or (many and total <= MERGED_LIMIT)


def carried_out(deltas: list[int]) -> tuple[list[int], Counter[int]]:
    """Add segments one by one and carry out all plans; return the sizes, and how often each delta was rewritten."""
    segments: dict[str, list[int]] = {}
    rewrites: Counter[int] = Counter()

    def size(held: list[int]) -> int:
        return sum(deltas[delta] for delta in held)

    for i in range(len(deltas)):
        segments[f"d{i}"] = [i]
        while due := plan([SegmentStat(name, size(held), 0) for name, held in segments.items()]):
            for merge in due:
                merged = [delta for name in merge.inputs for delta in segments.pop(name)]
                segments["+".join(merge.inputs)] = merged
                rewrites.update(merged)
    return [size(held) for held in segments.values()], rewrites


@given(st.lists(st.integers(1, 30_000), min_size=1, max_size=300))
def test_carrying_out_the_plans_ends_with_few_segments_and_few_rewrites(deltas: list[int]) -> None:
    """The number of segments grows with the logarithm of what they hold, and so does the work."""
    sizes, rewrites = carried_out(deltas)
    written = sum(deltas[delta] * times for delta, times in rewrites.items())
    held = sum(deltas)
    levels = 1
    while LEVEL_ZERO * FACTOR ** (levels - 1) <= held:
        levels += 1
    assert sum(sizes) == held
    assert len(sizes) <= (FACTOR - 1) * levels
    assert written <= held * (levels + FACTOR)


@given(st.lists(st.integers(100_000, 2_000_000), min_size=1, max_size=60))
def test_large_segments_become_full_ones_and_are_not_rewritten_over_and_over(deltas: list[int]) -> None:
    sizes, rewrites = carried_out(deltas)
    assert sum(sizes) == sum(deltas)
    assert max(rewrites.values(), default=0) <= 4
    small = [size for size in sizes if size <= MERGED_LIMIT / 2]
    assert len(small) <= 2 * (FACTOR - 1)


EVERYTHING: list[tuple[str, Sizes, list[list[int]]]] = [
    ("nothing", [], []),
    ("one segment without dead ones is all there is to have", [(5, 0)], []),
    ("one with a dead subscription is rewritten", [(5, 1)], [[0]]),
    ("all become one, whatever their sizes", [(10_000, 0), (1, 0), (100, 99)], [[1, 2, 0]]),
    ("what is dead as a whole goes with them", [(3, 3), (7, 0)], [[0, 1]]),
    ("no segment exceeds the limit", [(MERGED_LIMIT, 0), (MERGED_LIMIT - 1, 0), (1, 0)], [[2, 1]]),
]


@pytest.mark.parametrize(("sizes", "expected"), [row[1:] for row in EVERYTHING], ids=[row[0] for row in EVERYTHING])
def test_everything(sizes: Sizes, expected: list[list[int]]) -> None:
    assert [[int(name[1:]) for name in merge.inputs] for merge in everything(stats(sizes))] == expected
