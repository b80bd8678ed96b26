"""Kill -9 of the driver in the middle of a batch: nothing is lost, nothing is doubled, under read_committed."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from tests.e2e.harness import PATIENCE, Client, JobUnderTest, running_job
from tests.e2e.oracle import assert_notifications_are_the_oracles

SUBSCRIPTIONS = 300
EVENTS = 1_200
KILLS = 1


def _bodies(rng: random.Random) -> dict[str, str]:
    return {
        f"s{n:03}": f"(a = {rng.randrange(20)}^0.{n % 9 + 1} or b > {rng.randrange(80, 100)}) and not c in ('x{n % 7}')"
        for n in range(SUBSCRIPTIONS)
    }


def _events(rng: random.Random) -> list[dict[str, Any]]:
    return [{"n": n, "a": rng.randrange(20), "b": rng.randrange(100), "c": f"x{n % 11}"} for n in range(EVENTS)]


def _restart_in_the_middle_of_a_batch(job: JobUnderTest, client: Client, seen: int) -> None:
    """Wait until more notifications than ``seen`` have arrived, so that batches are under way, then kill."""
    deadline = time.monotonic() + PATIENCE
    while len(client.found) <= seen:
        assert time.monotonic() < deadline, job.process.tail()
        client.poll(0.02)
    job.kill()
    job.start()


def test_after_a_killed_driver_every_notification_is_there_once(broker: Any, tmp_path: Path) -> None:
    rng = random.Random(7)
    filters, events = _bodies(rng), _events(rng)
    with running_job(broker.bootstrap_servers, tmp_path, top=10, max_events_per_batch=120) as (job, client):
        client.subscribe({id_: {"filter": text} for id_, text in filters.items()})
        places = client.publish(events[: EVENTS // 2])
        for kill in range(KILLS):
            _restart_in_the_middle_of_a_batch(job, client, len(client.found))
            share = EVENTS // 2 // KILLS
            places += client.publish(events[EVENTS // 2 + kill * share : EVENTS // 2 + (kill + 1) * share])
        client.await_committed(job.events_group, job.topics.events)

        assert_notifications_are_the_oracles(client, filters, zip(places, events, strict=True), top=10)
        assert job.stop() == 0
