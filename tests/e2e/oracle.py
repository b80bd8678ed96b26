"""What the oracle says of events, and the comparison with the notifications that came."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from index.oracle import as_score, best_matches
from schemas.json_codec import decode_subscription
from schemas.json_event import decode_event
from schemas.records import Subscription
from tests.e2e.harness import Client, Coordinates

Answer = list[tuple[str, float]]
"""Subscription and score of an event's notifications, best first."""


def as_subscriptions(filters: Mapping[str, str]) -> list[Subscription]:
    """Return subscriptions of filter texts by id."""
    return [decode_subscription(id_, json.dumps({"filter": text}).encode()) for id_, text in filters.items()]


def answer(subscriptions: list[Subscription], event: Any, top: int | None) -> Answer:
    """Return what an event must be told."""
    found = best_matches(subscriptions, decode_event(json.dumps(event).encode()), top)
    return [(id_, as_score(points)) for id_, points in found]


def doubles(client: Client) -> list[tuple[Any, ...]]:
    """Return what was notified more than once."""
    told = Counter((n["event"]["partition"], n["event"]["offset"], n["subscription"]) for n in client.found)
    return [pair for pair, count in told.items() if count > 1]


def assert_notifications_are_the_oracles(
    client: Client, filters: Mapping[str, str], published: Iterable[tuple[Coordinates, Any]], top: int
) -> None:
    """Each event has met exactly the oracle's subscriptions, with their scores, in their order, once."""
    assert doubles(client) == []
    subscriptions = as_subscriptions(filters)
    found = client.matches_by_event()
    for place, event in published:
        got = [(n["subscription"], n["score"]) for n in found.pop(place, [])]
        assert got == answer(subscriptions, event, top), event
    assert found == {}, "a notification of no event"
