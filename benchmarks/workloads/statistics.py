"""What a workload looks like in numbers: sizes of subscriptions and events, and how often they match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from index import oracle
from index.engine import Engine
from index.event_block import EventBlock
from schemas.expression import And, Expression, Leaf, Not, Or
from schemas.records import Event, Subscription


class Statistics(NamedTuple):
    """Means of a workload."""

    subscriptions: int
    conjunctions: float
    """Branches of the outermost OR, a subscription."""
    predicates: float
    """Leaves a branch."""
    keys: float
    """Values an event."""
    matches: float
    """Matches an event."""


def statistics(subscriptions: Sequence[Subscription], events: Sequence[Event], matches: float) -> Statistics:
    """Count the nodes and values."""
    branches = leaves = 0
    for subscription in subscriptions:
        expression = subscription.expression
        branches += len(expression.args) if isinstance(expression, Or) else 1
        leaves += sum(1 for _ in walk_leaves(expression))
    keys = sum(len(values) for event in events for values in event.attributes.values())
    return Statistics(len(subscriptions), branches / len(subscriptions), leaves / branches, keys / len(events), matches)


def walk_leaves(expression: Expression) -> Iterator[Leaf]:
    """Yield the leaves of a tree."""
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, And | Or):
            stack += node.args
        elif isinstance(node, Not):
            stack.append(node.arg)
        else:
            yield node


def matches_by_engine(engine: Engine, subscriptions: Sequence[Subscription], events: Sequence[Event]) -> float:
    """Return the matches an event that an engine finds."""
    matcher = engine.open(engine.build(subscriptions))
    return len(matcher.match(EventBlock.from_events(events))) / len(events)


def matches_by_oracle(
    subscriptions: Sequence[Subscription], events: Sequence[Event], sample: int, seed: int = 1
) -> float:
    """Return the matches an event, estimated from a sample of pairs that the oracle is asked."""
    rng = np.random.default_rng(seed)
    s, e = rng.integers(0, len(subscriptions), sample), rng.integers(0, len(events), sample)
    met = sum(
        oracle.match_subscription(subscriptions[i], events[j]) is not None
        for i, j in zip(s.tolist(), e.tolist(), strict=True)
    )
    return met / sample * len(subscriptions)
