"""Whether a subscription's mode, its threshold, its shape and its weights go together."""

from __future__ import annotations

from schemas.errors import Refused
from schemas.expression import And, Expression, In, Keywords, Not, NotExists, NotIn, Or
from schemas.limits import digits
from schemas.records import Subscription
from schemas.shares import share_units


def check_mode(subscription: Subscription, path: str) -> None:
    """Check what the modes relaxed and threshold demand of a subscription whose leaves are allowed.

    Parameters
    ----------
    subscription
        The subscription.
    path
        Path of the expression's root in the record.

    Raises
    ------
    Refused
        ``threshold.range``, ``threshold.missing``, ``threshold.without_mode``, ``mode.shape`` or
        ``threshold.weights``.
    """
    _check_threshold(subscription)
    if subscription.mode != "all":
        _check_shape(subscription.expression, subscription.mode, path)
    if subscription.mode == "threshold":
        _check_shares(subscription.expression, path)


def _check_threshold(subscription: Subscription) -> None:
    threshold, mode = subscription.threshold, subscription.mode
    if threshold is not None and not 0 < threshold <= 1:
        raise Refused(
            "threshold.range", f"the threshold is {threshold}, but must be over 0 and at most 1", "$.threshold"
        )
    if threshold is None and mode == "threshold":
        raise Refused(
            "threshold.missing",
            "the mode threshold needs a threshold; give one over 0 and at most 1, the share of the weights to reach",
            "$.threshold",
        )
    if threshold is not None and mode != "threshold":
        raise Refused(
            "threshold.without_mode",
            f'there is a threshold, but the mode is "{mode}", which has none; leave it out, or set the mode threshold',
            "$.threshold",
        )


def _check_shape(expression: Expression, mode: str, path: str) -> None:
    """Check that there is one leaf, or one connective of leaves, and that all of them are positive."""
    cure = f"the mode {mode} takes one predicate, or one and, or one or, of predicates"
    for place, node in _arguments(expression, path):
        if isinstance(node, And | Or):
            raise Refused("mode.shape", f"there is an and or an or inside another; {cure}, so flatten it", place)
        if isinstance(node, Not | NotIn | NotExists):
            raise Refused(
                "mode.shape", f"{node.__struct_config__.tag} can't be satisfied in part; {cure} without negation", place
            )
    if isinstance(expression, And | Or) and not expression.args:
        raise Refused("mode.shape", f"there is no predicate; {cure}", path)


def _check_shares(expression: Expression, path: str) -> None:
    """Check that no weight is negative and that they are not all too small to count."""
    total = 0
    for place, leaf in _arguments(expression, path):
        weights, member = _weights(leaf)
        lowest = min(range(len(weights)), key=weights.__getitem__)
        if weights[lowest] < 0:
            raise Refused(
                "threshold.weights",
                f"the weight {digits(weights[lowest])} is negative; in the mode threshold weights are shares, 0 or "
                "more",
                place + member.format(lowest),
            )
        total += share_units(max(weights))
    if total == 0:
        raise Refused(
            "threshold.weights",
            "all weights are 0, or no more than half a millionth, so no share can be reached; give one predicate more",
            path,
        )


def _weights(leaf: Expression) -> tuple[tuple[float, ...], str]:
    """Return a leaf's weights, 1 for one that is not given, and the path of each, its number left open."""
    if isinstance(leaf, In | Keywords):
        return leaf.weights or (1.0,), ".weights[{}]"
    weight: float | None = getattr(leaf, "weight", None)
    return (1.0 if weight is None else weight,), ".weight"


def _arguments(expression: Expression, path: str) -> list[tuple[str, Expression]]:
    """Return the arguments of the connective at the root, or the root, with their paths."""
    if not isinstance(expression, And | Or):
        return [(path, expression)]
    return [(f"{path}.args[{place}]", node) for place, node in enumerate(expression.args)]
