"""Batches that Spark's source can't read: workers in Python read them, and give what the source would give."""

from __future__ import annotations

import json
import uuid
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.processes import children_of, command_of, outermost
from schemas.errors import TocsinError
from stream import clients, pieces, reread
from stream.checkpoint import UnreadableCheckpoint, batch_start_offsets
from stream.heartbeat import beat
from stream.reread import Rereader, read_ranges
from stream.settings import Settings, load_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NANOSECONDS = 1_767_225_600_000_000_000
ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}


def checkpoint_of(folder: Path, topic: str, *offsets: dict[int, int]) -> Path:
    """Write what Spark writes of a query that began at the first offsets and whose batches end at the others."""
    for number, ends in enumerate(offsets):
        file = folder / (f"offsets/{number - 1}" if number else "sources/0/0")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(("v1\n{}\n" if number else "v1\n") + json.dumps({topic: ends}))
    return folder


@pytest.fixture
def settings(broker: Any) -> Settings:
    return load_settings(None, [f"kafka.bootstrap_servers={broker.bootstrap_servers}"], {})


@pytest.fixture
def topic(broker: Any) -> str:
    """Two partitions: one with an aborted and a committed transaction, one with timestamps of all kinds."""
    name = f"t{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, 2, 1, config=ANY_TIME)])[name].result(30)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name})
    producer.init_transactions(30)
    for value, end in ((b"aborted", producer.abort_transaction), (b"committed", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(name, value, b"k", partition=0, timestamp=1_700_000_000_000)
        producer.flush(30)
        end(30)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for millis in (1_700_000_000_000, NANOSECONDS, 1_700_000_000_001):
        producer.produce(name, None if millis % 2 else b"v", partition=1, timestamp=millis)
    producer.flush(30)
    return name


COMMITTED = (b"k", b"committed", 0, 2, 1_700_000_000_000)
OTHERS = [
    (None, b"v", 1, 0, 1_700_000_000_000),
    (None, b"v", 1, 1, NANOSECONDS),
    (None, None, 1, 2, 1_700_000_000_001),
]


def test_spark_gets_the_committed_records_of_a_batch_in_a_task_a_partition(
    spark: SparkSession, settings: Settings, topic: str, tmp_path: Path
) -> None:
    checkpoint = checkpoint_of(tmp_path, topic, {0: 0, 1: 0}, {0: 4, 1: 1}, {0: 4, 1: 3})
    reader = Rereader(settings, topic, checkpoint)
    assert [tuple(row) for row in reader.frame(spark, 0, {0: 4, 1: 1}).collect()] == [COMMITTED, OTHERS[0]]
    assert [tuple(row) for row in reader.frame(spark, 1, {0: 4, 1: 3}).collect()] == OTHERS[1:]
    assert reader.frame(spark, 1, {0: 4, 1: 3}).rdd.getNumPartitions() == 2


def test_workers_of_the_daemon_that_there_is_read_a_batch_again(
    spark: SparkSession, settings: Settings, topic: str, tmp_path: Path
) -> None:
    """Others would have a daemon of their own, which loads every kernel, and the heartbeat would not keep them."""
    beat(spark)
    before = _daemons()
    reader = Rereader(settings, topic, checkpoint_of(tmp_path, topic, {0: 0, 1: 0}, {0: 4, 1: 1}))
    reader.frame(spark, 0, {0: 4, 1: 1}).collect()
    assert before
    assert _daemons() == before


def test_much_is_passed_on_piece_by_piece(settings: Settings, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reread, "RECORDS_AT_ONCE", 1)
    found = list(_read(settings, topic, (0, 0, 4), (1, 0, 3)))
    assert max(batch.num_rows for batch in found) <= 2, "one that was waited for, and one that had come by then"
    assert [tuple(row.values()) for batch in found for row in batch.to_pylist()] == [COMMITTED, *OTHERS]


@pytest.mark.parametrize(("most", "wanted"), [(1, [1, 1, 1, 1]), (2, [1, 2, 1]), (1 << 20, [1, 3])])
def test_records_are_passed_on_from_so_many_bytes_on(
    settings: Settings, topic: str, most: int, wanted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come one by one; values of one byte, and of none at last."""

    def one_at_hand(consumer: Consumer, seconds: float, _: int) -> list[Message]:
        message = consumer.poll(seconds)
        return [] if message is None else [message]

    monkeypatch.setattr(clients, "records_at_hand", one_at_hand)
    monkeypatch.setattr(pieces, "BYTES_AT_ONCE", most)
    lengths = [batch.num_rows for batch in _read(settings, topic, (0, 0, 4), (1, 0, 3))]
    assert [length for length in lengths if length] == wanted, "nothing comes with the end of a transaction"


def test_no_consumer_is_left_open(settings: Settings, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where reading fails, or whoever reads wants no more."""
    made: list[Consumer] = []

    def consumer(configuration: clients.Configuration) -> Consumer:
        made.append(Consumer(configuration))
        return made[-1]

    monkeypatch.setattr(reread, "Consumer", consumer)
    monkeypatch.setattr(reread, "RECORDS_AT_ONCE", 1)
    wants_no_more = _read(settings, topic, (1, 0, 3))
    next(wants_no_more)
    wants_no_more.close()
    list(_read(settings, topic, (0, 0, 4)))
    with pytest.raises(KafkaException):
        list(_read(settings, topic, (1, 7, 9)))
    assert len(made) == 3
    for left in made:
        with pytest.raises(RuntimeError, match="closed"):
            left.assignment()


def test_records_that_are_not_there_any_more_are_not_passed_over(settings: Settings, topic: str) -> None:
    with pytest.raises(KafkaException):
        list(_read(settings, topic, (1, 7, 9)))


def test_records_that_do_not_come_are_given_up_after_a_while(
    settings: Settings, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reread, "PATIENCE_SECONDS", 0.3)
    with pytest.raises(TocsinError, match=r"did not give offsets 3 to 8 of partition 1 of t\w+ within 0\.3 s; "):
        list(_read(settings, topic, (1, 0, 9)))


def test_a_batch_begins_where_the_one_before_ends_and_the_first_where_the_query_began(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, "t", {0: 5}, {0: 9, 1: 2}, {0: 9, 1: 4})
    assert batch_start_offsets(checkpoint, 0, "t") == {0: 5}
    assert batch_start_offsets(checkpoint, 1, "t") == {0: 9, 1: 2}
    (tmp_path / "sources/0/0").write_text("v1\n")
    with pytest.raises(UnreadableCheckpoint, match="sources/0/0 can't be read"):
        batch_start_offsets(checkpoint, 0, "t")


def _daemons() -> set[int]:
    """Return the process ids of the worker daemons that Spark has started here; workers are below them."""
    named = [child for child in children_of(psutil.Process()) if "-m stream.daemon" in command_of(child)]
    return {daemon.pid for daemon in outermost(named)}


def _read(settings: Settings, topic: str, *ranges: tuple[int, int, int]) -> Generator[pa.RecordBatch, None, None]:
    rows = [dict(zip(("partition", "begin", "end"), one, strict=True)) for one in ranges]
    configuration = clients.reader(settings) | {"auto.offset.reset": "error"}
    yield from read_ranges(configuration, topic, iter([pa.RecordBatch.from_pylist(rows)]))
