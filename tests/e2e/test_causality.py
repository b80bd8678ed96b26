"""A subscription acknowledged before an event was produced always catches it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.harness import running_job

ROUNDS = 200


def test_a_subscription_acknowledged_just_before_an_event_catches_it_every_time(broker: Any, tmp_path: Path) -> None:
    """Each round replaces one subscription, adds one and removes one, then at once publishes the event that tells."""
    with running_job(broker.bootstrap_servers, tmp_path) as (job, client):
        places = []
        for n in range(ROUNDS):
            client.subscribe(
                {
                    f"new-{n}": {"filter": f"round = {n}"},
                    "moving": {"filter": f"round = {n}"},
                    f"gone-{n}": {"filter": f"round = {n}"},
                }
            )
            client.unsubscribe([f"gone-{n}"])
            places += client.publish([{"round": n}])
            client.poll(0.001 * (n % 40))  # rounds meet the job's micro-batches at varying moments
        client.await_committed(job.events_group, job.topics.events)
        found = client.matches_by_event()
        for n, place in enumerate(places):
            ids = sorted(match["subscription"] for match in found.get(place, []))
            late = "moving" not in ids  # it may have moved on already: only what came before must be applied
            assert ids == ([f"new-{n}"] if late else ["moving", f"new-{n}"]), n
        assert client.letters == []
        assert job.stop() == 0
