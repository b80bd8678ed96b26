"""Arithmetic of derived attributes: exact where the result is a 64-bit integer, else the nearest double.

The result depends on the numbers alone, not on their types: 35 and 35.0 give the same. NaN and infinities give what
IEEE arithmetic says, or None where it has no result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from schemas.values import INT64_MAX, INT64_MIN, Number

_EXACT = 2.0**53
"""Under this magnitude a sum, difference or product of doubles is the nearest double, as promised, in IEEE's hands."""


def add(a: Number, b: Number) -> Number:
    """Return a + b."""
    return _exactly(lambda x, y: x + y, a, b)


def subtract(a: Number, b: Number) -> Number:
    """Return a - b."""
    return _exactly(lambda x, y: x - y, a, b)


def multiply(a: Number, b: Number) -> Number:
    """Return a * b."""
    return _exactly(lambda x, y: x * y, a, b)


def divide(a: Number, b: Number) -> Number:
    """Return a / b, the real quotient; b is not zero."""
    if not math.isfinite(a):
        return a / b
    return _nearest(Fraction(a) / Fraction(b))


def mod(a: Number, b: Number) -> Number | None:
    """Return what is left of a after taking b away as often as it fits, with the sign of a; b is not zero.

    An infinity has no remainder, so None; the remainder of NaN is NaN.
    """
    if isinstance(a, int) and isinstance(b, int):
        left = abs(a) % abs(b)
        return -left if a < 0 else left
    if math.isinf(a):
        return None
    if math.isnan(a):
        return a
    quotient = Fraction(a) / Fraction(b)
    return _nearest(Fraction(a) - Fraction(b) * math.trunc(quotient))


def absolute(a: Number) -> Number:
    """Return |a|."""
    return _fitting(abs(a))


def round_half_away(a: Number) -> Number:
    """Return the nearest integer, of two the one farther from zero."""
    if not math.isfinite(a):
        return a
    half = Fraction(1, 2)
    return _fitting(math.floor(Fraction(a) + half) if a >= 0 else math.ceil(Fraction(a) - half))


def floor(a: Number) -> Number:
    """Return the largest integer that is not above a."""
    return _fitting(math.floor(a)) if math.isfinite(a) else a


def ceil(a: Number) -> Number:
    """Return the smallest integer that is not below a."""
    return _fitting(math.ceil(a)) if math.isfinite(a) else a


def _exactly(operation: Callable[[Any, Any], Any], a: Number, b: Number) -> Number:
    if isinstance(a, float):
        quick: float = operation(a, float(b))
        if not math.isfinite(a) or (isinstance(b, float) and abs(quick) < _EXACT):
            return quick
    return _nearest(operation(Fraction(a), Fraction(b)))


def _nearest(exact: Fraction) -> Number:
    if exact.denominator == 1:
        return _fitting(exact.numerator)
    return _quotient(exact.numerator, exact.denominator)


def _fitting(number: Number) -> Number:
    """Return a number, an integer beyond 64 bits as the nearest double."""
    if isinstance(number, float) or INT64_MIN <= number <= INT64_MAX:
        return number
    return _quotient(number, 1)


def _quotient(a: int, b: int) -> float:
    """Return the double nearest to a / b, which Python's division of integers rounds once."""
    try:
        return a / b
    except OverflowError:
        return math.inf if a > 0 else -math.inf
