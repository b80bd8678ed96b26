"""Numbers that compare exactly across 64-bit integers and doubles, as pairs that kernels can compare.

A number x becomes (nearest double d, x - d). Rounding to the nearest never turns an order round, and two numbers with
one nearest double differ by their remainders, which are small integers; so the pairs' lexicographic order is the
numbers' order. A double is its own nearest double, with remainder 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schemas.values import Value

EXACT = 2**53
"""Integers up to this magnitude are doubles."""


@dataclass(frozen=True, eq=False)
class NumberPairs:
    """A column of numbers.

    Attributes
    ----------
    double
        float64 [n], the nearest double; NaN where the value is no number.
    remainder
        int64 [n], what the double lacks; 0 but for integers beyond `EXACT`.
    """

    double: npt.NDArray[np.float64]
    remainder: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: Sequence[Value]) -> NumberPairs:
        """Return the values in columns."""
        double = np.fromiter((_nearest(value) for value in values), np.float64, len(values))
        remainder = np.zeros(len(values), np.int64)
        for i in np.flatnonzero(np.abs(double) >= EXACT).tolist():
            value = values[i]
            if isinstance(value, int):
                remainder[i] = value - int(double[i])
        return cls(double, remainder)


def _nearest(value: Value) -> float:
    return math.nan if isinstance(value, bool | str) else float(value)
