"""The demo's workload: flights and subscriptions, as objects and as the bytes that travel."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from schemas.json_codec import decode_event, decode_subscription
from schemas.records import Event, Subscription
from stream.demo.flights import event_key, flight_events
from stream.demo.generated import generated_subscriptions
from stream.demo.subscriptions import written_subscriptions


@dataclass(frozen=True)
class Workload:
    """What goes onto the topics.

    Attributes
    ----------
    flights
        The events as nested objects.
    keys, bodies
        Their records' keys and values, in the same order.
    written
        Ids of the hand-written subscriptions.
    subscriptions
        Values of all subscriptions' records by id.
    """

    flights: Sequence[dict[str, Any]]
    keys: Sequence[str]
    bodies: Sequence[bytes]
    written: Sequence[str]
    subscriptions: dict[str, bytes]

    def decoded_subscriptions(self) -> list[Subscription]:
        """Return the subscriptions as the job understands them."""
        return [decode_subscription(id_, body) for id_, body in self.subscriptions.items()]

    def drawn_events(self, count: int, seed: int) -> list[tuple[int, Event]]:
        """Return events drawn at random with their numbers, as the job understands them."""
        drawn = random.Random(seed).sample(range(len(self.bodies)), min(count, len(self.bodies)))
        return [(number, decode_event(self.bodies[number], None)) for number in drawn]


def build_workload(events: int, subscriptions: int, seed: int, tick: Callable[[], None]) -> Workload:
    """Build the workload.

    Parameters
    ----------
    events, subscriptions
        How many flights, and how many generated subscriptions beside the hand-written ones.
    seed
        Decides the generated subscriptions.
    tick
        Called now and then; raises what ends the demo early.
    """
    flights = []
    for flight in flight_events(events):
        tick()
        flights.append(flight)
    written = written_subscriptions()
    records = {id_: msgspec.json.encode(body) for id_, body in written.items()}
    for id_, body in generated_subscriptions(flights, subscriptions, seed):
        tick()
        records[id_] = msgspec.json.encode(body)  # at once: a million of them as objects take gigabytes
    return Workload(
        flights=flights,
        keys=[event_key(flight) for flight in flights],
        bodies=[msgspec.json.encode(flight) for flight in flights],
        written=list(written),
        subscriptions=records,
    )
