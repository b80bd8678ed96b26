"""Whether an expression or a subscription is allowed: its size, its leaves, its mode; refusals carry their path."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.check_leaf import check_leaf
from schemas.check_mode import check_mode
from schemas.check_parts import check_weight
from schemas.errors import Refused
from schemas.expression import And, Expression, Leaf, Not, Or
from schemas.limits import DEFAULT_LIMITS, Limits, digits
from schemas.records import Mode, Subscription
from schemas.trails import ROOT, Trail, spell
from schemas.values import WEIGHT_SUM_LIMIT

__all__ = ["DEFAULT_LIMITS", "Limits", "check_expression", "check_subscription"]


def check_subscription(
    subscription: Subscription,
    limits: Limits = DEFAULT_LIMITS,
    path: str = "$.expression",
    magnitude: float | None = None,
) -> None:
    """Check everything of a subscription.

    Parameters
    ----------
    subscription
        The subscription.
    limits
        What it may hold.
    path
        Path of the expression's root in the record.
    magnitude
        The sum of the magnitudes of the expression's weights when that has been checked, None when it has not.

    Raises
    ------
    Refused
        The first thing that is not allowed, with its code and path.
    """
    total = _check_tree(subscription.expression, limits, path, subscription.mode) if magnitude is None else magnitude
    check_mode(subscription, path)
    check_weight(subscription.priority, "$.priority")
    total += abs(subscription.priority)
    if total > WEIGHT_SUM_LIMIT:
        raise Refused(
            "weights.sum",
            f"the weights and the priority add up to {digits(total)} in magnitude, each one left out counting 1; "
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
    """Check a tree: its size and its leaves. AND and OR of nothing are allowed; what a mode demands is not checked.

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
    _check_tree(expression, limits, path, None)


def _check_tree(expression: Expression, limits: Limits, path: str, mode: Mode | None) -> float:
    """Check a tree and return the sum of its weights' magnitudes, 1 for each that may be given and is not."""
    total = 0.0
    for count, (node, trail) in enumerate(_leaves(expression, limits, path), 1):
        if count > limits.leaves:
            raise Refused(
                "expression.too_many_leaves",
                f"the expression has more than {limits.leaves:,} predicates (setting limits.leaves); join values of "
                "one attribute in one list, or split the subscription",
                spell(trail, path),
            )
        try:
            total += check_leaf(node, limits, mode)
        except Refused as refused:
            raise Refused(refused.code, refused.message, spell(trail, path) + refused.path) from None
    return total


def _leaves(expression: Expression, limits: Limits, path: str) -> Iterator[tuple[Leaf, Trail]]:
    """Yield the leaves as written, with their trails; refuse the connective that stands inside too many others."""
    stack: list[tuple[Expression, Trail, int]] = [(expression, ROOT, 0)]
    while stack:
        node, trail, depth = stack.pop()
        if depth >= limits.depth and _joins(node):
            raise Refused(
                "expression.too_deep",
                f"the expression is nested deeper than {limits.depth} levels (setting limits.depth); flatten ANDs in "
                "ANDs and ORs in ORs",
                spell(trail, path),
            )
        if isinstance(node, (And, Or)):
            places = range(len(node.args) - 1, -1, -1)
            stack.extend((node.args[place], (trail, place), depth + 1) for place in places)
        elif isinstance(node, Not):
            stack.append((node.arg, (trail, -1), depth + 1))
        else:
            yield node, trail


def _joins(node: Expression) -> bool:
    """Return whether a node is a connective with something in it: AND and OR of nothing are as good as predicates."""
    return isinstance(node, Not) or (isinstance(node, And | Or) and bool(node.args))
