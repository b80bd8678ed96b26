"""Which predicates make an expression true or false whatever the event; none of those that are named can be left out.

Leaving a predicate out means that it holds wherever that helps the expression to be true. What stays false without a
predicate is not false because of it. The normal form is asked each time, so whatever it recognises can be named here.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from index.flat_tree import flat_tree, is_leaf
from index.normal_form import FALSE, TRUE, silenced
from schemas.expression import And, Expression, Not, Or

MOST_LEAVES = 200_000
"""How many leaves are normalised altogether in search of a core, which takes about a second."""


class Core(NamedTuple):
    """Why an expression has one truth for all events.

    Attributes
    ----------
    truth
        Which one.
    leaves
        The predicates as they stand, under a NOT where they are negated; empty when they were not found in time.
    """

    truth: bool
    leaves: tuple[Expression, ...]


def constant_core(expression: Expression) -> Core | None:
    """Return why an expression has one truth for all events; None when it has not, as far as the normal form tells."""
    normal = silenced(expression)
    if normal not in (TRUE, FALSE):
        return None
    holds = normal == TRUE
    places = _places(expression, holds)
    kept = _needed(places, len(places.leaves))
    signed = (places.leaves[place] for place in sorted(kept))
    return Core(holds, tuple(Not(leaf) if negated else leaf for leaf, negated in signed))


class _Places(NamedTuple):
    """The nodes of an expression, arguments after their parents.

    Attributes
    ----------
    nodes
        Each with whether an odd number of NOTs stands over it.
    leaves
        The leaves, each with whether its negation is part of what the expression says.
    opposite
        Whether it is the expression's negation that is false.
    """

    nodes: list[tuple[Expression, bool]]
    leaves: list[tuple[Expression, bool]]
    opposite: bool


def _places(expression: Expression, opposite: bool) -> _Places:
    tree = flat_tree(expression)
    negated: list[bool] = []
    for parent in tree.parents:
        negated.append(parent >= 0 and negated[parent] != isinstance(tree.nodes[parent], Not))
    nodes = list(zip(tree.nodes, negated, strict=True))
    return _Places(nodes, [each for each in nodes if is_leaf(each[0])], opposite)


def _needed(places: _Places, count: int) -> Set[int]:
    """Return leaves without any of which the expression is no longer constant, leaving out ever smaller groups."""
    kept = list(range(count))
    left, size = MOST_LEAVES, (count + 1) // 2
    while size and kept:
        for start in range(0, len(kept), size)[::-1]:
            left -= len(kept)
            if left < 0:
                return set()
            fewer = kept[:start] + kept[start + size :]
            if silenced(_without_others(places, set(fewer))) == (TRUE if places.opposite else FALSE):
                kept = fewer
        size //= 2
    return set(kept)


def _without_others(places: _Places, kept: Set[int]) -> Expression:
    """Return the expression with all leaves but some left out."""
    results: list[Expression] = []
    place = len(places.leaves)
    for node, negated in reversed(places.nodes):
        if isinstance(node, Not):
            results.append(Not(results.pop()))
        elif isinstance(node, And | Or):
            cut = len(results) - len(node.args)
            results[cut:] = [type(node)(tuple(reversed(results[cut:])))]
        else:
            place -= 1
            results.append(node if place in kept else FALSE if negated != places.opposite else TRUE)
    return results.pop()
