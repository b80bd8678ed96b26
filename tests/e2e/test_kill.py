"""Kill -9 of the driver in the middle of a batch: nothing is lost, nothing is doubled, under read_committed."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

from index.oracle import as_score, best_matches
from schemas.json_codec import decode_subscription
from schemas.json_event import decode_event
from tests.e2e.harness import Client, JobProcess, running_job

SUBSCRIPTIONS = 300
EVENTS = 6_000
KILLS = 3


def _bodies(rng: random.Random) -> dict[str, str]:
    return {
        f"s{n:03}": f"(a = {rng.randrange(20)}^0.{n % 9 + 1} or b > {rng.randrange(80, 100)}) and not c in ('x{n % 7}')"
        for n in range(SUBSCRIPTIONS)
    }


def _events(rng: random.Random) -> list[dict[str, Any]]:
    return [{"n": n, "a": rng.randrange(20), "b": rng.randrange(100), "c": f"x{n % 11}"} for n in range(EVENTS)]


def _restart_in_the_middle_of_a_batch(job: JobProcess, client: Client, seen: int) -> None:
    """Wait until more notifications than ``seen`` have arrived, so that batches are under way, then kill."""
    deadline = time.monotonic() + 60
    while len(client.found) <= seen and time.monotonic() < deadline:
        client.poll(0.02)
    job.kill()
    job.start()


def test_after_a_killed_driver_every_notification_is_there_once(broker: Any, tmp_path: Path) -> None:
    rng = random.Random(7)
    filters, events = _bodies(rng), _events(rng)
    with running_job(broker.bootstrap_servers, tmp_path, top=10, max_events_per_batch=400) as (job, client):
        client.subscribe({id_: {"filter": text} for id_, text in filters.items()})
        places = client.publish(events[: EVENTS // 2])
        for kill in range(KILLS):
            _restart_in_the_middle_of_a_batch(job, client, len(client.found))
            share = EVENTS // 2 // KILLS
            places += client.publish(events[EVENTS // 2 + kill * share : EVENTS // 2 + (kill + 1) * share])
        client.await_committed(job.events_group, job.topics.events)

        found = client.matches_by_event()
        doubles = [pair for pair, count in Counter(_pairs(client)).items() if count > 1]
        assert doubles == []
        subscriptions = [decode_subscription(id_, _json({"filter": text})) for id_, text in filters.items()]
        for place, event in zip(places, events, strict=True):
            wanted = best_matches(subscriptions, decode_event(_json(event)), 10)
            got = [(match["subscription"], match["score"]) for match in found.get(place, [])]
            assert got == [(id_, as_score(points)) for id_, points in wanted], event
        assert len(found) == sum(1 for place in places if place in found), "a notification of no event"
        assert job.stop() == 0


def _pairs(client: Client) -> list[tuple[int, int, str]]:
    return [(n["event"]["partition"], n["event"]["offset"], n["subscription"]) for n in client.found]


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
