"""Whether the parts that leaves share are allowed: attributes, lists of values, weights, pairs of bounds.

Paths in refusals are relative to the leaf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from schemas.derived import check_function
from schemas.errors import Refused
from schemas.expression import Attribute, Derive, Range, Version
from schemas.limits import Limits, digits, integer_range, name_too_long, reserved_name, shown
from schemas.values import INT64_MAX, INT64_MIN, WEIGHT_LIMIT, Number, Value, ValueKey

MAX_DERIVE_DEPTH = 8
"""Functions of functions."""

Bound = tuple[Any, str]
"""A bound and the name of its member."""


def check_attribute(attribute: Attribute, limits: Limits) -> None:
    """Check a name, or a chain of functions down to a name."""
    path = ".attribute"
    if isinstance(attribute, Derive):
        attribute, path = _check_functions(attribute, path)
    if len(attribute) > limits.attribute_length:
        raise name_too_long(attribute, limits, path)
    if attribute.startswith("\0"):
        raise reserved_name(attribute, path)


def _check_functions(attribute: Attribute, path: str) -> tuple[str, str]:
    """Check a chain of functions and return the name at its end, with its path."""
    depth = 0
    while isinstance(attribute, Derive):
        depth += 1
        if depth > MAX_DERIVE_DEPTH:
            raise Refused(
                "derive.too_deep",
                f"more than {MAX_DERIVE_DEPTH} functions are applied one to another; apply fewer",
                path,
            )
        check_function(attribute.function, attribute.args, path)
        attribute = attribute.of
        path += ".of"
    return attribute, path


def check_list(values: Sequence[object], limits: Limits, path: str, what: str, cure: str) -> None:
    """Check that a list of ``what`` has something in it and not too much; ``cure`` is what to do with a longer one."""
    if not values:
        raise Refused("value.empty_list", f"the list of {what}s is empty; list at least one {what}", path)
    if len(values) > limits.list_length:
        raise Refused(
            "value.list_too_long",
            f"the list has {len(values):,} {what}s; at most {limits.list_length:,} are allowed "
            f"(setting limits.list_length), so {cure}",
            path,
        )


def check_values(values: tuple[Value, ...], limits: Limits, cure: str) -> None:
    """Check a list of values and each of its numbers; ``cure`` as in `check_list`."""
    check_list(values, limits, ".values", "value", cure)
    for place, value in enumerate(values):
        if not isinstance(value, str):
            check_number(value, f".values[{place}]")


def check_number(value: bool | Number, path: str) -> None:
    """Check that a number is finite, and that an integer fits into 64 bits."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Refused("value.not_finite", f"{value} is no finite number, which no value can equal or bound", path)
    elif not INT64_MIN <= value <= INT64_MAX:
        raise integer_range(value, path)


def check_weights(values: Sequence[Value], weights: tuple[float, ...] | None, key: Callable[[Any], ValueKey]) -> float:
    """Check one weight a value and return the sum of their magnitudes; without weights each value counts 1."""
    if weights is None:
        return float(len(values))
    if len(weights) != len(values):
        raise Refused(
            "weights.length",
            f"values: {len(values):,}, weights: {len(weights):,}; give one weight a value, in the same order",
            ".weights",
        )
    known: dict[ValueKey, float] = {}
    total = 0.0
    for place, (value, weight) in enumerate(zip(values, weights, strict=True)):
        check_weight(weight, f".weights[{place}]")
        if known.setdefault(key(value), weight) != weight:
            raise Refused(
                "weights.conflict",
                f"{shown(value)} is listed twice with two weights, {digits(known[key(value)])} and {digits(weight)}; "
                "list it once (numbers that are equal are one value, also when one is an integer and the other a "
                "float; keywords are one whatever their case)",
                f".weights[{place}]",
            )
        total += abs(weight)
    return total


def check_weight(weight: float, path: str) -> None:
    """Check one weight, or the priority."""
    if not abs(weight) <= WEIGHT_LIMIT:  # true for NaN too
        raise Refused(
            "weights.range",
            f"the weight {digits(weight)} is not allowed; weights and the priority go from {-WEIGHT_LIMIT:,.0f} to "
            f"{WEIGHT_LIMIT:,.0f}",
            path,
        )


def given_bounds(leaf: Range | Version) -> tuple[Bound | None, Bound | None]:
    """Return the lower and the upper bound that a leaf gives, at most one of each."""
    return _one_bound(leaf.gt, leaf.ge, "gt", "ge"), _one_bound(leaf.lt, leaf.le, "lt", "le")


def _one_bound(strict: Any, closed: Any, strict_name: str, closed_name: str) -> Bound | None:
    if strict is None:
        return None if closed is None else (closed, closed_name)
    if closed is None:
        return strict, strict_name
    raise Refused(
        "range.two_bounds",
        f"the range has two bounds on one side, {strict_name} and {closed_name}; keep one",
        f".{closed_name}",
    )


def check_order(lower: Bound, upper: Bound, key: Callable[[Any], Any]) -> None:
    """Check that a value can lie between two bounds, compared by a key."""
    low, high = key(lower[0]), key(upper[0])
    if low > high or (low == high and (lower[1], upper[1]) != ("ge", "le")):
        raise Refused(
            "range.inverted",
            f"no value can satisfy {lower[1]} {lower[0]!r:.60} and {upper[1]} {upper[0]!r:.60}; exchange the bounds, "
            "or use ge and le for a single value",
            f".{upper[1]}",
        )
