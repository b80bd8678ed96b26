"""Columns of numbers in which one number has one spelling: a 64-bit integer where it is one, else a double.

Kernels compute with them, equal numbers are equal bits, and a segment's dictionary spells numbers the same way
(`index.terms.value_bytes`). So -0.0 is the integer 0, and all NaNs are one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.numbers import EXACT, NumberPairs
from schemas.values import INT64_MIN, Number

END = 2.0**63
"""The first double above all 64-bit integers; ``-END`` is one of them."""

Bools = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]


class ExactNumbers(NamedTuple):
    """A column of numbers.

    Attributes
    ----------
    whole
        bool [n], whether the number is a 64-bit integer.
    content
        int64 [n], the integer, else the bits of the double.
    """

    whole: Bools
    content: Int64s

    @classmethod
    def of(cls, values: Sequence[Number]) -> ExactNumbers:
        """Return numbers, none of them a boolean, in columns."""
        if set(map(type, values)) <= {int}:
            return cls(np.ones(len(values), np.bool_), np.array(values, np.int64))
        pairs = NumberPairs.of(values)
        numbers = cls.of_doubles(pairs.double)
        large = np.flatnonzero(pairs.remainder)
        numbers.whole[large] = True
        numbers.content[large] = _truncated(pairs.double[large]) + pairs.remainder[large]
        return numbers

    @classmethod
    def of_doubles(cls, double: Float64s) -> ExactNumbers:
        """Return numbers that are doubles in columns."""
        whole = (np.floor(double) == double) & (double >= -END) & (double < END)
        integer = np.where(whole, double, 0.0).astype(np.int64)
        bits = np.where(double == double, double, math.nan).view(np.int64)
        return cls(whole, np.where(whole, integer, bits))

    def take(self, rows: Int64s | slice) -> ExactNumbers:
        """Return some of the numbers."""
        return ExactNumbers(self.whole[rows], self.content[rows])

    @property
    def double(self) -> Float64s:
        """float64 [n], meant where the number is no 64-bit integer; a view."""
        return self.content.view(np.float64)

    def pairs(self) -> NumberPairs:
        """Return the numbers as kernels compare them."""
        double = np.where(self.whole, self.content.astype(np.float64), self.double)
        remainder = np.zeros(len(double), np.int64)
        large = np.flatnonzero(self.whole & (np.abs(double) >= EXACT))
        remainder[large] = self.content[large] - _truncated(double[large])
        return NumberPairs(double, remainder)

    def to_list(self) -> list[Number]:
        """Return the numbers as Python's."""
        rows = zip(self.whole.tolist(), self.content.tolist(), self.double.tolist(), strict=True)
        return [integer if whole else double for whole, integer, double in rows]


def _truncated(double: Float64s) -> Int64s:
    """Return whole doubles as integers modulo 2**64: 2**63 comes back as -2**63, and differences wrap round again."""
    inside = double < END
    return np.where(inside, np.where(inside, double, 0.0).astype(np.int64), INT64_MIN)
