"""The commit protocol, broken between any two of its steps: afterwards every notification is there, once and right.

One job goes through all of it; each test ends with everything compared with the oracle. `stream/README.md` lists the
failures and names these tests.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from benchmarks import processes
from index.directory import IndexDirectory
from index.engines import engine_named
from index.garbage import collect
from index.manifest import latest, versions
from index.merge import merge
from index.merge_policy import MergePlan
from stream.checkpoint import last_batches, query_identity
from tests.e2e.harness import PATIENCE, Client, Coordinates, JobUnderTest, running_job
from tests.e2e.oracle import assert_notifications_are_the_oracles
from tests.local import local
from tests.pinned import pinned_before
from tests.waiting import wait_for

TOP = 3
PARTITIONS = 2
MISSING = 4711
"""A version that no manifest has."""

PLACES = (
    "subscriptions.published",
    "subscriptions.committed",
    "events.pinned",
    "events.offsets-sent",
    "events.committed",
)
"""Where the driver dies, in the order of the steps."""

TRANSACTION_SECONDS = 5
ABORTED_AFTER = TRANSACTION_SECONDS + 2
"""The broker looks for transactions that lasted too long each second."""


class Exchange:
    """The job, what was subscribed before anything was published, and what was published."""

    def __init__(self, job: JobUnderTest, client: Client) -> None:
        self.job = job
        self.client = client
        self.filters = {f"s{n}": f"a = {n % 5}^0.{n % 9 + 1} or b > {90 + n % 10}" for n in range(40)}
        self.published: list[tuple[Coordinates, Any]] = []
        self.subscribe(**self.filters, moving="n < 0")

    def subscribe(self, **filters: str) -> None:
        """Add or replace subscriptions; what they newly match must not have been published yet."""
        self.filters |= filters
        self.client.subscribe({id_: {"filter": text} for id_, text in filters.items()})

    def publish(self, count: int = 60) -> None:
        """Publish events, spread over the partitions."""
        events = [{"a": n % 7, "b": n % 100, "n": len(self.published) + n} for n in range(count)]
        records = [(str(event["n"]), msgspec.json.encode(event)) for event in events]
        places = self.client.send_all(self.job.topics.events, records)
        self.published += zip(places, events, strict=True)

    def check(self) -> None:
        """All that was published has been answered, once, as the oracle says."""
        self.client.await_committed(self.job.events_group, self.job.topics.events)
        assert_notifications_are_the_oracles(self.client, self.filters, self.published, TOP)


@pytest.fixture(scope="module")
def exchange(broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exchange]:
    settings: dict[str, Any] = {
        "top": TOP,
        "transaction_timeout_ms": TRANSACTION_SECONDS * 1000,
        "max_events_per_batch": 40,
    }
    with running_job(broker.bootstrap_servers, tmp_path_factory.mktemp("protocol"), **settings) as (job, client):
        exchange = Exchange(job, client)
        yield exchange
        exchange.check()
        assert client.letters == []


def test_a_driver_that_dies_in_its_first_batch_with_events_goes_on_there(exchange: Exchange) -> None:
    """Before that one there was an empty batch, for which nothing is committed."""
    job = exchange.job
    checkpoint = job.checkpoints[0]
    wait_for(lambda: last_batches(checkpoint) == (0, 0), PATIENCE)
    job.arm("events.pinned", signal.SIGKILL)
    exchange.publish()
    assert job.process.wait(PATIENCE) == -signal.SIGKILL
    job.await_gone()
    assert last_batches(checkpoint) == (1, 0)
    job.start()
    exchange.check()


def test_a_driver_that_dies_between_any_two_steps_goes_on_there(exchange: Exchange) -> None:
    """One batch of each query dies again and again, each time a step later: what was done is not done twice."""
    job = exchange.job
    job.kill()
    number = len(exchange.published)
    exchange.subscribe(added=f"n >= {number} and a = 1", moving=f"n >= {number} and a = 2")
    exchange.publish()
    for place in PLACES:
        job.arm(place, signal.SIGKILL)
        job.start(wait=False)
        assert job.process.wait(PATIENCE) == -signal.SIGKILL, place
        job.await_gone()
        if place.startswith("events"):
            begun, done = last_batches(job.checkpoints[0])
            assert begun == done + 1, "the batch was under way"
    job.start()
    exchange.check()


def test_workers_and_daemon_that_die_are_replaced_while_the_driver_goes_on(exchange: Exchange) -> None:
    driver = exchange.job.process.pid
    for _ in range(3):
        exchange.publish()
        processes.kill(exchange.job.workers())
        exchange.check()
    exchange.job.process.check()
    assert exchange.job.process.pid == driver


def test_a_compaction_that_dies_is_started_again(exchange: Exchange) -> None:
    job = exchange.job
    first = job.member("index.compaction_process")
    first.kill()
    wait_for(
        lambda: "the compaction ended with code -9 and is started again in 1 s" in job.process.log.read_text(), PATIENCE
    )
    wait_for(lambda: any(member.pid != first.pid for member in job.members("index.compaction_process")), PATIENCE)
    exchange.publish()
    exchange.check()


def test_garbage_that_is_collected_while_a_job_is_idle_takes_nothing_from_its_next_batch(exchange: Exchange) -> None:
    """Somebody merges everything; the version that the job has published goes, as it would after five minutes."""
    job, index = exchange.job, exchange.job.folder / "index"
    exchange.subscribe(later=f"n >= {len(exchange.published)} and a = 3")
    exchange.client.await_committed(job.subscriptions_group, job.topics.subscriptions)
    published = latest(index).version

    def merged() -> bool:
        everything = MergePlan(tuple(entry.segment.name for entry in latest(index).segments))
        return merge(index, everything, engine_named("block")) is not None

    wait_for(merged, PATIENCE)
    collect(index, superseded=0.0)
    assert published not in versions(index)
    exchange.publish()
    exchange.check()


def test_partitions_added_to_the_events_topic_are_read_from_their_beginning(exchange: Exchange) -> None:
    topic = exchange.job.topics.events
    admin = AdminClient({"bootstrap.servers": exchange.client.bootstrap})
    admin.create_partitions([NewPartitions(topic, PARTITIONS + 1)])[topic].result(30)
    wait_for(
        lambda: len(exchange.client.producer.list_topics(topic).topics[topic].partitions) == PARTITIONS + 1, PATIENCE
    )

    def reached() -> bool:
        exchange.publish(20)
        return any(place[0] == PARTITIONS for place, _ in exchange.published)

    wait_for(reached, PATIENCE)
    exchange.check()


def test_a_driver_that_slept_past_its_transaction_ends_and_the_next_one_goes_on(exchange: Exchange) -> None:
    """Kafka aborts the transaction of a driver that gives no sign of life, and does not take it back."""
    job = exchange.job
    job.arm("events.offsets-sent", signal.SIGSTOP)
    exchange.publish()
    wait_for(lambda: psutil.Process(job.process.pid).status() == psutil.STATUS_STOPPED, PATIENCE)
    time.sleep(ABORTED_AFTER)
    os.kill(job.process.pid, signal.SIGCONT)
    assert job.process.wait(PATIENCE) == 1
    assert "its transaction lasted longer than job.transaction_timeout_ms" in job.process.tail(1)
    job.await_gone()
    job.start()
    exchange.check()


def test_a_second_job_with_the_name_fences_the_first_whose_batch_it_runs_again(exchange: Exchange) -> None:
    """Here the second job is only its producer; with the first one's folders it would not get past their locks."""
    job = exchange.job
    other = Producer({"bootstrap.servers": exchange.client.bootstrap, "transactional.id": job.events_group})
    other.init_transactions(30)
    exchange.publish()
    assert job.process.wait(PATIENCE) == 1
    assert f"another job named {job.events_group} has taken over and this one was fenced off" in job.process.tail(1)
    job.await_gone()
    job.start()
    exchange.check()


