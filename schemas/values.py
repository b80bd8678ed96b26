"""Values: what an attribute may hold, when two values are one, and the fixed-point grid on which scores are exact."""

from __future__ import annotations

import math
from collections.abc import Iterable

Value = str | bool | int | float
"""A value of an attribute: string, boolean, 64-bit signed integer or IEEE double."""

Number = int | float

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1

WEIGHT_LIMIT = float(2**20)
"""The largest magnitude of one weight, of a subscription or of an event."""

SCORE_SCALE = 2**20
"""Scores are multiples of 1 / SCORE_SCALE; engines hold them as int64 counts of that unit, so sums are exact."""

WEIGHT_SUM_LIMIT = float(2**22)
"""The largest sum of a subscription's weight magnitudes and its priority's.

With event weights up to ``WEIGHT_LIMIT`` a score then stays under 2**62 units, so an int64 sum cannot overflow
in any order of additions.
"""

ValueKey = tuple[str, str | bool | Number]


def value_key(value: Value) -> ValueKey:
    """Return the identity of a value: equal keys are one value.

    Numbers of both types share one kind, so 35 and 35.0 are one value and so are -0.0 and 0; a boolean or a string is
    never a number. Python compares int with float exactly, beyond 2**53 too. NaN equals nothing, itself included, so a
    NaN's key must not be used as a dictionary key to find it again.
    """
    if isinstance(value, bool):
        return ("b", value)
    if isinstance(value, str):
        return ("s", value)
    return ("n", value)


def same_value(a: Value, b: Value) -> bool:
    """Return whether two values are equal under the rules of matching."""
    return value_key(a) == value_key(b)


def distinct_values(values: Iterable[Value]) -> tuple[Value, ...]:
    """Return the values without repetitions, first occurrences in their order; every NaN but the first goes too."""
    seen: set[ValueKey | str] = set()
    kept: list[Value] = []
    for value in values:
        key: ValueKey | str = "nan" if isinstance(value, float) and math.isnan(value) else value_key(value)
        if key not in seen:
            seen.add(key)
            kept.append(value)
    return tuple(kept)


def score_term(event_weight: float, subscription_weight: float) -> int:
    """Return one term of a score, in units of 1 / SCORE_SCALE, rounded half to even.

    The product of the two doubles is rounded once by IEEE arithmetic, scaling by a power of two is exact, and the
    result is rounded to the nearest integer; kernels do the same three steps.
    """
    return round(event_weight * subscription_weight * SCORE_SCALE)
