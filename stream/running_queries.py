"""The running queries: each is started behind a gate, seen to have ended with an error, and stopped after its batch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.errors import TocsinError, first_line
from stream.batches import BatchFunction
from stream.checkpoint import starting_offsets
from stream.endings import ended, machine_ended
from stream.gateway import NOTICE_SECONDS, end_of, in_vain_when_ended
from stream.log_files import output_file
from stream.output import TransactionalOutput
from stream.progress import IndexProgress, Stopping
from stream.query_plans import QueryPlan
from stream.stop import Stop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


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
                except BaseException as error:  # a library's way to end a process: the query would wait for ever
                    self.error = RuntimeError(f"{type(error).__name__} in a batch: {first_line(error)}")
                    raise self.error from error

        return guarded

    def close(self, seconds: float) -> None:
        """Close the gate and wait for the batch under way, but no longer than ``seconds``."""
        self._closed = True
        if self._under_way.acquire(timeout=seconds):
            self._under_way.release()


def start_query(
    spark: SparkSession, plan: QueryPlan, options: dict[str, str], function: BatchFunction
) -> StreamingQuery:
    """Start a query over one topic.

    Parameters
    ----------
    spark
        The session.
    plan
        What is read, from where on, and the checkpoint.
    options
        Kafka consumer options with Spark's ``kafka.`` prefix.
    function
        Called in the place of the plan's own.
    """
    spark.conf.set("spark.sql.streaming.pollingDelay", f"{plan.pause_ms}ms")  # a query keeps what it started with
    frame = (
        spark.readStream.format("kafka")
        .options(**options)
        .option("subscribe", plan.topic)
        .option("startingOffsets", starting_offsets(plan.topic, plan.partitions, plan.known))
        .option("maxOffsetsPerTrigger", plan.limit)
        .load()
        .selectExpr("key", "value", "partition", "offset", "unix_millis(timestamp) AS millis")
    )
    writer = frame.writeStream.queryName(plan.topic).option("checkpointLocation", str(plan.checkpoint))
    return writer.foreachBatch(function).start()


class RunningQueries:
    """The queries of a session, and the session itself, from the first start to the end.

    Parameters
    ----------
    spark
        The session, which ends with the queries.
    progress
        Where batches of events wait; woken when all is shut down.
    outputs
        Of the queries; closed when these have ended.
    stop
        Whether the job is to stop; told when Spark's Java machine has ended.
    log
        The log file, which the sentences name.
    """

    def __init__(
        self,
        spark: SparkSession,
        progress: IndexProgress,
        outputs: Sequence[TransactionalOutput],
        stop: Stop,
        log: Path,
    ) -> None:
        self._spark = spark
        self._gateway = spark.sparkContext._gateway
        self._progress = progress
        self._outputs = outputs
        self._stop = stop
        self._log = log
        self._gates: list[BatchGate] = []
        self._queries: list[StreamingQuery] = []

    def start(self, plan: QueryPlan, options: dict[str, str]) -> None:
        """Start another one; the options are those of `start_query`."""
        gate = BatchGate()
        self._gates.append(gate)
        self._queries.append(start_query(self._spark, plan, options, gate.guard(plan.batches)))

    def check(self) -> None:
        """End the job when one of them has ended.

        Raises
        ------
        TocsinError
            One has, with an error or without, or Spark's Java machine has.
        """
        self.check_machine()
        for gate, query in zip(self._gates, self._queries, strict=True):
            if isinstance(gate.error, TocsinError):
                raise gate.error
            if gate.error is not None and not isinstance(gate.error, Stopping):
                self.check_machine(NOTICE_SECONDS)  # the call that waits for a batch is the first to know
                raise ended(query.name, gate.error, self._log) from gate.error
            if not query.isActive and not self._stop.asked:
                raise ended(query.name, query.exception() or "it was stopped", self._log)

    def check_machine(self, seconds: float = 0.0) -> None:
        """End the job when Spark's Java machine has ended, or does within so many seconds.

        Raises
        ------
        TocsinError
            It has; the stop has begun with it.
        """
        if (code := end_of(self._gateway, seconds)) is not None:
            error = machine_ended(code, output_file(self._log))
            self._stop.begin(error)
            raise error

    def spark_ms(self) -> dict[str, int]:
        """Return Spark's own times of the last batch of the query that was started last."""
        progress = self._queries[-1].lastProgress
        return dict(progress["durationMs"]) if progress else {}

    def shut_down(self) -> None:
        """Let the batches under way end, then stop the queries and Spark."""
        self._progress.stop()
        for gate in self._gates:
            gate.close(self._stop.left_for_batches())
        with in_vain_when_ended(self._gateway):
            for query in self._queries:
                query.stop()
        for output in self._outputs:
            output.close()
        with in_vain_when_ended(self._gateway):
            self._spark.stop()
