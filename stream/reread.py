"""A micro-batch's records, read from Kafka by workers in Python where Spark's source fails over a record's timestamp.

Spark holds timestamps as microseconds in 64 bits. Of a record whose producer took another unit, nanoseconds say, its
source can't make a row, and fails with the batch. Brokers take such records where a topic allows any timestamp. Such a
batch is rare and is read once more, by this way, in which a timestamp is a number like any other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from schemas.errors import TocsinError
from stream import clients, pieces
from stream.checkpoint import batch_start_offsets
from stream.offsets import Offsets
from stream.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OVERFLOW = "overflows when converting to Spark's microsecond-precision TimestampType"
"""What Spark says of a timestamp that it can't hold."""

SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("millis", pa.int64()),
    ]
)
SPARK_SCHEMA = "key binary, value binary, partition int, offset long, millis long"

RECORDS_AT_ONCE = 5_000
"""From so many on, or from as many bytes as a piece of answers has, what was read is passed on."""

PATIENCE_SECONDS = 60.0
"""Without a record for so long, the brokers count as gone."""


class Rereader(NamedTuple):
    """Reads batches of a query again.

    Attributes
    ----------
    settings
        How to reach the brokers.
    topic
        What the query reads.
    checkpoint
        The query's, which says where a batch begins.
    """

    settings: Settings
    topic: str
    checkpoint: Path

    def frame(self, spark: SparkSession, batch: int, end: Offsets) -> DataFrame:
        """Return a batch's records as `running_queries.start_query` gives them to its function, a task a partition."""
        start = batch_start_offsets(self.checkpoint, batch, self.topic)
        partitions = sorted(end)
        ranges = pa.table(
            {
                "partition": pa.array(partitions, pa.int32()),
                "begin": pa.array([start.get(partition, 0) for partition in partitions], pa.int64()),
                "end": pa.array([end[partition] for partition in partitions], pa.int64()),
            }
        )
        # Resolved here: the files and variables that secrets are in need not be on the hosts of the workers.
        configuration = clients.reader(self.settings) | {"auto.offset.reset": "error"}
        read = partial(read_ranges, configuration, self.topic)
        frame = spark.createDataFrame(ranges)  # as Arrow: rows would pass through workers and a daemon of their own
        return frame.repartitionById(max(end) + 1, "partition").mapInArrow(read, SPARK_SCHEMA)


def read_ranges(
    configuration: clients.Configuration, topic: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the committed records of the ranges that rows of ``partition, begin, end`` name; runs on the workers."""
    for batch in batches:
        for row in batch.to_pylist():
            yield from _read(configuration, topic, row["partition"], row["begin"], row["end"])


def _read(
    configuration: clients.Configuration, topic: str, partition: int, begin: int, end: int
) -> Iterator[pa.RecordBatch]:
    """Yield the records from ``begin`` on and before ``end``, of which compaction and transactions leave some out."""
    if begin >= end:
        return
    consumer = Consumer(configuration)
    consumer.assign([TopicPartition(topic, partition, begin)])
    try:
        at, held, patience = begin, list[Message](), time.monotonic() + PATIENCE_SECONDS
        while at < end:
            for message in clients.records_at_hand(consumer, 1.0, RECORDS_AT_ONCE):
                at, patience = _next_offset(message, at), time.monotonic() + PATIENCE_SECONDS
                if message.error() is None and at <= end:
                    held.append(message)
            if at >= end or len(held) >= RECORDS_AT_ONCE or sum(map(len, held)) >= pieces.BYTES_AT_ONCE:
                yield _rows(held)
                held = []
            if time.monotonic() > patience:
                raise TocsinError(
                    f"Kafka did not give offsets {at:,} to {end - 1:,} of partition {partition} of {topic} within "
                    f"{PATIENCE_SECONDS:g} s; see whether its brokers are well, and start the job again"
                )
    finally:
        consumer.close()


def _next_offset(message: Message, at: int) -> int:
    """Return where a consumer is after a message, which may be the end of the partition, or an error."""
    error = message.error()
    if error is None:
        return (message.offset() or 0) + 1
    if error.code() == KafkaError._PARTITION_EOF:
        return message.offset() or 0
    if error.code() == KafkaError._AUTO_OFFSET_RESET or error.fatal():
        raise KafkaException(error)
    return at  # any other the client overcomes by itself


def _rows(messages: list[Message]) -> pa.RecordBatch:
    columns = (
        [message.key() for message in messages],
        [message.value() for message in messages],
        [message.partition() for message in messages],
        [message.offset() for message in messages],
        [message.timestamp()[1] for message in messages],
    )
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.record_batch(arrays, schema=SCHEMA)
