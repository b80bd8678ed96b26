"""A change of a subscription that was acknowledged before an event was produced is applied to it, whatever goes on.

One job goes through all of it, with two partitions of each topic, and at the end every event is compared with the
oracle: it has met each subscription as it was when the event was produced, or as it became later.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from confluent_kafka import Producer

from index.manifest import latest
from tests.e2e.harness import PATIENCE, Client, Coordinates, JobUnderTest, quiet, running_job
from tests.faults.history import History, Order

ROUNDS = 100
MANY = 600
IDS = 20


class Writer:
    """Changes subscriptions and publishes events, keeps the history of both, and compares what came with it."""

    def __init__(self, job: JobUnderTest, client: Client) -> None:
        self.job = job
        self.client = client
        self.history = History()
        self.rounds = 0
        self._transactional: Producer | None = None

    def transactional(self) -> Producer:
        """A producer whose records count when its transaction is committed."""
        if self._transactional is None:
            name = {"transactional.id": f"{self.job.name}-writer", "linger.ms": 0, "enable.idempotence": True}
            self._transactional = Producer(quiet(self.client.bootstrap) | name)
            self._transactional.init_transactions(60)
        return self._transactional

    def changes_of_a_round(self) -> dict[str, str | None]:
        """One is new, one is replaced, one comes and goes."""
        n = self.rounds
        return {
            f"new-{n % IDS}": f"round = {n}",
            "moving": f"round = {n}",
            f"gone-{(n - 1) % IDS}": None,
            f"gone-{n % IDS}": f"round > {n}",
        }

    def change(self, changes: dict[str, str | None]) -> None:
        """Change subscriptions and wait for the acknowledgement."""
        self.client.send_all(self.job.topics.subscriptions, [(id_, _body(text)) for id_, text in changes.items()])
        self.note(changes)

    def note(self, changes: dict[str, str | None]) -> None:
        for id_, text in changes.items():
            self.history.changed(id_, text)

    def publish(self) -> Coordinates:
        """Publish the event that tells of this round."""
        event, now = {"round": self.rounds}, self.history.now
        (place,) = self.client.publish([event])
        self.history.published(place, event, now)
        self.rounds += 1
        return place

    def check(self) -> None:
        self.client.await_committed(self.job.events_group, self.job.topics.events)
        verdict = self.history.judge(self.client.matches_by_event())
        assert verdict.examples == []
        assert verdict.right > 0
        assert Order().late(self.client.found) == []


def _body(text: str | None) -> str | None:
    return None if text is None else f'{{"filter": "{text}"}}'


@pytest.fixture(scope="module")
def writer(broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    folder = tmp_path_factory.mktemp("causality")
    with running_job(broker.bootstrap_servers, folder, max_events_per_batch=200) as (job, client):
        yield Writer(job, client)
        assert client.letters == []
        assert job.stop() == 0


def test_a_change_acknowledged_just_before_an_event_is_applied_every_time_also_while_segments_merge(
    writer: Writer,
) -> None:
    merged, segments, until = False, 0, time.monotonic() + PATIENCE
    for n in count():
        if merged and n >= ROUNDS:
            break
        assert time.monotonic() < until
        writer.change(writer.changes_of_a_round())
        writer.publish()
        writer.client.poll(0.001 * (n % 40))  # rounds meet the job's micro-batches at varying moments
        before, segments = segments, len(latest(writer.job.folder / "index").segments)
        merged = merged or segments < before
    writer.check()


def test_a_transaction_committed_just_before_an_event_is_applied_every_time(writer: Writer) -> None:
    """Kafka answers a commit before it has marked the partitions, and the event comes from another producer."""
    producer = writer.transactional()
    for n in range(ROUNDS):
        changes = writer.changes_of_a_round()
        producer.begin_transaction()
        for id_, text in changes.items():
            producer.produce(writer.job.topics.subscriptions, _body(text), id_)
        producer.commit_transaction(60)
        writer.note(changes)
        writer.publish()
        writer.client.poll(0.001 * (n % 20))
    writer.check()


def test_what_an_aborted_transaction_wrote_is_seen_by_nobody(writer: Writer) -> None:
    """Its records stay in both topics as gaps between the offsets, with the markers of the transactions."""
    topics, producer = writer.job.topics, writer.transactional()
    for n in range(20):
        producer.begin_transaction()
        producer.produce(topics.subscriptions, b'{"filter": "round >= 0"}', f"aborted-{n}")
        producer.produce(topics.subscriptions, None, "moving")
        producer.produce(topics.events, f'{{"round": {writer.rounds}}}')
        assert producer.flush(60) == 0
        writer.change(writer.changes_of_a_round())
        writer.publish()
        producer.abort_transaction(60)
        writer.publish()
    writer.client.reopen()  # a new consumer goes on where the old one was, and doubles nothing
    writer.check()


def test_a_change_acknowledged_behind_an_open_transaction_is_applied(writer: Writer) -> None:
    """Nobody who reads what is committed sees it before the transaction, which is another producer's, has ended."""
    producer = writer.transactional()
    for n in range(16):
        producer.begin_transaction()
        for other in range(IDS):  # in both partitions
            producer.produce(writer.job.topics.subscriptions, b'{"filter": "round < 0"}', f"open-{other}")
        assert producer.flush(60) == 0
        writer.change(writer.changes_of_a_round())
        writer.publish()
        time.sleep(0.08 * (n % 8))  # most of the time the event's batch has begun before the transaction ends
        producer.commit_transaction(60)
        writer.note({f"open-{other}": "round < 0" for other in range(IDS)})
    writer.check()


def test_a_job_that_was_killed_and_lags_behind_applies_what_was_acknowledged_before(writer: Writer) -> None:
    job = writer.job
    job.arm("events.offsets-sent", signal.SIGKILL)
    writer.change(writer.changes_of_a_round())
    writer.publish()
    assert job.process.wait(60) == -signal.SIGKILL
    job.await_gone()
    for n in range(MANY):
        if n % 5 == 0:
            writer.change(writer.changes_of_a_round())
        writer.publish()
    job.start()
    writer.check()
