"""A tree's nodes laid out flat, so that what walks them does not recurse by nesting."""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

from schemas.expression import And, Expression, Leaf, Not, Or


class FlatTree(NamedTuple):
    """Nodes in the order in which they are written, so that each stands after its parent.

    Walked backwards, each node comes after all that is below it.

    Attributes
    ----------
    nodes
        The nodes; the root is the first.
    parents
        The place of each node's parent; -1 for the root.
    """

    nodes: list[Expression]
    parents: list[int]


def flat_tree(expression: Expression) -> FlatTree:
    """Lay out a tree."""
    nodes: list[Expression] = []
    parents: list[int] = []
    pending = [(expression, -1)]
    while pending:
        node, parent = pending.pop()
        place = len(nodes)
        nodes.append(node)
        parents.append(parent)
        if isinstance(node, And | Or):
            pending += [(arg, place) for arg in reversed(node.args)]
        elif isinstance(node, Not):
            pending.append((node.arg, place))
    return FlatTree(nodes, parents)


def is_leaf(node: Expression) -> TypeGuard[Leaf]:
    """Return whether a node is a predicate."""
    return not isinstance(node, And | Or | Not)
