"""From the leaves of a subscription in mode relaxed or threshold to the nodes by which its one clause scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from index.block.nodes import Branch, Constant, Node, Test
from index.weighted_leaves import WeightedLeaf, weighted_leaves
from schemas.expression import And, Expression, In, Or
from schemas.records import Subscription
from schemas.shares import share_units, share_wanted
from schemas.values import score_term

NodeOf = Callable[[Expression], Node]
"""Makes the node of an expression."""


class Weighing(NamedTuple):
    """How a clause scores: the sum of the nodes that are true.

    Attributes
    ----------
    nodes
        What is summed.
    needed, possible
        In mode threshold the least sum that matches and the largest that there is, in units of 1 / SHARE_SCALE as the
        nodes then score; 0 and 0 in mode relaxed.
    """

    nodes: list[Node]
    needed: int
    possible: int


def weighing(subscription: Subscription, node_of: NodeOf) -> Weighing | None:
    """Return how the clause of a subscription scores, None in mode all."""
    if subscription.mode == "all":
        return None
    leaves = weighted_leaves(subscription)
    if subscription.mode == "relaxed":
        return Weighing([_relaxed(leaf, node_of) for leaf in leaves], 0, 0)
    assert subscription.threshold is not None
    possible = sum(_largest(leaf) for leaf in leaves)
    share = share_wanted(subscription.threshold)
    needed = -(-share.numerator * possible // share.denominator)
    return Weighing([_share(leaf, node_of) for leaf in leaves], needed, possible)


def _relaxed(leaf: WeightedLeaf, node_of: NodeOf) -> Node:
    if leaf.weight is None:
        return node_of(leaf.node)
    return _worth(node_of(leaf.node), score_term(1.0, leaf.weight))


def _share(leaf: WeightedLeaf, node_of: NodeOf) -> Node:
    """Return what the leaf contributes: of an ``in`` the largest weight among the values at hand."""
    if leaf.weight is not None or not isinstance(leaf.node, In):
        return _worth(_weightless(node_of(leaf.node)), _largest(leaf))
    values: dict[int, list[int]] = {}
    for place, weight in enumerate(_weights(leaf.node)):
        values.setdefault(share_units(weight), []).append(place)
    parts = [
        _worth(
            _weightless(node_of(In(leaf.node.attribute, tuple(leaf.node.values[place] for place in places)))),
            points,
        )
        for points, places in values.items()
    ]
    return parts[0] if len(parts) == 1 else Branch(False, list(parts), True)


def _worth(node: Node, points: int) -> Branch:
    """Return a branch that is true where the node is and then scores so much."""
    return Branch(True, [node, Constant(points)], True)


def _weightless(node: Node) -> Node:
    """Return the node with nothing in it that scores."""
    if isinstance(node, Test):
        return Test(node.literal, -1)
    if isinstance(node, Branch):
        return Branch(node.conjunction, [_weightless(arg) for arg in node.args], False)
    return node


def _largest(leaf: WeightedLeaf) -> int:
    """Return the weight of a leaf in units of 1 / SHARE_SCALE; that of several values or words is the largest."""
    if leaf.weight is not None:
        return share_units(leaf.weight)
    found: list[Expression] = list(leaf.node.args) if isinstance(leaf.node, And | Or) else [leaf.node]
    return max(share_units(weight) for node in found if isinstance(node, In) for weight in _weights(node))


def _weights(node: In) -> tuple[float, ...]:
    return node.weights or (1.0,) * len(node.values)
