"""The best of an event where scores are a few units: what rounding adds or takes is then as much as a whole place."""

from __future__ import annotations

import random

import pytest

from index.block.engine import BlockEngine
from index.event_block import EventBlock
from index.oracle import best_matches
from schemas.expression import And, In
from schemas.records import Event, Subscription
from schemas.values import SCORE_SCALE

ATTRIBUTES, VALUES = "pqr", 2
UNITS = (1, 2, 3, 5)


def _subscription(draw: random.Random, id_: str) -> Subscription:
    """Draw a conjunction whose weights are so many units of scores."""
    names = draw.sample(ATTRIBUTES, draw.choice((1, 2, 2, 3)))
    leaves = (In(name, (draw.randrange(VALUES),), (draw.choice(UNITS) / SCORE_SCALE,)) for name in names)
    return Subscription(id_, And(tuple(leaves)))


def _event(draw: random.Random, top: int) -> Event:
    """Draw an event with weights of which a unit is more, or less, when it is rounded."""
    values = {name: (draw.randrange(VALUES),) for name in ATTRIBUTES}
    weights = {name: (draw.choice((0.25, 0.3, 0.5, 0.75, 1.0)),) for name in ATTRIBUTES}
    return Event(values, weights, top=top)


@pytest.mark.parametrize("top", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_leave_room_for_the_rounding_of_terms(seed: int, top: int) -> None:
    draw = random.Random(f"{seed} {top}")
    for width in (1, 8):
        subscriptions = [_subscription(draw, f"{i:03d}") for i in range(40)]
        events = [_event(draw, top) for _ in range(24)]
        engine = BlockEngine(width)

        found = engine.open(engine.build(subscriptions)).match(EventBlock.from_events(events, top)).rows()

        expected = [
            (number, id_, points)
            for number, event in enumerate(events)
            for id_, points in best_matches(subscriptions, event, top)
        ]
        ids = [subscriptions[ordinal].id for ordinal in found.subscription]
        assert list(zip(found.event.tolist(), ids, found.score.tolist(), strict=True)) == expected
