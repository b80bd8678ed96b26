"""Why one subscription matches one event, or what kept it away."""

from __future__ import annotations

from dataclasses import dataclass

from index.explain.evidence import Evidence, evidence
from index.explain.outline import Outline, outline
from index.explain.predicates import Turning
from index.explain.scores import Scores, Term, terms, tree_scores
from index.explain.together import turning
from index.explain.weighing import Weighing, weigh
from index.flat_tree import is_leaf
from index.oracle import leaf_holds
from schemas.records import Event, Subscription
from schemas.values import score_term


@dataclass(frozen=True, eq=False)
class Explanation:
    """An answer with its reasons. Places are indices into ``tree.nodes``.

    Attributes
    ----------
    subscription, event
        What met what.
    tree
        The expression's nodes with their truth.
    points
        The score, in units of 1 / SCORE_SCALE; None when the subscription does not match.
    priority
        The priority's part of it.
    in_time
        Whether the event's time lies in the subscription's validity.
    scores
        What the nodes score, in mode all; in the other modes None.
    weighing
        What the leaves contribute, in the modes relaxed and threshold; in mode all None.
    turning
        The fewest predicates that turn the truth of the expression, or in the other modes the answer of the weighing.
        When the subscription does not match, these kept it away, unless only its validity did.
    evidence, terms
        Of each leaf, by its place: what it saw in the event, and the terms by which it may score.
    """

    subscription: Subscription
    event: Event
    tree: Outline
    points: int | None
    priority: int
    in_time: bool
    scores: Scores | None
    weighing: Weighing | None
    turning: Turning
    evidence: dict[int, Evidence]
    terms: dict[int, tuple[Term, ...]]

    @property
    def matches(self) -> bool:
        """Whether the subscription matches."""
        return self.points is not None

    @property
    def holds(self) -> bool:
        """Whether it would match if the event's time lay in its validity."""
        return self.tree.holds[0] if self.weighing is None else self.weighing.total is not None

    @property
    def missing(self) -> tuple[int, ...]:
        """Places of what kept the subscription away, beside its validity; empty when it matches."""
        return () if self.holds else self.turning.places

    @property
    def distance(self) -> float:
        """How many predicates, the validity being one, kept it away; 0 for a match, `NEVER` when none could help."""
        return (0 if self.holds else self.turning.fewest) + (not self.in_time)


def explain(subscription: Subscription, event: Event) -> Explanation:
    """Return why a subscription matches an event, or what kept it away."""
    tree = outline(subscription.expression, lambda leaf: leaf_holds(leaf, event))
    valid = in_time(subscription, event)
    priority = score_term(1.0, subscription.priority)
    scores, weighing = None, None
    leaves = {place: node for place, node in enumerate(tree.nodes) if is_leaf(node)}
    if subscription.mode == "all":
        scores = tree_scores(tree, event)
        points, turned = scores.points[0], turning(tree)
    else:
        weighing = weigh(subscription, tree, event)
        points = weighing.total
        turned = weighing.turning
    return Explanation(
        subscription,
        event,
        tree,
        points + priority if points is not None and valid else None,
        priority,
        valid,
        scores,
        weighing,
        turned,
        {place: evidence(leaf, event) for place, leaf in leaves.items()},
        {place: terms(leaf, event) for place, leaf in leaves.items()},
    )


def in_time(subscription: Subscription, event: Event) -> bool:
    """Return whether an event's time lies in a subscription's validity; an event without a time meets no bound."""
    lower, upper = subscription.not_before, subscription.not_after
    if lower is None and upper is None:
        return True
    return event.time is not None and (lower is None or event.time >= lower) and (upper is None or event.time <= upper)
