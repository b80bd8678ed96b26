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
        double = _nearest(values)
        remainder = np.zeros(len(values), np.int64)
        for i in np.flatnonzero(np.abs(double) >= EXACT).tolist():
            value = values[i]
            if isinstance(value, int):
                remainder[i] = value - int(double[i])
        return cls(double, remainder)


def _nearest(values: Sequence[Value]) -> npt.NDArray[np.float64]:
    """Convert all values at once; what is no number first becomes NaN, since numpy would read numbers out of texts."""
    types = set(map(type, values))
    numbers = {of for of in types if issubclass(of, int | float) and of is not bool}
    if not numbers:
        return np.full(len(values), math.nan)
    if len(numbers) < len(types):
        values = [value if type(value) in numbers else math.nan for value in values]
    return np.array(values, np.float64)
