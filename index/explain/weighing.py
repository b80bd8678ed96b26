"""The modes relaxed and threshold: what each leaf contributes, and the fewest leaves that would turn the answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from index.explain.outline import NEVER, Outline
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
        Places of the fewest leaves that turn the answer; empty when none do.
    """

    points: dict[int, int | None]
    met: Fraction | None
    wanted: Fraction | None
    total: int | None
    turning: tuple[int, ...]

    @property
    def flips(self) -> float:
        """The fewest leaves that turn the answer, `NEVER` when none do."""
        return len(self.turning) or NEVER


def weigh(subscription: Subscription, tree: Outline, event: Event) -> Weighing:
    """Weigh the leaves of a subscription that is not in mode all."""
    leaves = {place: node for place, node in enumerate(tree.nodes) if is_leaf(node)}
    if subscription.threshold is None:
        return _relaxed(leaves, event)
    return _threshold(leaves, event, share_wanted(subscription.threshold))


def _relaxed(leaves: dict[int, Leaf], event: Event) -> Weighing:
    points = {place: relaxed_score(leaf, event) for place, leaf in leaves.items()}
    satisfied = tuple(place for place, score in points.items() if score is not None)
    total = sum(score for score in points.values() if score is not None) if satisfied else None
    weighted = tuple(place for place, leaf in leaves.items() if _can_weigh(leaf))
    return Weighing(points, None, None, total, satisfied or weighted[:1])


def _threshold(leaves: dict[int, Leaf], event: Event, wanted: Fraction) -> Weighing:
    shares = {place: threshold_shares(leaf, event) for place, leaf in leaves.items()}
    whole = sum(possible for _, possible in shares.values())
    satisfied = sum(met for met, _ in shares.values())
    met = Fraction(satisfied, whole)
    matched = met >= wanted
    least = math.ceil(wanted * whole)
    if matched:
        turning = _fewest([(met, place) for place, (met, _) in shares.items()], satisfied - least + 1)
    else:
        turning = _fewest([(possible - met, place) for place, (met, possible) in shares.items()], least - satisfied)
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


def _fewest(gains: Sequence[tuple[int, int]], wanted: int) -> tuple[int, ...]:
    """Return the places whose gains, the largest first, reach what is wanted; none when all together do not."""
    chosen: list[int] = []
    for gain, place in sorted(gains, key=lambda pair: (-pair[0], pair[1])):
        if wanted <= 0 or gain <= 0:
            break
        chosen.append(place)
        wanted -= gain
    return tuple(sorted(chosen)) if wanted <= 0 else ()


def _can_weigh(leaf: Leaf) -> bool:
    """Return whether a leaf has a weight other than zero, so that it makes the subscription match when it holds."""
    weights = getattr(leaf, "weights", None)
    return getattr(leaf, "weight", None) != 0 if weights is None else any(weights)
