"""The heartbeat of an idle job: a tiny task now and then, so that Spark does not close the Python workers.

Spark ends all idle workers of an executor 60 s after the last one was used, which no setting changes. The next batch
would fork new ones, and each would open and check the index's segments and build its decoders anew.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from schemas.errors import first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("tocsin.heartbeat")


def beat_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give the rows back; runs in the workers, and importable, as they share their daemon with the job's tasks."""
    yield from batches


def beat(spark: SparkSession) -> None:
    """Use a worker of every core, the way a micro-batch does."""
    cores = spark.sparkContext.defaultParallelism
    spark.range(0, cores, 1, cores).mapInArrow(beat_batches, "id long").toArrow()


def wake(spark: SparkSession) -> threading.Thread:
    """Have the workers started in the background, while the queries are planned: their daemon takes seconds to load.

    On a host whose kernels are not compiled it takes a minute; the thread that is returned ends when they are there.
    """
    thread = threading.Thread(target=_try_to_beat, args=(spark, lambda: True), name="wake", daemon=True)
    thread.start()
    return thread


def _try_to_beat(spark: SparkSession, wanted: Callable[[], bool]) -> None:
    try:
        beat(spark)
    except Exception as error:  # Spark is being stopped, or has failed, which the queries tell better
        if wanted():
            LOG.warning("the heartbeat failed: %s", first_line(error))


class Heartbeat:
    """A context manager: beats while nothing else has kept the workers busy.

    Parameters
    ----------
    spark
        The job's session.
    seconds
        Idle time after which a beat is due; 0: never.
    idle
        Returns for how many seconds no micro-batch has run.
    """

    def __init__(self, spark: SparkSession, seconds: float, idle: Callable[[], float]) -> None:
        self._spark = spark
        self._seconds = seconds
        self._idle = idle
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        if self._seconds > 0:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()

    def _run(self) -> None:
        last = time.monotonic()
        while not self._stop.wait(self._due_in(last)):
            if self._due_in(last) > 0:
                continue
            _try_to_beat(self._spark, lambda: not self._stop.is_set())
            last = time.monotonic()

    def _due_in(self, last: float) -> float:
        """Return the seconds until a beat is due: after the last one, and after the last micro-batch."""
        return max(0.0, self._seconds - min(time.monotonic() - last, self._idle()))
