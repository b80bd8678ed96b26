"""The job as its own process against a real broker, and the client side of its four topics."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import psutil
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from benchmarks import processes
from stream import clients, failpoints
from stream.committed import CommittedReader
from stream.job_process import JobProcess
from stream.offsets import covers
from stream.settings import load_settings
from stream.settings_tables import Kafka
from tests.waiting import wait_for

Coordinates = tuple[int, int]
"""Partition and offset of an event."""

PATIENCE = 150.0
"""Seconds until something awaited counts as lost; only a failure ever takes this long."""


REOPEN_SECONDS = 30.0
"""After so long a consumer of the test's own that does not come to the end is replaced."""


@dataclass
class Topics:
    """Names of a test's own topics, so that tests share one broker."""

    prefix: str = field(default_factory=lambda: f"t{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.events = f"{self.prefix}.events"
        self.subscriptions = f"{self.prefix}.subscriptions"
        self.notifications = f"{self.prefix}.notifications"
        self.dead_letters = f"{self.prefix}.dead-letters"


def quiet(bootstrap: str) -> dict[str, Any]:
    """Return the configuration of a client that does not tell the terminal of a broker that was killed."""
    return {"bootstrap.servers": bootstrap, "logger": clients.LOG, "reconnect.backoff.max.ms": 1000}


class Client:
    """Produces subscriptions and events, and reads what comes out, read_committed."""

    def __init__(self, bootstrap: str, job: JobUnderTest) -> None:
        self.bootstrap = bootstrap
        self.job = job
        topics = job.topics
        self.topics = topics
        kafka = Kafka(bootstrap_servers=bootstrap)
        self._settings = msgspec.structs.replace(job.settings, kafka=kafka)
        # each record without a key goes anywhere, so no test can count on two of them in one micro-batch
        scattered = {"linger.ms": 0, "sticky.partitioning.linger.ms": 0, "enable.idempotence": True}
        self.producer = Producer(quiet(bootstrap) | scattered)
        outputs = (topics.notifications, topics.dead_letters)
        self._output = CommittedReader(self._settings, outputs, lambda record, _: self._take(record))
        self.found: list[dict[str, Any]] = []
        self.letters: list[dict[str, Any]] = []

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

        def is_set() -> bool:
            return bool(admin.describe_configs([resource])[resource].result(30)["cleanup.policy"].value == policy)

        wait_for(is_set, 30, "the topic's configuration did not change")

    def poll(self, seconds: float = 0.05) -> None:
        """Take in what has arrived on the notification and dead-letter topics."""
        self._output.poll(seconds)

    def _take(self, record: Any) -> None:
        if record.topic() == self.topics.notifications:
            self.found.append(json.loads(record.value()) | {"$key": record.key()})
        else:
            headers = {name: value.decode() for name, value in record.headers() or []}
            self.letters.append({"key": record.key(), "value": record.value(), **headers})

    def await_committed(self, group: str, topic: str) -> None:
        """Wait until the job's group has committed everything that is on the topic now, and take in its output.

        How long that takes depends on the machine; what does not go on for `PATIENCE` seconds stands still.
        """
        with clients.TopicEnds(self._settings) as ends:
            end = ends.of(topic)
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": group})
        before: dict[int, int] | None = None
        try:
            while True:
                committed = clients.while_passing(lambda: clients.committed_offsets(consumer, topic, end))
                if covers(committed, end):
                    break
                if committed != before:
                    before, deadline = committed, time.monotonic() + PATIENCE
                assert time.monotonic() < deadline, f"group {group} is at {committed}, the topic at {end}"
                self.job.process.check()
                self.poll()
        finally:
            consumer.close()
        self.drain()

    def reopen(self) -> None:
        """Go on reading with a new consumer."""
        self._output.reopen()

    def drain(self) -> None:
        """Read both output topics up to their present ends, transactions that are not marked as committed included."""
        goal = self._output.ends()
        deadline = time.monotonic() + PATIENCE
        reopen_at = time.monotonic() + REOPEN_SECONDS
        while not self._output.reached(goal):
            now = time.monotonic()
            assert now < deadline, f"the output topics could not be read to their ends {goal}"
            if now > reopen_at:
                self.reopen()
                reopen_at = now + REOPEN_SECONDS
            self.poll()

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
        self._output.close()


class JobUnderTest:
    """`tocsin run` with topics and folders of its own, and the proof that it leaves no process behind."""

    def __init__(self, bootstrap: str, topics: Topics, folder: Path, **settings: Any) -> None:
        """Take settings by name, those without a dot being of the table ``job``."""
        self.topics = topics
        self.folder = folder
        self.name = topics.prefix
        values = {
            "job.name": self.name,
            "job.index_dir": folder / "index",
            "job.checkpoint_dir": folder / "checkpoint",
            "job.log_file": folder / "spark.log",
            "job.master": "local[2]",
            "job.metrics_interval_seconds": 2,
            "kafka.bootstrap_servers": bootstrap,
            "topics.events": topics.events,
            "topics.subscriptions": topics.subscriptions,
            "topics.notifications": topics.notifications,
            "topics.dead_letters": topics.dead_letters,
            "topics.partitions": 2,
            "spark.spark.driver.memory": "1g",
        }
        values |= {name if "." in name else f"job.{name}": value for name, value in settings.items()}
        self.settings = load_settings(overrides=[f"{name}={value}" for name, value in values.items()], environ={})
        self.process = JobProcess(self.settings, folder, folder)
        self._failpoint = folder / "failpoint"

    def arm(self, place: str, number: signal.Signals) -> None:
        """Let the driver, which may run already, get a signal when it next comes to a place of `failpoints`."""
        written = self._failpoint.with_name("failpoint.new")
        written.write_text(f"{place}:{number.name}")
        written.rename(self._failpoint)

    @property
    def armed(self) -> bool:
        """Whether nobody has come to the place yet."""
        return self._failpoint.exists()

    def disarm(self) -> None:
        self._failpoint.unlink(missing_ok=True)

    @property
    def events_group(self) -> str:
        return f"{self.name}-events"

    @property
    def subscriptions_group(self) -> str:
        return f"{self.name}-subscriptions"

    @property
    def checkpoints(self) -> tuple[Path, Path]:
        """The folders in which Spark writes how far the event query and the subscription query are."""
        return Path(self.settings.job.checkpoint_dir) / "events", Path(self.settings.job.index_dir) / "progress"

    def start(self, wait: bool = True) -> None:
        self.process.start(**{failpoints.VARIABLE: str(self._failpoint)})
        if wait:
            self.process.await_ready(PATIENCE)

    def stop(self) -> int | None:
        """SIGTERM, and the exit code."""
        code = self.process.terminate(60)
        self.await_gone()
        return code

    def kill(self) -> None:
        """Kill -9 of the driver alone; its JVM and workers must then end by themselves."""
        self.process.kill()
        self.await_gone()

    def members(self, words: str = "") -> list[psutil.Process]:
        """Return the living processes of the job's session whose command line has these words.

        They are the driver, its JVM, the worker daemon, the workers and the compaction.
        """
        return processes.living(lambda process: os.getsid(process.pid) == self.process.pid, words)

    def member(self, words: str) -> psutil.Process:
        """Return the one of them whose command line has these words, whatever it may be starting."""
        (found,) = processes.outermost(self.members(words))
        return found

    def workers(self) -> list[psutil.Process]:
        """Return the worker daemon and the workers that it has forked."""
        return self.members("-m stream.daemon")

    def await_words(self, words: str, log: Path | None = None) -> None:
        """Wait until a log, its own or another one, has these words."""
        told = log or self.process.log

        def has_them() -> bool:
            self.process.check()
            return told.exists() and words in told.read_text()

        wait_for(has_them, PATIENCE, f"{told.name} has no {words!r}")

    def await_gone(self) -> None:
        deadline = time.monotonic() + 30
        while left := self.members():
            assert time.monotonic() < deadline, f"still there: {[processes.command_of(p)[:200] for p in left]}"
            time.sleep(0.1)

    def clean_up(self) -> None:
        """Leave nothing running, whatever the test did."""
        processes.kill(self.members())
        self.process.stop()


@contextlib.contextmanager
def running_job(bootstrap: str, folder: Path, **job: Any) -> Iterator[tuple[JobUnderTest, Client]]:
    """A ready job and its client; stopped, and its process group checked, at the end."""
    topics = Topics()
    process = JobUnderTest(bootstrap, topics, folder, **job)
    process.start()
    client = Client(bootstrap, process)
    try:
        yield process, client
    finally:
        client.close()
        process.clean_up()
