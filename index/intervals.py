"""Ranges as intervals between cuts, unions of intervals, and the texts that a range is the prefix of.

A cut lies just before or just after a value, so that ``gt``, ``ge``, ``lt`` and ``le`` are all half-open intervals, and
two that meet leave nothing out. Numbers of both types are compared exactly, strings by code points.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from schemas.expression import Range
from schemas.texts import prefix_bounds
from schemas.values import Value

Kind: TypeAlias = type[str] | type[float]
"""Of what an interval consists; ``float`` stands for numbers of both types."""

Cut: TypeAlias = tuple[int, Any, int]
"""Rank -1 before everything, 1 after it; between them a value, and whether the cut lies just after it."""

BEFORE_ALL: Cut = (-1, 0, 0)
AFTER_ALL: Cut = (1, 0, 0)


class Interval(NamedTuple):
    """The values of a kind between two cuts."""

    kind: Kind
    low: Cut
    high: Cut

    def covers(self, other: Interval) -> bool:
        """Return whether every value of another interval lies in this one."""
        return self.kind is other.kind and self.low <= other.low and other.high <= self.high

    def meets(self, other: Interval) -> bool:
        """Return whether the two overlap."""
        return self.kind is other.kind and max(self.low, other.low) < min(self.high, other.high)

    @property
    def point(self) -> Value | None:
        """The value that is the only one in here, as far as the cuts tell."""
        value: Value = self.low[1]
        return value if self.low == (0, value, 0) and self.high == (0, value, 1) else None

    @property
    def integral(self) -> bool:
        """Whether an integer lies among these numbers, or an infinity."""
        if self.low[0] or self.high[0] or math.isinf(self.low[1]):
            return True
        first = math.floor(self.low[1]) + 1 if self.low[2] else math.ceil(self.low[1])
        return (0, first, 0) < self.high


TEXTS = Interval(str, (0, "", 0), AFTER_ALL)
"""All strings."""


class Union:
    """The values that lie in one of several intervals.

    Parameters
    ----------
    intervals
        All of one kind.
    """

    def __init__(self, intervals: Iterable[Interval]) -> None:
        self._lows: list[Cut] = []
        self._highs: list[Cut] = []
        for _, low, high in sorted(intervals, key=lambda interval: interval.low):
            if self._highs and low <= self._highs[-1]:
                self._highs[-1] = max(self._highs[-1], high)
            else:
                self._lows.append(low)
                self._highs.append(high)

    def covers(self, interval: Interval) -> bool:
        """Return whether every value of an interval of the same kind lies in here."""
        place = bisect_right(self._lows, interval.low) - 1
        return place >= 0 and interval.high <= self._highs[place]


def interval(leaf: Range) -> Interval | None:
    """Return the values that a range over numbers or strings takes; None where its bounds are of no or of two kinds."""
    bounds = [bound for bound in (leaf.gt, leaf.ge, leaf.lt, leaf.le) if bound is not None]
    kinds: set[Kind] = {str if isinstance(bound, str) else float for bound in bounds}
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    low = TEXTS.low if kind is str else BEFORE_ALL
    if leaf.gt is not None or leaf.ge is not None:
        low = (0, leaf.ge, 0) if leaf.gt is None else (0, leaf.gt, 1)
    high = AFTER_ALL
    if leaf.lt is not None or leaf.le is not None:
        high = (0, leaf.le, 1) if leaf.lt is None else (0, leaf.lt, 0)
    return Interval(kind, low, high)


def point(value: Value) -> Interval | None:
    """Return the interval that holds one value; None for what lies in no range, which booleans and NaN are."""
    if isinstance(value, bool) or value != value:
        return None
    return Interval(str if isinstance(value, str) else float, (0, value, 0), (0, value, 1))


def prefix_of(leaf: Range) -> str | None:
    """Return the text with which exactly the strings in a range begin; None where there is none."""
    if not isinstance(leaf.ge, str) or leaf.le is not None or prefix_bounds(leaf.ge) != (leaf.ge, leaf.lt):
        return None
    return leaf.ge
