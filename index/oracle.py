"""The oracle: what an expression means, evaluated one event at a time, slow and obvious; every engine is held to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas.expression import And, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.records import Event, Subscription
from schemas.values import SCORE_SCALE, Value, same_value, score_term


def matches(expression: Expression, event: Event) -> bool:
    """Return whether the expression is true for the event."""
    match expression:
        case And(args):
            return all(matches(arg, event) for arg in args)
        case Or(args):
            return any(matches(arg, event) for arg in args)
        case Not(arg):
            return not matches(arg, event)
        case In(attribute, listed):
            return any(same_value(v, w) for v in _values(event, attribute) for w in listed)
        case NotIn(attribute, listed, strong):
            present = len(_values(event, attribute)) > 0
            excluded = any(same_value(v, w) for v in _values(event, attribute) for w in listed)
            return not excluded and (present or not strong)
        case Range():
            return any(_inside(v, expression) for v in _values(event, expression.attribute))
        case Exists(attribute):
            return len(_values(event, attribute)) > 0
        case NotExists(attribute):
            return len(_values(event, attribute)) == 0


def score(expression: Expression, event: Event) -> int:
    """Return the score of a true expression, in units of 1 / SCORE_SCALE: AND adds, OR takes the best true branch."""
    match expression:
        case And(args):
            return sum(score(arg, event) for arg in args)
        case Or(args):
            return max((score(arg, event) for arg in args if matches(arg, event)), default=0)
        case In(attribute, listed, weights):
            values = _values(event, attribute)
            event_weights = event.weights.get(attribute, (1.0,) * len(values))
            total = 0
            for v, event_weight in zip(values, event_weights, strict=True):
                for i, w in enumerate(listed):
                    if same_value(v, w):
                        total += score_term(event_weight, 1.0 if weights is None else weights[i])
                        break  # a value listed twice counts once
            return total
        case _:
            return 0


def match_subscription(subscription: Subscription, event: Event) -> int | None:
    """Return the score of the subscription for the event, in units of 1 / SCORE_SCALE, or None when it does not match.

    Validity is compared with the event time; an event without a time meets no bound.
    """
    if subscription.not_before is not None and not (event.time is not None and event.time >= subscription.not_before):
        return None
    if subscription.not_after is not None and not (event.time is not None and event.time <= subscription.not_after):
        return None
    if not matches(subscription.expression, event):
        return None
    return score(subscription.expression, event) + score_term(1.0, subscription.priority)


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


def _values(event: Event, attribute: str) -> tuple[Value, ...]:
    return event.attributes.get(attribute, ())


def _inside(value: Value, bounds: Range) -> bool:
    """A NaN compares false with every bound, so it must be asked whether each bound holds, not whether one fails."""
    limits = [b for b in (bounds.gt, bounds.ge, bounds.lt, bounds.le) if b is not None]
    if isinstance(value, bool) or any(isinstance(b, str) != isinstance(value, str) for b in limits):
        return False
    v: Any = value
    return (
        (bounds.gt is None or v > bounds.gt)
        and (bounds.ge is None or v >= bounds.ge)
        and (bounds.lt is None or v < bounds.lt)
        and (bounds.le is None or v <= bounds.le)
    )
