"""The modes relaxed and threshold: what each leaf contributes, and the fewest predicates that would turn the answer.

A predicate may stand in several places, with weights of their own, and turns in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from index.explain.outline import Outline
from index.explain.predicates import Turning, predicates_of
from index.flat_tree import is_leaf
from index.oracle import relaxed_score, threshold_shares
from schemas.expression import Leaf
from schemas.records import Event, Subscription
from schemas.shares import SHARE_SCALE, share_wanted
from schemas.values import SCORE_SCALE


class Weighing(NamedTuple):
    """How a subscription in mode relaxed or threshold comes to its answer.

    Attributes
    ----------
    points
        What each leaf contributes, by its place in the outline, in units of 1 / SCORE_SCALE; None where it does not.
    met, wanted
        Share of the weights that is satisfied, and the share that must be; None in mode relaxed.
    total
        The score without the priority, None when the subscription does not match.
    turning
        The fewest predicates that turn the answer: to a match with their full weight, from one without any.
    """

    points: dict[int, int | None]
    met: Fraction | None
    wanted: Fraction | None
    total: int | None
    turning: Turning


def weigh(subscription: Subscription, tree: Outline, event: Event) -> Weighing:
    """Weigh the leaves of a subscription that is not in mode all."""
    leaves = {place: node for place, node in enumerate(tree.nodes) if is_leaf(node)}
    if subscription.threshold is None:
        return _relaxed(leaves, tree, event)
    return _threshold(leaves, tree, event, share_wanted(subscription.threshold))


def _relaxed(leaves: dict[int, Leaf], tree: Outline, event: Event) -> Weighing:
    points = {place: relaxed_score(leaf, event) for place, leaf in leaves.items()}
    satisfied = {place for place, score in points.items() if score is not None}
    total = sum(score for score in points.values() if score is not None) if satisfied else None
    predicates = predicates_of(tree)
    if satisfied:
        chosen = [group for group in predicates if not satisfied.isdisjoint(group)]
    else:  # of those that can weigh any, one that is not even met comes first
        weighty = [group for group in predicates if any(_can_weigh(leaves[place]) for place in group)]
        chosen = sorted(weighty, key=lambda group: tree.holds[group[0]])[:1]
    return Weighing(points, None, None, total, Turning.least(chosen, len(predicates)))


def _threshold(leaves: dict[int, Leaf], tree: Outline, event: Event, wanted: Fraction) -> Weighing:
    shares = {place: threshold_shares(leaf, event) for place, leaf in leaves.items()}
    whole = sum(possible for _, possible in shares.values())
    satisfied = sum(met for met, _ in shares.values())
    met = Fraction(satisfied, whole)
    matched = met >= wanted
    least = math.ceil(wanted * whole)
    predicates = predicates_of(tree)
    if matched:
        gains = [sum(shares[place][0] for place in group) for group in predicates]
        turning = _fewest(gains, predicates, satisfied - least + 1)
    else:
        gains = [sum(shares[place][1] - shares[place][0] for place in group) for group in predicates]
        turning = _fewest(gains, predicates, least - satisfied)
    return Weighing(
        {place: _as_points(met) if met else None for place, (met, _) in shares.items()},
        met,
        wanted,
        round(met * SCORE_SCALE) if matched else None,
        turning,
    )


def _as_points(units: int) -> int:
    """Return a weight in units of 1 / SCORE_SCALE, given in those of 1 / SHARE_SCALE."""
    return round(Fraction(units * SCORE_SCALE, SHARE_SCALE))


def _fewest(gains: Sequence[int], predicates: Sequence[list[int]], wanted: int) -> Turning:
    """Return the predicates whose gains, the largest first, reach what is wanted; all together always do."""
    chosen: list[list[int]] = []
    for number in sorted(range(len(gains)), key=lambda number: -gains[number]):
        if wanted <= 0:
            break
        chosen.append(predicates[number])
        wanted -= gains[number]
    return Turning.least(chosen, len(predicates))


def _can_weigh(leaf: Leaf) -> bool:
    """Return whether a leaf has a weight other than zero, so that it makes the subscription match when it holds."""
    weights = getattr(leaf, "weights", None)
    return getattr(leaf, "weight", None) != 0 if weights is None else any(weights)
