"""Where a key belongs: as the clients have it, and a record that lies elsewhere is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from schemas.errors import Refused
from schemas.records import DeadLetter
from stream import clients, rows
from stream.absorber import AbsorbedPartition, absorb_batches
from stream.partitioners import Placing, murmur2, partition_of
from stream.settings import load_settings
from tests.stream.worker_records import absorb_task

KEYS = [b"s", b"abc", b"0123", b"s-42", "größe".encode(), b"x" * 101, *(f"s{n}".encode() for n in range(60))]
PARTITIONS = 7


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_that_of_kafkas_java_client(key: bytes, hashed: int) -> None:
    """The values are those of the client's own test."""
    assert murmur2(key) == hashed % 2**32


@pytest.mark.parametrize("name", ["any", "consistent", "murmur2"])
def test_our_producers_put_a_key_where_the_job_looks_for_it(broker: Any, name: Any) -> None:
    overrides = [f"kafka.bootstrap_servers={broker.bootstrap_servers}", f"subscriptions.partitioner={name}"]
    settings = load_settings(overrides=overrides, environ={})
    topic = f"partitioner-{name}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
    found: dict[Any, Any] = {}
    producer = Producer(clients.producer(settings))
    for key in KEYS:
        producer.produce(topic, b"", key, on_delivery=lambda _, sent: found.update({sent.key(): sent.partition()}))
    assert producer.flush(30) == 0
    placing = Placing(name, PARTITIONS)
    for key in KEYS:
        placing.check(key, found[key])
    assert found == {key: partition_of(key, "consistent" if name == "any" else name, PARTITIONS) for key in KEYS}


def test_a_record_that_lies_elsewhere_is_refused_with_the_cure() -> None:
    home = partition_of(b"s", "murmur2", 4)
    Placing("murmur2", 4).check(b"s", home)
    Placing("any", 4).check(b"s", home + 1)
    with pytest.raises(Refused, match="Give every producer the same partitioner") as caught:
        Placing("murmur2", 4).check(b"s", (home + 1) % 4)
    assert caught.value.code == "subscription.wrong_partition"
    assert f"its key belongs in {home} of 4" in str(caught.value)


def test_a_worker_puts_such_a_record_among_the_dead_letters_and_absorbs_the_others(tmp_path: Path) -> None:
    partition = partition_of(b"here", "murmur2", 4)
    strange = next(key for key in KEYS if partition_of(key, "murmur2", 4) != partition)
    keys, count = [b"here", strange, strange], 3
    columns = {
        "key": pa.array(keys, pa.binary()),
        "value": pa.array([b'{"filter": "a = 1"}', b'{"filter": "a = 1"}', None], pa.binary()),
        "partition": pa.array([partition] * count, pa.int32()),
        "offset": pa.array(range(count), pa.int64()),
    }
    task = absorb_task(tmp_path, placing=Placing("murmur2", 4))
    answers = list(absorb_batches(task, iter([pa.record_batch(columns)])))
    letters = [msgspec.msgpack.decode(value, type=DeadLetter) for value in rows.values_of(answers, rows.DEAD_LETTER)]
    assert [(letter.key, letter.offset) for letter in letters] == [(strange, 1), (strange, 2)]
    assert {letter.reason for letter in letters} == {"subscription.wrong_partition"}
    (part,) = (msgspec.msgpack.decode(v, type=AbsorbedPartition) for v in rows.values_of(answers, rows.SEGMENT))
    assert part.removed == []
    assert part.segment is not None
    assert part.segment.count == 1
