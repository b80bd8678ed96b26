"""Which nodes of an explanation are drawn: few of each node's arguments, and few of all; what decides goes first.

Of a list of 10,000 predicates a reader wants those that made the answer, and how many others there are.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from schemas.expression import Or

if TYPE_CHECKING:
    from index.explain.explanation import Explanation

SHOWN_LEVELS = 30
"""Deeper ones would be pressed against the right edge."""

SHOWN_ARGUMENTS = 20
"""Of one node."""

SHOWN_NODES = 200
"""Of the tree."""


def drawn_nodes(explanation: Explanation) -> set[int]:
    """Return the places of the nodes that are drawn, each with its parent.

    What leads to a predicate that kept the subscription away comes first, then what is nearer to the root.
    """
    tree = explanation.tree
    children = tree.children()
    leading = _leading(explanation)

    def interest(place: int) -> tuple[bool, bool, bool, int]:
        """Return what sorts the more telling arguments of a node before the others."""
        decides = tree.holds[place] is isinstance(tree.nodes[tree.parents[place]], Or)
        return place not in leading, not _scores(explanation, place), not decides, place

    drawn: set[int] = set()
    pending = [(False, 0, 0)]
    while pending and len(drawn) < SHOWN_NODES:
        _, level, place = heapq.heappop(pending)
        drawn.add(place)
        if level < SHOWN_LEVELS:
            for child in heapq.nsmallest(SHOWN_ARGUMENTS, children[place], key=interest):
                heapq.heappush(pending, (child not in leading, level + 1, child))
    return drawn


def _leading(explanation: Explanation) -> set[int]:
    """Return the places of what kept the subscription away, and of all that they are in."""
    found: set[int] = set()
    for leaf in explanation.missing:
        place = leaf
        while place >= 0 and place not in found:
            found.add(place)
            place = explanation.tree.parents[place]
    return found


def _scores(explanation: Explanation, place: int) -> bool:
    """Return whether a node adds to the score."""
    return explanation.matches and explanation.scores is not None and bool(explanation.scores.counts[place])
