"""A damaged index is built anew from the topic, whenever the damage is found, and every notification comes once."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

from benchmarks import processes
from index.manifest import latest
from tests.e2e.harness import PATIENCE, Client, Coordinates, JobUnderTest, running_job
from tests.e2e.oracle import assert_notifications_are_the_oracles

TOP = 3
FILTERS = {f"s{n}": f"a = {n % 5}^0.{n % 9 + 1} or b > {90 + n % 10}" for n in range(30)}


def _flip(index: Path) -> Path:
    """Put an altered copy in a segment's place, as a disk may; what is mapped already stays as it was."""
    path = index / "segments" / f"{latest(index).segments[0].segment.name}.seg"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 4
    copy = path.with_name("copy")
    copy.write_bytes(content)
    copy.rename(path)
    return path


def _publish(client: Client, published: list[tuple[Coordinates, Any]]) -> None:
    events = [{"a": n % 7, "b": n % 100, "n": len(published) + n} for n in range(40)]
    published += zip(client.publish(events), events, strict=True)


def _check(job: JobUnderTest, client: Client, published: list[tuple[Coordinates, Any]]) -> None:
    client.await_committed(job.events_group, job.topics.events)
    assert_notifications_are_the_oracles(client, FILTERS, published, TOP)


def test_a_damaged_index_is_built_anew_and_nothing_is_lost_or_doubled(broker: Any, tmp_path: Path) -> None:
    published: list[tuple[Coordinates, Any]] = []
    with running_job(broker.bootstrap_servers, tmp_path, top=TOP) as (job, client):
        index = tmp_path / "index"
        client.subscribe({id_: {"filter": text} for id_, text in FILTERS.items()})
        _publish(client, published)
        _check(job, client, published)

        # found at the start, while a batch is under way that is pinned to the damaged version
        job.arm("events.offsets-sent", signal.SIGKILL)
        _publish(client, published)
        assert job.process.wait(PATIENCE) == -signal.SIGKILL
        job.await_gone()
        path = _flip(index)
        job.start()
        (aside,) = tmp_path.glob("index.damaged-*")
        log = job.process.log.read_text()
        assert f"{path} is damaged: found checksum" in log
        assert f"the damaged one is {aside} now" in log
        assert (aside / "segments" / path.name).exists()
        _check(job, client, published)

        # found while running: the job ends with the sentence, and the next start heals
        path = _flip(index)
        processes.kill(job.workers())
        _publish(client, published)
        assert job.process.wait(PATIENCE) == 1
        assert f"tocsin: {path} is damaged: found" in (told := job.process.tail(1))
        assert "Start the job again" in told
        job.await_gone()
        job.start()
        assert len(list(tmp_path.glob("index.damaged-*"))) == 2
        _check(job, client, published)

        # removed while running: an event, or a subscription, is enough to see it
        for body in ({}, {"s0": {"filter": FILTERS["s0"]}}):
            shutil.rmtree(index)
            if body:
                client.subscribe(body)
            else:
                _publish(client, published)
            assert job.process.wait(PATIENCE) == 1
            assert f"the index directory {index} was removed or replaced while it was in use" in job.process.tail(1)
            job.await_gone()
            job.start()
            _check(job, client, published)
        assert job.stop() == 0
