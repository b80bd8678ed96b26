"""The job on a Spark standalone cluster: the driver here, two executors elsewhere, and any number of shards."""

from __future__ import annotations

import contextlib
import json
import random
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Message

from benchmarks.processes import command_of
from index.manifest import latest
from tests.e2e.cluster import TWO_EXECUTORS, StandaloneCluster
from tests.e2e.harness import PATIENCE, Client, JobUnderTest, Topics
from tests.e2e.oracle import answer, as_subscriptions

TOP = 12
LIMITS = {"max_subscriptions_per_batch": 90, "max_events_per_batch": 800, "max_matches_at_once": 2_000}
PATHS = {"index_dir": "data/index", "checkpoint_dir": "data/checkpoint", "log_file": "data/spark.log"}
"""Relative paths in the settings mean the driver's folder, on the executors too, which run in others."""

Records = dict[tuple[bool, int | None, int | None], list[tuple[bytes | None, bytes | None]]]
"""Key and value, in order, by whether they are notifications, by their partition and by that of their event.

Between the events of two partitions there is no order: it depends on which of them a micro-batch happens to hold.
"""


class Recorder(Client):
    """A client that also keeps what comes out as it is."""

    def __init__(self, bootstrap: str, job: JobUnderTest) -> None:
        self.records: Records = defaultdict(list)
        super().__init__(bootstrap, job)

    def _take(self, record: Message) -> None:
        is_notification = record.topic() == self.topics.notifications
        partition = json.loads(record.value() or b"")["event"]["partition"] if is_notification else None
        self.records[is_notification, record.partition(), partition].append((record.key(), record.value()))
        super()._take(record)


@contextlib.contextmanager
def recorded_job(broker: Any, topics: Topics, folder: Path, dies: bool, **settings: Any) -> Iterator[Recorder]:
    """A ready job and its client; one that dies does so between two transactions of a batch, and is ready again."""
    folder.mkdir()
    job = JobUnderTest(broker.bootstrap_servers, topics, folder, **settings)
    client = None
    try:
        if dies:
            job.arm("events.committed", signal.SIGKILL)
            job.start(wait=False)
            assert job.process.wait(PATIENCE) == -signal.SIGKILL
            job.await_gone()
        job.start()
        client = Recorder(broker.bootstrap_servers, job)
        yield client
        assert job.stop() == 0
    finally:
        if client is not None:
            client.close()
        job.clean_up()


def test_two_executors_write_the_same_bytes_whatever_the_number_of_shards(broker: Any, tmp_path: Path) -> None:
    """They are the oracle's notifications. One job dies on the way. Scores are few, so that ids decide most ranks."""
    rng = random.Random(17)
    filters = {f"s{n}": f"a in ({n % 7}^0.5, {7 + n % 11}) and b > {rng.randrange(100)}" for n in range(300)}
    events: list[Any] = [{"a": rng.randrange(18), "b": rng.randrange(120)} for _ in range(1_500)]
    events += [{"a": [n, n + 7], "b": 99, "$top": n + 1} for n in range(7)]
    shared, found = Topics(), list[Recorder]()
    with StandaloneCluster(tmp_path) as cluster:
        settings: dict[str, Any] = TWO_EXECUTORS | LIMITS | PATHS | {"top": TOP, "master": cluster.master}
        for shards in (1, 5):
            topics, folder = Topics(), tmp_path / str(shards)
            topics.subscriptions, topics.events = shared.subscriptions, shared.events
            with recorded_job(broker, topics, folder, dies=shards == 5, shards=shards, **settings) as client:
                if not found:
                    client.subscribe({id_: {"filter": text} for id_, text in filters.items()})
                    client.subscribe({"s2": {"filter": "a = 1"}})
                    client.subscribe({"s2": {"filter": filters["s2"]}})
                    client.unsubscribe(["s0", "s1"])
                    client.send(topics.events, b"k", b"no event")
                    places = client.publish(events)
                client.await_committed(client.job.events_group, topics.events)
                assert len(cluster.executors()) == 2
                assert any("-m stream.daemon" in command_of(process) for process in cluster.python_workers())
            manifest = latest(folder / "data" / "index")
            assert {entry.segment.shard for entry in manifest.segments} == set(range(shards))
            assert sum(entry.alive for entry in manifest.segments) == len(filters) - 2
            found.append(client)
    assert list((tmp_path / "work").rglob("manifests")) == [], "an executor has made an index of its own"
    assert list((tmp_path / "work").rglob("spark-sql-kafka*.jar")) != [], "the connector came by the job"
    one, five = found
    subscriptions = as_subscriptions({id_: text for id_, text in filters.items() if id_ not in ("s0", "s1")})
    notified = one.matches_by_event()
    for place, event in zip(places, events, strict=True):
        told = [(n["subscription"], n["score"]) for n in notified.get(place, [])]
        assert told == answer(subscriptions, event, event.get("$top", TOP))
    assert len(one.letters) == 1
    assert five.records == one.records
