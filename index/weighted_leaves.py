"""What of a subscription must hold for a match, and the leaves that have a say in the modes relaxed and threshold."""

from __future__ import annotations

from typing import NamedTuple

from index.normal_form import can_score, normalise, silenced
from index.reduction import reduced
from schemas.expression import And, Expression, In, Keywords, Or
from schemas.records import Subscription
from schemas.values import Value, ValueKey, value_key


class WeightedLeaf(NamedTuple):
    """A leaf of a subscription in mode relaxed or threshold.

    Attributes
    ----------
    node
        Its normal form: a leaf or, as from ``contains_all``, a small tree.
    weight
        Its weight; None where the weights of the ``in`` that ``node`` is say it, or
        those of an AND of such, from ``keywords`` that must all be there.
    """

    node: Expression
    weight: float | None


def truth(subscription: Subscription) -> Expression:
    """Return the normal form of what must hold for the subscription to match; validity is left out.

    In the modes all and relaxed it says just when the subscription matches, in mode threshold more often. In the modes
    relaxed and threshold it is an OR of the weighted leaves, and no score is to be read from it.
    """
    if subscription.mode == "all":
        return normalise(subscription.expression)
    return silenced(Or(tuple(leaf.node for leaf in weighted_leaves(subscription))))


def weighted_leaves(subscription: Subscription) -> list[WeightedLeaf]:
    """Return the leaves that have a say in a subscription of mode relaxed or threshold; those of weight 0 have none."""
    expression = subscription.expression
    leaves = expression.args if isinstance(expression, And | Or) else (expression,)
    return [found for leaf in leaves if (found := _weighted(leaf)) is not None]


def _weighted(leaf: Expression) -> WeightedLeaf | None:
    """Return a leaf with its weight; an ``in`` keeps the values that have one, by the first that each is given."""
    plainer = reduced(leaf)
    if isinstance(plainer, In) and isinstance(leaf, In | Keywords):
        weights = plainer.weights or (1.0,) * len(plainer.values)
        first: dict[ValueKey, tuple[Value, float]] = {}
        for value, points in zip(plainer.values, weights, strict=True):
            first.setdefault(value_key(value), (value, points))
        kept = [(value, points) for value, points in first.values() if points]
        if not kept:
            return None
        values, given = zip(*kept, strict=True)
        return WeightedLeaf(In(plainer.attribute, values, given), None)
    if isinstance(leaf, Keywords):
        node = normalise(plainer, decides=False)
        args = node.args if isinstance(node, And | Or) else (node,)
        return WeightedLeaf(node, None) if any(map(can_score, args)) else None
    weight = getattr(leaf, "weight", None)
    if weight == 0:
        return None
    return WeightedLeaf(normalise(leaf, decides=False), 1.0 if weight is None else weight)