def test_a_lost_checkpoint_begins_where_the_group_has_committed(exchange: Exchange) -> None:
    exchange.job.kill()
    shutil.rmtree(exchange.job.folder / "checkpoint")
    exchange.publish()
    exchange.job.start()
    exchange.check()


def test_files_of_a_checkpoint_that_a_power_cut_has_torn_cost_nothing(exchange: Exchange) -> None:
    """What Spark has written it has not synced; what is in Kafka and in the index was."""
    job = exchange.job
    job.arm("events.committed", signal.SIGKILL)
    exchange.subscribe(torn=f"a = 1^0.7 and n >= {len(exchange.published)}")
    exchange.publish()
    assert job.process.wait(PATIENCE) == -signal.SIGKILL
    job.await_gone()
    for checkpoint in job.checkpoints:
        for folder, number in zip(("offsets", "commits"), last_batches(checkpoint), strict=True):
            if number >= 0:
                (checkpoint / folder / str(number)).write_bytes(b"")
    exchange.publish()
    job.start()
    log = job.process.log.read_text()
    for checkpoint in job.checkpoints:
        assert re.search(rf"{checkpoint}/(offsets|commits)/\d+ is torn, as after a power cut", log)
    exchange.check()


def test_a_batch_whose_index_version_is_missing_is_matched_with_the_latest(exchange: Exchange) -> None:
    job = exchange.job
    job.arm("events.pinned", signal.SIGKILL)
    exchange.publish()
    assert job.process.wait(PATIENCE) == -signal.SIGKILL
    job.await_gone()
    index, checkpoint = job.folder / "index", job.checkpoints[0]
    owner, (batch, _) = query_identity(checkpoint), last_batches(checkpoint)
    local(IndexDirectory.of(index).pin(owner, batch)).unlink()
    pinned_before(index, owner, batch, MISSING)
    job.start()
    said = f"the version that micro-batch {batch} was matched with can't be read any more"
    assert said in job.process.log.read_text()
    exchange.check()


def test_a_lost_index_is_built_anew(exchange: Exchange) -> None:
    job = exchange.job
    job.kill()
    shutil.rmtree(job.folder / "index")
    exchange.publish()
    job.start()
    assert f"there is no index in {job.folder / 'index'}: it is built from" in job.process.log.read_text()
    exchange.check()
