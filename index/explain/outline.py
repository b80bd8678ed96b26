"""A tree laid out flat, with the truth of each node and the fewest leaves that would turn it.

Every leaf is turned by itself, an equal leaf elsewhere in the tree not with it. Then what it costs to turn a node
follows from its arguments alone:

* a false AND turns when all of its false arguments do: the sum of what they cost;
* a true AND turns when one argument does: the least that one costs;
* OR is the same with true and false exchanged, and NOT costs what its argument does.

AND() and OR() can't be turned. Nothing recurses by nesting.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from index.flat_tree import flat_tree
from schemas.expression import And, Expression, Leaf, Not, Or

NEVER = math.inf
"""What it costs to turn a node that no leaf can turn."""


class Outline(NamedTuple):
    """A tree's nodes in the order in which they are written, so that a node stands after its parent.

    Attributes
    ----------
    nodes
        The nodes.
    parents
        The place of each node's parent; -1 for the root.
    holds
        Whether each node is true.
    flips
        The fewest leaves that turn each node, `NEVER` when none do.
    """

    nodes: list[Expression]
    parents: list[int]
    holds: list[bool]
    flips: list[float]

    def children(self) -> list[list[int]]:
        """Return the places of each node's arguments, in their order."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(place)
        return found

    def smallest_set(self) -> list[int]:
        """Return the places of the fewest leaves that turn the root; where several sets are as small, the first."""
        if self.flips[0] == NEVER:
            return []
        children = self.children()
        chosen: list[int] = []
        pending = [0]
        while pending:
            place = pending.pop()
            if not isinstance(self.nodes[place], And | Or):
                pending += children[place]  # the argument of a NOT, none of a leaf
                if not children[place]:
                    chosen.append(place)
                continue
            deciding = isinstance(self.nodes[place], Or)
            decided = [child for child in children[place] if self.holds[child] is deciding]
            pending += decided or [min(children[place], key=self.flips.__getitem__)]
        return sorted(chosen)


def outline(expression: Expression, leaf_holds: Callable[[Leaf], bool]) -> Outline:
    """Lay out a tree whose leaves are judged by ``leaf_holds``."""
    nodes, parents = flat_tree(expression)
    size = len(nodes)
    holds, flips = [False] * size, [NEVER] * size
    # Of each connective's arguments: whether one decides it (false for AND, true for OR), what it costs to turn all
    # that do, and the least that it costs to turn one that does not.
    decided, turn_all, turn_one = [False] * size, [0.0] * size, [NEVER] * size
    for place in range(size - 1, -1, -1):
        node = nodes[place]
        if isinstance(node, And | Or):
            holds[place] = decided[place] is isinstance(node, Or)
            flips[place] = turn_all[place] if decided[place] else turn_one[place]
        elif not isinstance(node, Not):
            holds[place], flips[place] = leaf_holds(node), 1
        parent = parents[place]
        if parent < 0:
            continue
        above = nodes[parent]
        if isinstance(above, Not):
            holds[parent], flips[parent] = not holds[place], flips[place]
        elif holds[place] is isinstance(above, Or):
            decided[parent] = True
            turn_all[parent] += flips[place]
        else:
            turn_one[parent] = min(turn_one[parent], flips[place])
    return Outline(nodes, parents, holds, flips)
