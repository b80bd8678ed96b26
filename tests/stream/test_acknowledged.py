"""Events wait for transactions that are open on the subscriptions topic, on a real broker; not for ever, not twice."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from schemas.errors import TocsinError
from stream.acknowledged import AcknowledgedEnd
from stream.clients import TopicEnds
from stream.offsets import Offsets
from stream.progress import IndexProgress, Stopping
from stream.settings import load_settings
from stream.sources import source_of
from tests.waiting import wait_for

LONG = 60.0


class Topic:
    """A topic of its own with a plain producer and a transactional one, and who tells its end."""

    def __init__(self, bootstrap: str) -> None:
        self.name = f"acknowledged-{uuid.uuid4().hex[:8]}"
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self.admin.create_topics([NewTopic(self.name, 2, 1)])[self.name].result(30)
        self.ends = TopicEnds(load_settings(None, [f"kafka.bootstrap_servers={bootstrap}"], {}))
        self.source = source_of(self.ends, self.name)
        self.progress = IndexProgress(0, {})
        self.said: list[str] = []
        self.plain = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self.transactional = Producer({"bootstrap.servers": bootstrap, "transactional.id": self.name, "linger.ms": 0})
        self.transactional.init_transactions(60)

    def end(self, patience: float) -> AcknowledgedEnd:
        return AcknowledgedEnd(self.ends, self.source, patience, self.progress.sleep, self.said.append)

    def write(self, producer: Producer, partition: int = 0) -> None:
        """Write a record and have it acknowledged."""
        producer.produce(self.name, b"x", b"k", partition=partition)
        assert producer.flush(60) == 0

    def open(self) -> None:
        self.transactional.begin_transaction()
        self.write(self.transactional)


class Asking:
    """Asks for the end in a thread, as a batch of events does."""

    def __init__(self, end: AcknowledgedEnd) -> None:
        self.answer: Offsets | None = None
        self.raised: BaseException | None = None
        self._end = end
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        try:
            self.answer = self._end()
        except Stopping as stopping:
            self.raised = stopping

    @property
    def waits(self) -> bool:
        self._thread.join(0.3)
        return self._thread.is_alive()

    def wait(self) -> None:
        self._thread.join(LONG)
        assert not self._thread.is_alive()


@pytest.fixture
def topic(broker: Any) -> Iterator[Topic]:
    made = Topic(broker.bootstrap_servers)
    yield made
    made.admin.delete_topics([made.name])[made.name].result(30)


def test_what_was_acknowledged_behind_an_open_transaction_is_waited_for(topic: Topic) -> None:
    end = topic.end(LONG)
    topic.write(topic.plain)
    assert end() == {0: 1, 1: 0}
    topic.open()
    topic.write(topic.plain)
    topic.write(topic.plain, partition=1)
    asking = Asking(end)
    assert asking.waits
    assert topic.ends.of(topic.name) == {0: 1, 1: 1}, "who reads what is committed sees no more of partition 0"
    topic.transactional.commit_transaction(60)
    asking.wait()
    assert asking.answer == {0: 4, 1: 1}, "with the transaction's marker"
    assert topic.said == []


@pytest.mark.parametrize("commits", [True, False])
def test_the_end_after_a_transaction_lies_behind_it_as_soon_as_the_producer_knows(topic: Topic, commits: bool) -> None:
    """Kafka answers before it has marked the partitions."""
    end = topic.end(LONG)
    for n in range(1, 21):
        topic.open()
        if commits:
            topic.transactional.commit_transaction(60)
        else:
            topic.transactional.abort_transaction(60)
        found = end()
        assert found[0] >= 2 * n - 1, "the record"
    assert topic.said == []


def test_one_that_stays_open_is_passed_over_after_a_while_and_told_once(topic: Topic) -> None:
    end = topic.end(0.2)
    topic.write(topic.plain)
    topic.open()
    topic.write(topic.plain)
    began = time.monotonic()
    assert end() == {0: 1, 1: 0}
    assert time.monotonic() - began >= 0.2
    (sentence,) = topic.said
    assert "partition 0 at offset 1" in sentence
    assert "subscriptions.open_transaction_seconds, 0.2 s" in sentence
    waiting = topic.end(LONG)
    waiting._passed_over = end._passed_over  # so that one that waited would be seen
    topic.write(topic.plain)
    assert waiting() == {0: 1, 1: 0}
    topic.transactional.commit_transaction(60)
    # the partition is marked some time after the answer, and nobody waits there again
    wait_for(lambda: waiting()[0] >= 4, LONG)
    topic.open()
    asking = Asking(waiting)
    assert asking.waits, "the next one is another one"
    topic.transactional.abort_transaction(60)
    asking.wait()
    assert len(topic.said) == 1


def test_a_job_that_is_being_stopped_waits_no_longer(topic: Topic) -> None:
    topic.open()
    asking = Asking(topic.end(LONG))
    assert asking.waits
    topic.progress.stop()
    asking.wait()
    assert isinstance(asking.raised, Stopping)
    topic.transactional.abort_transaction(60)


def test_no_patience_means_no_wait(topic: Topic) -> None:
    topic.open()
    assert topic.end(0.0)() == {0: 0, 1: 0}
    topic.transactional.abort_transaction(60)


def test_events_are_not_matched_without_a_partition_that_was_added(topic: Topic) -> None:
    end = topic.end(LONG)
    assert end() == {0: 0, 1: 0}
    topic.admin.create_partitions([NewPartitions(topic.name, 3)])[topic.name].result(30)
    wait_for(lambda: topic.ends.partitions_now(topic.name) == 3, 30)
    with pytest.raises(TocsinError, match=r"the job began with .* with 2 partitions, and now there are 3"):
        end()
