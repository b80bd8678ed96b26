"""Probes: events made of subscriptions' own predicates, so that a comparison of answers meets many matches."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

from index.attribute_names import base_attribute
from index.flat_tree import flat_tree
from schemas.expression import (
    Cidr,
    Contains,
    ContainsAll,
    EndsWith,
    EqualsSet,
    Exists,
    Expression,
    Glob,
    In,
    Keywords,
    NotIn,
    Range,
    StartsWith,
    Version,
    Within,
)
from schemas.records import Event, Subscription
from schemas.values import Value, distinct_values

TOGETHER = 2
"""Subscriptions that one event is made of, at most: it matches one and comes near the other."""

LISTED = 3
"""Values of one predicate that an event takes, at most."""

ANY_VALUE = 1
"""Value where any will do."""


def probes(subscriptions: Sequence[Subscription], count: int, chance: random.Random) -> list[Event]:
    """Return so many events, each of the values that one or two of the subscriptions, chosen by chance, ask for.

    Parameters
    ----------
    subscriptions
        At least one.
    count
        How many events.
    chance
        Chooses subscriptions and values.
    """
    events = []
    for _ in range(count):
        together = min(len(subscriptions), chance.randint(1, TOGETHER))
        events.append(_probe(chance.sample(subscriptions, together), chance))
    return events


def _probe(subscriptions: Iterable[Subscription], chance: random.Random) -> Event:
    values: dict[str, list[Value]] = {}
    time = None
    for subscription in subscriptions:
        time = subscription.not_before if subscription.not_before is not None else subscription.not_after
        for attribute, value in _wanted(subscription.expression, chance):
            values.setdefault(attribute, []).append(value)
    return Event({name: distinct_values(held) for name, held in values.items()}, time=time)


def _wanted(expression: Expression, chance: random.Random) -> Iterator[tuple[str, Value]]:
    for node in flat_tree(expression).nodes:
        attribute = getattr(node, "attribute", None)
        if attribute is not None:
            name = base_attribute(attribute)  # a derived value can't always be turned back, and is tried as it is
            yield from ((name, value) for value in _values(node, chance))


def _values(leaf: Expression, chance: random.Random) -> Sequence[Value]:
    """Return values that the leaf asks for, or at least looks at."""
    match leaf:
        case In(values=values) | NotIn(values=values) | Within(values=values):
            return chance.sample(values, min(len(values), chance.randint(1, LISTED)))
        case ContainsAll(values=values) | EqualsSet(values=values):
            return list(values)
        case Range(gt=gt, ge=ge, lt=lt, le=le):
            return _inside(gt if ge is None else ge, lt if le is None else le)
        case StartsWith(text=text) | EndsWith(text=text) | Contains(text=text):
            return [text]
        case Glob(pattern=pattern):
            return [pattern.replace("*", "x").replace("?", "x")]
        case Version(eq=eq, gt=gt, ge=ge, lt=lt, le=le):
            return [version for version in (eq, gt, ge, lt, le) if version is not None][:1]
        case Cidr(networks=networks):
            return [chance.choice(networks).partition("/")[0]]
        case Keywords(all=every, any=some):
            return [" ".join([*(every or ()), *(some or ())[:1]])]
        case Exists():
            return [ANY_VALUE]
        case _:
            return []


def _inside(lower: Value | None, upper: Value | None) -> list[Value]:
    """Return values at and between two bounds, of which one may be missing."""
    bounds = [bound for bound in (lower, upper) if bound is not None]
    if all(isinstance(bound, int | float) and not isinstance(bound, bool) for bound in bounds):
        numbers = [float(bound) for bound in bounds]
        step = 0.5 if lower is not None else -0.5
        return [sum(numbers) / 2 if len(numbers) == 2 else numbers[0] + step, *bounds]
    return bounds
