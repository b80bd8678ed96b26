"""Makes a difference small: fewer subscriptions and events, then smaller ones, as long as something still differs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from schemas.check import check_subscription
from schemas.errors import Refused
from schemas.expression import And, Expression, Not, Or
from schemas.records import Event, Subscription

Item = TypeVar("Item")
Differs = Callable[[Sequence[Subscription], Sequence[Event]], bool]

SECONDS = 60.0


def shrink(
    population: Sequence[Subscription], events: Sequence[Event], differs: Differs
) -> tuple[list[Subscription], list[Event]]:
    """Return a small population and few events on which ``differs`` is still true, within a minute or so."""
    deadline = time.monotonic() + SECONDS

    def still(subscriptions: Sequence[Subscription], happened: Sequence[Event]) -> bool:
        return time.monotonic() < deadline and bool(happened) and differs(subscriptions, happened)

    few, less = list(population), list(events)

    def with_subscriptions(chosen: Sequence[Subscription]) -> bool:
        return still(chosen, less)

    def with_events(chosen: Sequence[Event]) -> bool:
        return still(few, chosen)

    before = None
    while before != (len(few), len(less)):
        before = len(few), len(less)
        few = _fewer(few, with_subscriptions)
        less = _fewer(less, with_events)
    few = _smaller(few, _simpler_subscriptions, with_subscriptions)
    less = _smaller(less, _simpler_events, with_events)
    return few, less


def _fewer(items: list[Item], still: Callable[[list[Item]], bool]) -> list[Item]:
    """Leave out runs of items, halves first, then ever shorter ones."""
    length = len(items) // 2
    while length:
        start = 0
        while start < len(items):
            rest = items[:start] + items[start + length :]
            if still(rest):
                items = rest
            else:
                start += length
        length //= 2
    return items


def _smaller(
    items: list[Item], simpler: Callable[[Item], Iterator[Item]], still: Callable[[list[Item]], bool]
) -> list[Item]:
    """Put simpler items in the place of others, as long as there are any."""
    place = 0
    while place < len(items):
        for item in simpler(items[place]):
            changed = [*items[:place], item, *items[place + 1 :]]
            if still(changed):
                items = changed
                break
        else:
            place += 1
    return items


def _simpler_subscriptions(subscription: Subscription) -> Iterator[Subscription]:
    changes = [{"expression": simpler} for simpler in _simpler(subscription.expression)]
    plain = {"priority": 0.0, "not_before": None, "not_after": None}
    changes += [{name: value} for name, value in plain.items() if getattr(subscription, name) != value]  # type: ignore[dict-item]
    for change in changes:
        changed = msgspec.structs.replace(subscription, **change)
        try:
            check_subscription(changed)
        except Refused:
            continue
        yield changed


def _simpler(node: Expression) -> Iterator[Expression]:
    """Yield an argument in the place of a node, fewer arguments, simpler ones, and leaves with fewer values."""
    if isinstance(node, Not):
        yield node.arg
        yield from (Not(arg) for arg in _simpler(node.arg))
    elif isinstance(node, And | Or):
        yield from node.args
        for place, arg in enumerate(node.args):
            yield type(node)((*node.args[:place], *node.args[place + 1 :]))
            yield from (type(node)((*node.args[:place], s, *node.args[place + 1 :])) for s in _simpler(arg))
    else:
        yield from _simpler_leaf(node)


def _simpler_leaf(leaf: Expression) -> Iterator[Expression]:
    weights = getattr(leaf, "weights", None)
    if weights is not None:
        yield msgspec.structs.replace(leaf, weights=None)
    for name in ("values", "any", "all", "networks"):
        listed = getattr(leaf, name, None) or ()
        for place in range(len(listed) if len(listed) > 1 else 0):
            changes = {name: (*listed[:place], *listed[place + 1 :])}
            if weights is not None:
                changes["weights"] = (*weights[:place], *weights[place + 1 :])
            yield msgspec.structs.replace(leaf, **changes)


def _simpler_events(event: Event) -> Iterator[Event]:
    for name, values in event.attributes.items():
        others = {n: v for n, v in event.attributes.items() if n != name}
        weights = {n: w for n, w in event.weights.items() if n != name}
        yield msgspec.structs.replace(event, attributes=others, weights=weights)
        if name in event.weights:
            yield msgspec.structs.replace(event, weights=weights)
        elif len(values) > 1:
            for place in range(len(values)):
                fewer = {name: (*values[:place], *values[place + 1 :])}
                yield msgspec.structs.replace(event, attributes={**event.attributes, **fewer})
    for name in ("top", "time"):
        if getattr(event, name) is not None:
            yield msgspec.structs.replace(event, **{name: None})
