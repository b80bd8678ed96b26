"""Whether an expression or a subscription is allowed: limits, values, weights, ranges; refusals carry their path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from schemas.errors import Refused
from schemas.expression import And, Expression, In, Leaf, Not, NotIn, Or, Range
from schemas.limits import DEFAULT_LIMITS, Limits, integer_range, name_too_long, reserved_name
from schemas.records import Subscription
from schemas.values import INT64_MAX, INT64_MIN, WEIGHT_LIMIT, WEIGHT_SUM_LIMIT, Number, Value, ValueKey, value_key

__all__ = ["DEFAULT_LIMITS", "Limits", "check_expression", "check_subscription"]

Bound = str | Number | None

Trail = tuple["Trail | None", int]
"""Way to a node: its parent's trail and its place in ``args``, -1 for ``arg``; spelled as a path on refusal only."""

ROOT: Trail = (None, 0)


def check_subscription(subscription: Subscription, limits: Limits = DEFAULT_LIMITS, path: str = "$.expression") -> None:
    """Check everything of a subscription but its mode, which its codec knows.

    Parameters
    ----------
    subscription
        The subscription.
    limits
        What it may hold.
    path
        Path of the expression's root in the record.

    Raises
    ------
    Refused
        The first thing that is not allowed, with its code and path.
    """
    total = _check_tree(subscription.expression, limits, path)
    _check_weight(subscription.priority, "$.priority")
    total += abs(subscription.priority)
    if total > WEIGHT_SUM_LIMIT:
        raise Refused(
            "weights.sum",
            f"the weights and the priority add up to {total:g} in magnitude, a value without a weight counting 1; "
            f"keep the sum at or under {WEIGHT_SUM_LIMIT:,.0f}, for example by scaling all of them down",
            "$",
        )
    start, end = subscription.not_before, subscription.not_after
    if start is not None and end is not None and start > end:
        raise Refused(
            "validity.inverted",
            "not_before is later than not_after, so the subscription could never match; exchange them or drop one",
            "$.not_after",
        )
    size = sum(len(name.encode()) + len(label.encode()) for name, label in subscription.labels.items())
    if size > limits.label_bytes:
        raise Refused(
            "labels.too_large",
            f"the labels have {size:,} bytes; every notification repeats them, so at most {limits.label_bytes:,} are "
            "allowed (setting limits.label_bytes)",
            "$.labels",
        )


def check_expression(expression: Expression, limits: Limits = DEFAULT_LIMITS, path: str = "$.expression") -> None:
    """Check a tree: its size, names, values, weights and ranges. AND and OR of nothing are allowed.

    Parameters
    ----------
    expression
        Any tree, however deep: the walk does not recurse.
    limits
        What it may hold.
    path
        Path of the tree's root in the record, to which paths in refusals are added.

    Raises
    ------
    Refused
        The first thing that is not allowed, in the order in which the tree is written.
    """
    _check_tree(expression, limits, path)


def _check_tree(expression: Expression, limits: Limits, path: str) -> float:
    """Check a tree and return the sum of its weights' magnitudes, 1 for a value without a weight."""
    total = 0.0
    for count, (node, trail) in enumerate(_leaves(expression, limits, path), 1):
        if count > limits.leaves:
            raise Refused(
                "expression.too_many_leaves",
                f"the expression has more than {limits.leaves:,} predicates (setting limits.leaves); join values of "
                "one attribute in one list, or split the subscription",
                _spell(trail, path),
            )
        try:
            total += _check_leaf(node, limits)
        except Refused as refused:
            raise Refused(refused.code, refused.message, _spell(trail, path) + refused.path) from None
    return total


def _leaves(expression: Expression, limits: Limits, path: str) -> Iterator[tuple[Leaf, Trail]]:
    """Yield the leaves as written, with their trails; refuse what is too deep. A leaf alone has depth 1."""
    stack: list[tuple[Expression, Trail, int]] = [(expression, ROOT, 1)]
    while stack:
        node, trail, depth = stack.pop()
        if depth > limits.depth:
            raise Refused(
                "expression.too_deep",
                f"the expression is nested deeper than {limits.depth} levels (setting limits.depth); flatten ANDs in "
                "ANDs and ORs in ORs",
                _spell(trail, path),
            )
        if isinstance(node, (And, Or)):
            places = range(len(node.args) - 1, -1, -1)
            stack.extend((node.args[place], (trail, place), depth + 1) for place in places)
        elif isinstance(node, Not):
            stack.append((node.arg, (trail, -1), depth + 1))
        else:
            yield node, trail


