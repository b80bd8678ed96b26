"""The demo's flights: events with several tags and, some of them, weights; subscriptions that grow from flights.

Unlike the others' these are bodies as people would write them, of lists with a weight a value, bounds, exclusions and
alternatives, each with a priority. A third of the events have several tags, or one that weighs more than others: the
delay in hours.
"""

from __future__ import annotations

from benchmarks.workloads.workload import identifiers, no_garbage_collection
from schemas.json_codec import decode_subscription
from schemas.records import Event, Subscription
from stream.demo.workload import build_workload

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
        made = build_workload(DRAWN_FROM, count, self._seed, lambda: None)
        bodies = list(made.subscriptions.values())[len(made.written) :]
        with no_garbage_collection():
            return [decode_subscription(id_, body) for id_, body in zip(identifiers(count), bodies, strict=True)]

    def events(self, count: int) -> list[Event]:
        """See `benchmarks.workloads.workload.Workload`; no event names how many of its best matches it wants."""
        drawn = build_workload(DRAWN_FROM, 0, self._seed, lambda: None).drawn_events(count, self._seed)
        return [event for _, event in drawn]
