"""The oracle: what a subscription means, evaluated one event at a time, slow and obvious; every engine is held to it.

What single leaves mean is in `index.oracle_leaves`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import cast

from index.oracle_leaves import leaf_holds, leaf_score, leaf_terms, leaf_values, relaxed_score, threshold_shares
from schemas.expression import And, Expression, Leaf, Not, Or
from schemas.records import Event, Subscription
from schemas.shares import share_wanted
from schemas.values import SCORE_SCALE, score_term

__all__ = [
    "as_score",
    "best_matches",
    "leaf_holds",
    "leaf_score",
    "leaf_terms",
    "leaf_values",
    "match_subscription",
    "matches",
    "relaxed_score",
    "score",
    "threshold_shares",
]


def matches(expression: Expression, event: Event) -> bool:
    """Return whether the expression is true for the event."""
    return _evaluate(expression, event) is not None


def score(expression: Expression, event: Event) -> int:
    """Return the score of an expression in mode all, in units of 1 / SCORE_SCALE; 0 when it is false.

    AND adds, OR takes the best true branch, nothing under a NOT scores.
    """
    return _evaluate(expression, event) or 0


def match_subscription(subscription: Subscription, event: Event) -> int | None:
    """Return the score of the subscription for the event, in units of 1 / SCORE_SCALE, or None when it does not match.

    Validity is compared with the event time; an event without a time meets no bound.
    """
    if subscription.not_before is not None and not (event.time is not None and event.time >= subscription.not_before):
        return None
    if subscription.not_after is not None and not (event.time is not None and event.time <= subscription.not_after):
        return None
    if subscription.mode == "relaxed":
        points = _relaxed(_leaves(subscription.expression), event)
    elif subscription.mode == "threshold":
        assert subscription.threshold is not None
        points = _threshold(_leaves(subscription.expression), event, subscription.threshold)
    else:
        points = _evaluate(subscription.expression, event)
    return None if points is None else points + score_term(1.0, subscription.priority)


def best_matches(subscriptions: Iterable[Subscription], event: Event, top: int | None = None) -> list[tuple[str, int]]:
    """Return (id, score) of the matching subscriptions, score falling, ties by id rising; the first ``top`` of them.

    Ids compare by code points. ``top`` None means all of them.
    """
    found = []
    for subscription in subscriptions:
        points = match_subscription(subscription, event)
        if points is not None:
            found.append((subscription.id, points))
    found.sort(key=lambda pair: (-pair[1], pair[0]))
    return found if top is None else found[:top]


def as_score(points: int) -> float:
    """Return a score in units of 1 / SCORE_SCALE as the double that notifications carry."""
    return points / SCORE_SCALE


def _evaluate(expression: Expression, event: Event) -> int | None:
    """Return the score of a true expression, None of a false one, however deep it is nested."""
    results: list[int | None] = []
    for node in _arguments_first(expression):
        match node:
            case And(args):
                points = _take(results, len(args))
                results.append(None if None in points else sum(p for p in points if p is not None))
            case Or(args):
                points = _take(results, len(args))
                results.append(max((p for p in points if p is not None), default=None))
            case Not():
                results.append(0 if results.pop() is None else None)
            case leaf:
                results.append(leaf_score(leaf, event) if leaf_holds(leaf, event) else None)
    return results.pop()


def _arguments_first(expression: Expression) -> list[Expression]:
    """Return all nodes of a tree, each after its arguments, and these in their order."""
    nodes: list[Expression] = []
    pending = [expression]
    while pending:
        node = pending.pop()
        nodes.append(node)
        pending += node.args if isinstance(node, And | Or) else (node.arg,) if isinstance(node, Not) else ()
    return nodes[::-1]


def _take(results: list[int | None], count: int) -> list[int | None]:
    """Remove the last ``count`` results and return them."""
    cut = len(results) - count
    taken = results[cut:]
    del results[cut:]
    return taken


def _leaves(expression: Expression) -> tuple[Leaf, ...]:
    """Return the leaves of a subscription in mode relaxed or threshold: one, or the arguments of one connective."""
    return cast("tuple[Leaf, ...]", expression.args if isinstance(expression, And | Or) else (expression,))


def _relaxed(leaves: tuple[Leaf, ...], event: Event) -> int | None:
    """Return the sum over the satisfied leaves, None when no weighted one is satisfied."""
    points = [relaxed_score(leaf, event) for leaf in leaves]
    satisfied = [p for p in points if p is not None]
    return sum(satisfied) if satisfied else None


def _threshold(leaves: tuple[Leaf, ...], event: Event, threshold: float) -> int | None:
    """Return the share of the weights that is satisfied, None when it is under the threshold."""
    shares = [threshold_shares(leaf, event) for leaf in leaves]
    share = Fraction(sum(met for met, _ in shares), sum(possible for _, possible in shares))
    return round(share * SCORE_SCALE) if share >= share_wanted(threshold) else None
