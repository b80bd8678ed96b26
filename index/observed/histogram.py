"""Histograms of numbers: cells of about equal weight that adapt to what they are given, and the shares of ranges."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

Float64s = npt.NDArray[np.float64]

CELLS = 64
"""No two neighbours hold 1 / CELLS of the weight or less together, so there are at most twice as many cells."""


class Histogram(msgspec.Struct, frozen=True, array_like=True):
    """Cells in the order of their lower ends; the weight of a cell is spread evenly from ``low`` to ``high``.

    A value that is heavier than a cell should be has one of its own, with ``low == high``.
    """

    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    weight: tuple[float, ...] = ()

    @classmethod
    def of(cls, numbers: Float64s, weights: Float64s) -> Histogram:
        """Return the histogram of some numbers; those that are not finite are left out."""
        finite = np.isfinite(numbers)
        value, place = np.unique(numbers[finite], return_inverse=True)
        return _joined(value, value, np.bincount(place, weights[finite], len(value)).astype(np.float64))

    def plus(self, other: Histogram) -> Histogram:
        """Return the histogram of both."""
        return _joined(*(np.array(mine + its) for mine, its in zip(_columns(self), _columns(other), strict=True)))

    def scaled(self, factor: float) -> Histogram:
        """Return the histogram with all weights multiplied."""
        return Histogram(self.low, self.high, tuple(factor * weight for weight in self.weight))


def _columns(histogram: Histogram) -> tuple[tuple[float, ...], ...]:
    return histogram.low, histogram.high, histogram.weight


def _joined(low: Float64s, high: Float64s, weight: Float64s) -> Histogram:
    """Join neighbours as long as they hold no more than a cell may."""
    most = float(weight.sum()) / CELLS
    lows: list[float] = []
    highs: list[float] = []
    weights: list[float] = []
    order = np.lexsort((high, low))
    for a, b, w in zip(low[order].tolist(), high[order].tolist(), weight[order].tolist(), strict=True):
        if weights and (weights[-1] + w <= most or lows[-1] == highs[-1] == a == b):
            highs[-1] = max(highs[-1], b)
            weights[-1] += w
        else:
            lows.append(a)
            highs.append(b)
            weights.append(w)
    return Histogram(tuple(lows), tuple(highs), tuple(weights))


class Cumulative:
    """The weight below a number, for many questions about one histogram; linear between the cells' ends."""

    def __init__(self, histogram: Histogram) -> None:
        low, high, weight = (np.array(column, np.float64) for column in _columns(histogram))
        sound = np.isfinite(low) & np.isfinite(high)  # as all that were observed, but not all that a file may hold
        low, high, weight = low[sound], high[sound], weight[sound]
        ends = np.unique(np.concatenate([low, high]))
        point = low == high
        # halves, since the distance between the ends of a cell may be more than the greatest double
        width = high / 2 - low / 2
        width[width == 0] = 1.0
        # cut before it is divided, since the quotient of a far end and a narrow cell may be more than that, too
        inside = np.clip(ends[:, None] / 2 - low / 2, 0.0, width) / width
        below = np.where(point, ends[:, None] > low, inside) @ weight
        upto = np.where(point, ends[:, None] >= low, inside) @ weight
        self._ends: Sequence[float] = ends.tolist()
        self._below: Sequence[float] = below.tolist()
        self._upto: Sequence[float] = upto.tolist()

    def weight(self, number: float, included: bool) -> float:
        """Return the weight of all that is less, or not greater when ``included``."""
        ends = self._ends
        i = bisect_left(ends, number)
        if i == len(ends):
            return self._upto[-1] if ends else 0.0
        if ends[i] == number:
            return self._upto[i] if included else self._below[i]
        if i == 0:
            return 0.0
        width = ends[i] / 2 - ends[i - 1] / 2
        share = (number / 2 - ends[i - 1] / 2) / width if width else 0.0
        return self._upto[i - 1] + share * (self._below[i] - self._upto[i - 1])
