"""Where a score comes from: what each node of a true tree scores, which branch of an OR counts, each leaf's terms."""

from __future__ import annotations

from typing import NamedTuple

from index.explain.outline import Outline
from index.flat_tree import is_leaf
from index.oracle import leaf_score, leaf_terms
from schemas.expression import And, In, Keywords, Leaf, Not, Or
from schemas.records import Event
from schemas.values import Value, score_term


class Term(NamedTuple):
    """One term of a score: a value that the event has and the leaf lists.

    Attributes
    ----------
    value
        The value, or token.
    event_weight, weight
        The two factors.
    points
        Their product on the grid of scores, in units of 1 / SCORE_SCALE.
    """

    value: Value
    event_weight: float
    weight: float
    points: int


class Scores(NamedTuple):
    """What the nodes of an outline score in mode all.

    Attributes
    ----------
    points
        In units of 1 / SCORE_SCALE; None for a false node and for all that stands under a NOT.
    counts
        Whether what a node scores is part of the root's score.
    """

    points: list[int | None]
    counts: list[bool]


def terms(leaf: Leaf, event: Event) -> tuple[Term, ...]:
    """Return the terms by which a leaf scores; they sum to `index.oracle.leaf_score` when it holds."""
    if not isinstance(leaf, In | Keywords):
        return ()
    return tuple(
        Term(value, event_weight, weight, score_term(event_weight, weight))
        for value, event_weight, weight in leaf_terms(leaf, event)
    )


def tree_scores(tree: Outline, event: Event) -> Scores:
    """Score every node: AND adds, OR takes the best true branch, the first of those that are as good."""
    size = len(tree.nodes)
    points: list[int | None] = [None] * size
    best = [-1] * size
    silent = _under_not(tree)
    for place in range(size - 1, -1, -1):
        node, parent = tree.nodes[place], tree.parents[place]
        if silent[place] or not tree.holds[place]:
            continue
        if is_leaf(node):
            points[place] = leaf_score(node, event)
        scored = points[place] = points[place] or 0
        if parent < 0 or not tree.holds[parent]:
            continue
        if isinstance(tree.nodes[parent], And):
            points[parent] = (points[parent] or 0) + scored
        elif isinstance(tree.nodes[parent], Or) and (best[parent] < 0 or scored >= (points[parent] or 0)):
            points[parent], best[parent] = scored, place
    counts = [points[0] is not None] * size
    for place in range(1, size):
        parent = tree.parents[place]
        chosen = best[parent] == place or not isinstance(tree.nodes[parent], Or)
        counts[place] = counts[parent] and points[place] is not None and chosen
    return Scores(points, counts)


def _under_not(tree: Outline) -> list[bool]:
    """Return of each node whether a NOT stands above it."""
    under = [False] * len(tree.nodes)
    for place in range(1, len(tree.nodes)):
        parent = tree.parents[place]
        under[place] = under[parent] or isinstance(tree.nodes[parent], Not)
    return under
