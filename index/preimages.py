"""Ranges over sums, products and the like as ranges over the attribute below, where both hold for the same values.

What `schemas.arithmetic` makes of x + c, x - c, x * c and x / c is the double nearest to the real result, or the result
itself where that is a 64-bit integer. The two differ beyond 2**53 only, and there they stand on one side of any bound
of smaller magnitude. So such a bound asks for the nearest double alone, which never falls while the result rises; the
values for which it lies inside are an interval, and its ends are found in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from index.numbers import EXACT
from schemas.expression import Derive, Range
from schemas.values import INT64_MAX, Number

_INVERSES: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda result, c: result - c,
    "subtract": lambda result, c: result + c,
    "multiply": lambda result, c: result / c,
    "divide": lambda result, c: result * c,
}


class _End(NamedTuple):
    """An end of an interval of reals, and whether it belongs to it."""

    place: Fraction
    closed: bool

    def turned(self) -> _End:
        """Return the end of the interval with the other sign."""
        return _End(-self.place, self.closed)


def range_below(leaf: Range) -> Range:
    """Return a range over what the leaf's attribute is derived from, or the leaf itself where none says the same."""
    attribute = leaf.attribute
    low = leaf.ge if leaf.gt is None else leaf.gt
    high = leaf.le if leaf.lt is None else leaf.lt
    if not isinstance(attribute, Derive) or attribute.function not in _INVERSES or _is_far(low) or _is_far(high):
        return leaf
    c = attribute.args[0]
    if isinstance(c, str) or c == 0:
        return leaf
    lower = None if low is None else _start(low, leaf.gt is not None)  # type: ignore[arg-type]
    upper = None if high is None else _start(-high, leaf.lt is not None).turned()  # type: ignore[operator]
    inverse = _INVERSES[attribute.function]
    lower, upper = (
        None if end is None else _End(inverse(end.place, Fraction(c)), end.closed) for end in (lower, upper)
    )
    if c < 0 and attribute.function in ("multiply", "divide"):
        lower, upper = upper, lower
    try:
        ge = None if lower is None else _first(lower)
        le = None if upper is None else -_first(upper.turned())
    except OverflowError:  # some of the values are infinities only
        return leaf
    return Range(attribute.of, ge=ge, le=le)


def _is_far(bound: str | Number | None) -> bool:
    """Return whether rounding may carry a result over the bound, or a text is one."""
    return isinstance(bound, str) or (bound is not None and abs(bound) >= EXACT)


def _start(bound: Number, strict: bool) -> _End:
    """Return where the reals begin whose nearest doubles are at least the bound, above it if ``strict``.

    That is half way from the double before; the tie is given to the even one of the two, as division does.
    """
    double = math.nextafter(bound, math.inf) if strict else float(bound)
    middle = (Fraction(math.nextafter(double, -math.inf)) + Fraction(double)) / 2
    return _End(middle, middle.numerator / middle.denominator >= double)


def _first(end: _End) -> Number:
    """Return the first 64-bit integer or finite double of an interval that begins so; OverflowError if none is."""
    place, closed = end
    double = place.numerator / place.denominator
    if double < place or (double == place and not closed):
        double = math.nextafter(double, math.inf)
    integer = math.ceil(place) if closed else math.floor(place) + 1
    if abs(integer) <= INT64_MAX:
        return min(integer, double)
    if math.isinf(double):
        raise OverflowError
    return double