def _check_leaf(leaf: Leaf, limits: Limits) -> float:
    """Check one leaf, with paths relative to it, and return the magnitude of its weights."""
    _check_name(leaf.attribute, limits)
    if isinstance(leaf, (In, NotIn)):
        _check_values(leaf.values, limits)
    if isinstance(leaf, In):
        return float(len(leaf.values)) if leaf.weights is None else _check_weights(leaf.values, leaf.weights)
    if isinstance(leaf, Range):
        _check_range(leaf)
    return 0.0


def _check_name(name: str, limits: Limits) -> None:
    if len(name) > limits.attribute_length:
        raise name_too_long(name, limits, ".attribute")
    if name.startswith("\0"):
        raise reserved_name(name, ".attribute")


def _check_values(values: tuple[Value, ...], limits: Limits) -> None:
    if not values:
        raise Refused("value.empty_list", "the list of values is empty; list at least one value", ".values")
    if len(values) > limits.list_length:
        raise Refused(
            "value.list_too_long",
            f"the list has {len(values):,} values; at most {limits.list_length:,} are allowed "
            "(setting limits.list_length), so split it over several predicates joined by or",
            ".values",
        )
    for place, value in enumerate(values):
        if not isinstance(value, str):
            _check_number(value, f".values[{place}]")


def _check_number(value: bool | Number, path: str) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Refused("value.not_finite", f"{value} is no finite number, which no value can equal or bound", path)
    elif not INT64_MIN <= value <= INT64_MAX:
        raise integer_range(value, path)


def _check_weights(values: tuple[Value, ...], weights: tuple[float, ...]) -> float:
    if len(weights) != len(values):
        raise Refused(
            "weights.length",
            f"there are {len(values)} values and {len(weights)} weights; give one weight a value, in the same order",
            ".weights",
        )
    known: dict[ValueKey, float] = {}
    total = 0.0
    for place, (value, weight) in enumerate(zip(values, weights, strict=True)):
        _check_weight(weight, f".weights[{place}]")
        if known.setdefault(value_key(value), weight) != weight:
            raise Refused(
                "weights.conflict",
                f"{value!r:.60} is listed twice with two weights, {known[value_key(value)]:g} and {weight:g}; list it "
                "once (numbers that are equal are one value, also when one is an integer and the other a float)",
                f".weights[{place}]",
            )
        total += abs(weight)
    return total


def _check_weight(weight: float, path: str) -> None:
    if not abs(weight) <= WEIGHT_LIMIT:  # true for NaN too
        raise Refused(
            "weights.range",
            f"the weight {weight:g} is not allowed; weights and the priority go from {-WEIGHT_LIMIT:,.0f} to "
            f"{WEIGHT_LIMIT:,.0f}",
            path,
        )


def _check_range(leaf: Range) -> None:
    lower = _one_bound(leaf.gt, leaf.ge, "gt", "ge")
    upper = _one_bound(leaf.lt, leaf.le, "lt", "le")
    if lower is None and upper is None:
        raise Refused("range.no_bound", "the range has no bound; give gt, ge, lt or le, or ask for exists", "")
    if lower is not None and upper is not None:
        _check_order(lower, upper)


def _one_bound(strict: Bound, closed: Bound, strict_name: str, closed_name: str) -> tuple[str | Number, str] | None:
    """Return the bound that is given on one side, checked, with its name."""
    if strict is not None and closed is not None:
        raise Refused(
            "range.two_bounds",
            f"the range has two bounds on one side, {strict_name} and {closed_name}; keep one",
            f".{closed_name}",
        )
    bound, name = (closed, closed_name) if strict is None else (strict, strict_name)
    if bound is None:
        return None
    if isinstance(bound, bool):
        raise Refused(
            "range.type",
            "a bound is a boolean; bounds are numbers or strings, ask for a boolean with in",
            f".{name}",
        )
    if not isinstance(bound, str):
        _check_number(bound, f".{name}")
    return bound, name


def _check_order(lower: tuple[Any, str], upper: tuple[Any, str]) -> None:
    low, low_name = lower
    high, high_name = upper
    if isinstance(low, str) != isinstance(high, str):
        raise Refused(
            "range.type",
            f"one bound is a string and the other a number ({low!r:.60} and {high!r:.60}); no value can lie between "
            "them, so give two numbers or two strings",
            f".{high_name}",
        )
    if low > high or (low == high and (low_name, high_name) != ("ge", "le")):
        raise Refused(
            "range.inverted",
            f"no value can satisfy {low_name} {low!r:.60} and {high_name} {high!r:.60}; exchange the bounds, or use "
            "ge and le for a single value",
            f".{high_name}",
        )


def _spell(trail: Trail, path: str) -> str:
    """Return a trail as text, after the path of the root."""
    steps: list[str] = []
    parent, place = trail
    while parent is not None:
        steps.append(".arg" if place < 0 else f".args[{place}]")
        parent, place = parent
    return path + "".join(reversed(steps))
