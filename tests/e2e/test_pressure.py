"""Events that match everything, and a backlog: memory has a bound, exactly-once holds, and the job says how far it is.

One job with a small Java heap and small limits; the figures at full size come from ``benchmarks/pressure.py``.
"""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.watch import Watch
from tests.e2e.harness import PATIENCE, Client, JobUnderTest, running_job

SUBSCRIPTIONS = 20_000
FEW, MANY = 3, 18
AT_ONCE = 25_000
GROWTH_BYTES = 40_000_000
"""What the larger batch may take over the smaller one, in any of the job's Python processes: its notifications are
80 MB, and several times that as objects."""

BACKLOG = 6_000


class Peak(Watch):
    """The largest resident memory of the job's Python processes while the block runs, sampled."""

    def __init__(self, job: JobUnderTest) -> None:
        super().__init__(pause=0.02)
        self.peak = 0
        self._processes = [psutil.Process(job.process.pid), *job.workers()]

    def _look(self) -> None:
        for process in self._processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                self.peak = max(self.peak, process.memory_info().rss)


@pytest.fixture(scope="module")
def running(broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[JobUnderTest, Client]]:
    folder = tmp_path_factory.mktemp("pressure")
    settings = {
        "spark.spark.driver.memory": "512m",
        "job.max_matches_at_once": AT_ONCE,
        "job.spool_bytes": 1_000_000,
        "job.max_events_per_batch": 500,
        "job.metrics_file": folder / "metrics.jsonl",
        "job.metrics_interval_seconds": 0.3,
        "topics.partitions": 1,
        "kafka.client.queue.buffering.max.messages": 10_000,
    }
    with running_job(broker.bootstrap_servers, folder, **settings) as (job, client):
        client.subscribe({f"s{n}": {"filter": "x >= 0"} for n in range(SUBSCRIPTIONS)})
        publish(client, 1)
        client.await_committed(job.events_group, job.topics.events)
        yield job, client
        assert client.letters == []


def publish(client: Client, count: int) -> set[int]:
    """Publish events that match everything, in one record batch and so in one micro-batch; return their offsets."""
    return {offset for _, offset in client.publish([{"x": 1}] * count)}


def told_of(client: Client, offsets: set[int]) -> None:
    """Each of these events has met each subscription once, in order of the events."""
    mine = [(n["event"]["offset"], n["subscription"]) for n in client.found if n["event"]["offset"] in offsets]
    assert len(mine) == len(set(mine)) == len(offsets) * SUBSCRIPTIONS
    assert [offset for offset, _ in mine] == sorted(offset for offset, _ in mine)


def test_the_memory_for_a_batch_does_not_grow_with_its_matches(running: tuple[JobUnderTest, Client]) -> None:
    job, client = running
    peaks = []
    for count in (FEW, MANY):
        with Peak(job) as watch:
            offsets = publish(client, count)
            client.await_committed(job.events_group, job.topics.events)
        peaks.append(watch.peak)
        told_of(client, offsets)
    client.found.clear()
    assert peaks[1] - peaks[0] < GROWTH_BYTES


def test_a_driver_that_dies_between_two_parts_of_a_batch_goes_on_with_the_next_part(
    running: tuple[JobUnderTest, Client],
) -> None:
    job, client = running
    job.arm("events.committed", signal.SIGKILL)
    offsets = publish(client, FEW)
    assert job.process.wait(PATIENCE) == -signal.SIGKILL
    job.await_gone()
    client.drain()
    first = {n["event"]["offset"] for n in client.found}
    assert first
    assert first < offsets, "the batch was committed in part"
    job.start()
    client.await_committed(job.events_group, job.topics.events)
    told_of(client, offsets)
    client.found.clear()


def test_a_lagging_job_says_how_far_it_is(running: tuple[JobUnderTest, Client]) -> None:
    job, client = running
    client.publish([{"x": -1}] * BACKLOG)
    client.await_committed(job.events_group, job.topics.events)
    lines = [json.loads(line) for line in Path(job.settings.job.metrics_file or "").read_text().splitlines()]
    lagging = [line for line in lines if line["lag"] and line["catch_up_seconds"] is not None]
    assert lagging
    assert all(line["catch_up_seconds"] > 0 for line in lagging)
