"""The job as its own process against a real broker, and the client side of its four topics."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from stream.job import READY_FILE
from stream.settings import load_settings
from stream.settings_reference import settings_toml

Coordinates = tuple[int, int]
"""Partition and offset of an event."""

PATIENCE = 90.0
"""Seconds until something awaited counts as lost; only a failure ever takes this long."""


@dataclass
class Topics:
    """Names of a test's own topics, so that tests share one broker."""

    prefix: str = field(default_factory=lambda: f"t{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.events = f"{self.prefix}.events"
        self.subscriptions = f"{self.prefix}.subscriptions"
        self.notifications = f"{self.prefix}.notifications"
        self.dead_letters = f"{self.prefix}.dead-letters"


class Client:
    """Produces subscriptions and events, and reads what comes out, read_committed."""

    def __init__(self, bootstrap: str, job: JobProcess) -> None:
        self.bootstrap = bootstrap
        self.job = job
        topics = job.topics
        self.topics = topics
        self.producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "enable.idempotence": True})
        self._notifications = self._consumer(topics.notifications)
        self._dead_letters = self._consumer(topics.dead_letters)
        self.found: list[dict[str, Any]] = []
        self.letters: list[dict[str, Any]] = []

    def _consumer(self, topic: str) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": f"check-{uuid.uuid4().hex}",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 500,
                "fetch.wait.max.ms": 20,
            }
        )
        consumer.subscribe([topic])
        return consumer

    def send(self, topic: str, key: bytes | str | None, value: bytes | str | None) -> Coordinates:
        """Produce one record, wait for its acknowledgement and return its coordinates."""
        return self.send_all(topic, [(key, value)])[0]

    def send_all(self, topic: str, records: list[tuple[Any, Any]]) -> list[Coordinates]:
        """Produce records, wait for all acknowledgements and return their coordinates in order."""
        places: list[Coordinates | None] = [None] * len(records)
        for i, (key, value) in enumerate(records):

            def delivered(error: Any, message: Any, i: int = i) -> None:
                assert error is None, error
                places[i] = (message.partition(), message.offset())

            while True:
                try:
                    self.producer.produce(topic, value=value, key=key, on_delivery=delivered)
                    break
                except BufferError:
                    self.producer.poll(0.1)
        assert self.producer.flush(60) == 0
        assert all(place is not None for place in places)
        return [place for place in places if place is not None]

    def subscribe(self, bodies: dict[str, Any]) -> None:
        self.send_all(self.topics.subscriptions, [(id_, json.dumps(body)) for id_, body in bodies.items()])

    def unsubscribe(self, ids: list[str]) -> None:
        self.send_all(self.topics.subscriptions, [(id_, None) for id_ in ids])

    def publish(self, events: list[Any]) -> list[Coordinates]:
        return self.send_all(self.topics.events, [(None, json.dumps(event)) for event in events])

    def send_subscription_without_key(self, body: Any) -> None:
        """Send one; a compacted topic takes none, so it can only come from a time when the topic was not compacted."""
        self._set_cleanup_policy("delete")
        self.send(self.topics.subscriptions, None, json.dumps(body))
        self._set_cleanup_policy("compact")

    def _set_cleanup_policy(self, policy: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, self.topics.subscriptions, incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(30)
        deadline = time.monotonic() + 30
        while admin.describe_configs([resource])[resource].result(30)["cleanup.policy"].value != policy:
            assert time.monotonic() < deadline, "the topic's configuration did not change"
            time.sleep(0.05)

    def poll(self, seconds: float = 0.05) -> None:
        """Take in what has arrived on the notification and dead-letter topics."""
        for message in self._notifications.consume(10_000, seconds):
            assert message.error() is None, message.error()
            record = json.loads(message.value())
            record["$key"] = message.key()
            self.found.append(record)
        for message in self._dead_letters.consume(10_000, 0.01):
            assert message.error() is None, message.error()
            headers = {name: value.decode() for name, value in message.headers() or []}
            self.letters.append({"key": message.key(), "value": message.value(), **headers})

    def await_committed(self, group: str, topic: str) -> None:
        """Wait until the job's group has committed everything that is on the topic now, and take in its output."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": group})
        try:
            partitions = [TopicPartition(topic, p) for p in consumer.list_topics(topic).topics[topic].partitions]
            end = {p.partition: consumer.get_watermark_offsets(p, cached=False)[1] for p in partitions}
            deadline = time.monotonic() + PATIENCE
            while True:
                committed = {p.partition: max(p.offset, 0) for p in consumer.committed(partitions, 10)}
                if all(committed[p] >= end[p] for p in end):
                    break
                assert time.monotonic() < deadline, f"group {group} is at {committed}, the topic at {end}"
                self.job.check_running()
                self.poll()
        finally:
            consumer.close()
        self.drain()

    def drain(self) -> None:
        """Read both output topics up to their present ends."""
        for consumer, topic in (
            (self._notifications, self.topics.notifications),
            (self._dead_letters, self.topics.dead_letters),
        ):
            deadline = time.monotonic() + PATIENCE
            while True:
                self.poll()
                assigned = {p.partition for p in consumer.assignment()}
                count = len(consumer.list_topics(topic).topics[topic].partitions)
                if len(assigned) == count:
                    ends = [consumer.get_watermark_offsets(TopicPartition(topic, p), cached=False)[1] for p in assigned]
                    at = consumer.position([TopicPartition(topic, p) for p in assigned])
                    # a partition of which nothing was read yet has no position
                    if all(end == 0 or place.offset >= end for end, place in zip(ends, at, strict=True)):
                        break
                assert time.monotonic() < deadline, f"{topic} could not be read to its end"

    def matches_of(self, place: Coordinates) -> list[dict[str, Any]]:
        """Return the notifications of one event, best first."""
        mine = [n for n in self.found if (n["event"]["partition"], n["event"]["offset"]) == place]
        return sorted(mine, key=lambda n: n["rank"])

    def matches_by_event(self) -> dict[Coordinates, list[dict[str, Any]]]:
        """Return all notifications by event, best first."""
        grouped: dict[Coordinates, list[dict[str, Any]]] = defaultdict(list)
        for n in self.found:
            grouped[n["event"]["partition"], n["event"]["offset"]].append(n)
        return {place: sorted(ns, key=lambda n: n["rank"]) for place, ns in grouped.items()}

    def close(self) -> None:
        self._notifications.close()
        self._dead_letters.close()


class JobProcess:
    """`tocsin run` as a user runs it."""

    def __init__(self, bootstrap: str, topics: Topics, folder: Path, **job: Any) -> None:
        self.topics = topics
        self.folder = folder
        self.name = topics.prefix
        self.log = folder / "job.log"
        self._ready = folder / "ready"
        self._settings = folder / "tocsin.toml"
        values = {"name": self.name, "index_dir": folder / "index", "checkpoint_dir": folder / "checkpoint"}
        values |= {"log_file": folder / "spark.log", "master": "local[2]", "metrics_interval_seconds": 2} | job
        chosen = {f"job.{name}": value for name, value in values.items()} | {
            "kafka.bootstrap_servers": bootstrap,
            "topics.events": topics.events,
            "topics.subscriptions": topics.subscriptions,
            "topics.notifications": topics.notifications,
            "topics.dead_letters": topics.dead_letters,
            "topics.partitions": 2,
            "spark.spark.driver.memory": "1g",
        }
        settings = load_settings(overrides=[f"{name}={value}" for name, value in chosen.items()], environ={})
        self._settings.write_text(settings_toml(settings))
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def events_group(self) -> str:
        return f"{self.name}-events"

    @property
    def subscriptions_group(self) -> str:
        return f"{self.name}-subscriptions"

    def start(self, wait: bool = True, **environment: str) -> None:
        self._ready.unlink(missing_ok=True)
        command = [str(Path(sys.executable).with_name("tocsin")), "--config", str(self._settings), "run"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env=os.environ | {READY_FILE: str(self._ready)} | environment,
            )
        if wait:
            self.await_ready()

    def await_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._ready.exists():
            self.check_running()
            assert time.monotonic() < deadline, f"the job did not get ready:\n{self.tail()}"
            time.sleep(0.05)

    def check_running(self) -> None:
        assert self.process is not None
        assert self.process.poll() is None, f"the job ended early:\n{self.tail()}"

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.await_gone()
        return code

    def kill(self) -> None:
        """Kill -9 of the driver alone; its JVM and workers must then end by themselves."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.await_gone()

    def members(self) -> list[psutil.Process]:
        """Return the living processes of the job's session: driver, JVM, worker daemon, workers, compaction."""
        assert self.process is not None
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                if os.getsid(process.pid) == self.process.pid and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def await_gone(self) -> None:
        deadline = time.monotonic() + 30
        while left := self.members():
            assert time.monotonic() < deadline, f"still there: {[' '.join(p.cmdline())[:200] for p in left]}"
            time.sleep(0.1)

    def clean_up(self) -> None:
        """Leave nothing running, whatever the test did."""
        for process in self.members():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


@contextlib.contextmanager
def running_job(bootstrap: str, folder: Path, **job: Any) -> Iterator[tuple[JobProcess, Client]]:
    """A ready job and its client; stopped, and its process group checked, at the end."""
    topics = Topics()
    process = JobProcess(bootstrap, topics, folder, **job)
    process.start()
    client = Client(bootstrap, process)
    try:
        yield process, client
    finally:
        client.close()
        process.clean_up()
