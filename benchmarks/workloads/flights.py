"""The demo's flights: events with several tags and, some of them, weights; subscriptions that grow from flights.

Unlike the others' these are bodies as people would write them, of lists with a weight a value, bounds, exclusions and
alternatives, each with a priority. A third of the events have several tags, or one that weighs more than others: the
delay in hours.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from benchmarks.workloads.workload import identifiers
from index.uncollected import no_garbage_collection
from schemas.json_codec import decode_event, decode_subscription
from schemas.records import Event, Subscription
from stream.demo.flights import flight_events
from stream.demo.generated import generated_subscriptions

DRAWN_FROM = 50_000
"""So many flights of the year are those that subscriptions grow from and events are drawn from."""


class Flights:
    """The workload."""

    name = "flights"
    size = 1_000_000

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed

    def subscriptions(self, count: int) -> list[Subscription]:
        """See `benchmarks.workloads.workload.Workload`."""
        grown = generated_subscriptions(_flights(), count, self._seed)
        with no_garbage_collection():
            return [
                decode_subscription(id_, msgspec.json.encode(body))
                for id_, (_, body) in zip(identifiers(count), grown, strict=True)
            ]

    def events(self, count: int) -> list[Event]:
        """See `benchmarks.workloads.workload.Workload`; no event names how many of its best matches it wants."""
        drawn = random.Random(self._seed).sample(_flights(), count)
        return [decode_event(msgspec.json.encode(flight)) for flight in drawn]


@cache
def _flights() -> Sequence[dict[str, Any]]:
    """Return the flights; to join their tables takes seconds."""
    return list(flight_events(DRAWN_FROM))
