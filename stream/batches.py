"""What both queries share: what their batches use, the gate that lets a stop wait for one, and the source's options."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stream.checkpoint import Offsets, starting_offsets
from stream.metrics import Metrics
from stream.output import TransactionalOutput
from stream.progress import IndexProgress, Stopping
from stream.reread import Rereader
from stream.worker_pass import Say

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PAUSE_MS = {"subscriptions": 50, "events": 10}
"""How long each query waits, when nothing new has come, before it asks Kafka again.

Every time costs driver and broker a good millisecond. For events that is the price of an answer at once; Spark's
10 ms for subscriptions too would take 7 % of a core from the events, always.
"""

BatchFunction = Callable[["DataFrame", int], None]


@dataclass(frozen=True, eq=False)
class QueryBatches:
    """What the micro-batches of a query use; each of the two queries adds what is its own, and a call that takes one.

    Attributes
    ----------
    checkpoint
        The query's, in which Spark has written down where a batch ends.
    reread
        Reads a batch that Spark's source fails over.
    output
        Takes what a batch gives, and its offsets.
    progress
        How far the index has come.
    metrics, say
        Told of each batch, and of what a person should know.
    """

    checkpoint: Path
    reread: Rereader
    output: TransactionalOutput
    progress: IndexProgress
    metrics: Metrics
    say: Say


class BatchGate:
    """Lets one batch of a query through at a time and none after `close`; remembers the error that ended the query."""

    def __init__(self) -> None:
        self._under_way = threading.Lock()
        self._closed = False
        self.error: Exception | None = None

    def guard(self, function: BatchFunction) -> BatchFunction:
        """Return the function to give to ``foreachBatch``; once the gate is closed it raises `Stopping`."""

        def guarded(frame: DataFrame, batch: int) -> None:
            with self._under_way:
                if self._closed:
                    raise Stopping
                try:
                    function(frame, batch)
                except Exception as error:
                    self.error = error
                    raise

        return guarded

    def close(self, seconds: float) -> None:
        """Close the gate and wait for the batch under way, but no longer than ``seconds``."""
        self._closed = True
        if self._under_way.acquire(timeout=seconds):
            self._under_way.release()


def start_query(
    spark: SparkSession,
    topic: str,
    options: dict[str, str],
    partitions: int,
    known: Offsets,
    limit: int,
    checkpoint: Path,
    function: BatchFunction,
    pause_ms: int,
) -> StreamingQuery:
    """Start a query over one topic.

    Parameters
    ----------
    spark
        The session.
    topic, partitions
        What is read; the query is named after it in Spark's logs.
    options
        Kafka consumer options with Spark's ``kafka.`` prefix.
    known
        Where to begin when the checkpoint is new; partitions that are not named begin at their beginning.
    limit
        The most records of one micro-batch.
    checkpoint
        The query's own checkpoint folder.
    function
        Called with (frame of key, value, partition, offset, millis; batch number).
    pause_ms
        See `PAUSE_MS`.
    """
    spark.conf.set("spark.sql.streaming.pollingDelay", f"{pause_ms}ms")  # a query keeps what it started with
    frame = (
        spark.readStream.format("kafka")
        .options(**options)
        .option("subscribe", topic)
        .option("startingOffsets", starting_offsets(topic, partitions, known))
        .option("maxOffsetsPerTrigger", limit)
        .load()
        .selectExpr("key", "value", "partition", "offset", "unix_millis(timestamp) AS millis")
    )
    return (
        frame.writeStream.queryName(topic).option("checkpointLocation", str(checkpoint)).foreachBatch(function).start()
    )
