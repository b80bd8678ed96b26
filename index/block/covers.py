"""Covers: a few wide ranges under which records are posted whose own ranges are narrow and many.

A million different ranges would be a million posting lists of one record each, and a mask to fill for each of them. So
the bounds of an attribute's ranges are cut into cells, and a range is posted under the cells that it touches: many
share one list then, which is short enough still, and the range itself is tested where the record stands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from index.block.vocabulary import Inside, Vocabulary

LEAST = 64
"""So many ranges of an attribute are worth it."""

_CELLS = 0.6
"""Times the fourth root of the number of ranges: lists by two attributes then have a few records each."""


def add_covers(vocabulary: Vocabulary, intervals: Iterable[int]) -> dict[int, int]:
    """Add covers to a vocabulary.

    Parameters
    ----------
    vocabulary
        All that subscriptions name.
    intervals
        The predicates of ranges that few literals name.

    Returns
    -------
    covers
        Predicate to the predicate that holds wherever it does, for ranges that have such a one.
    """
    predicates = list(vocabulary.predicates)
    alike: defaultdict[tuple[int, bool], dict[int, Inside]] = defaultdict(dict)
    for number in intervals:
        inside = predicates[number]
        assert isinstance(inside, Inside)
        alike[inside.attribute, inside.text][number] = inside
    covers: dict[int, int] = {}
    for ranges in alike.values():
        if len(ranges) >= LEAST:
            grid = _grid(ranges.values())
            covers |= {number: vocabulary.inside(_cover(inside, grid)) for number, inside in ranges.items()}
    return covers


def _grid(ranges: Collection[Inside]) -> list[Any]:
    """Return some of the ranges' bounds, ascending, the least and the greatest among them."""
    bounds = sorted({bound for inside in ranges for bound in inside.bounds})
    step = max(1, round(len(bounds) / (_CELLS * len(ranges) ** 0.25)))
    return [*bounds[:-1:step], bounds[-1]]


def _cover(inside: Inside, grid: list[Any]) -> Inside:
    """Return the range from the grid's bound at or below this one's to the one at or above it."""
    low = inside.ge if inside.gt is None else inside.gt
    high = inside.le if inside.lt is None else inside.lt
    ge = None if low is None else grid[bisect_right(grid, low) - 1]
    le = None if high is None else grid[bisect_left(grid, high)]
    return Inside(inside.attribute, inside.text, None, ge, None, le)
