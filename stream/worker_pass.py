"""One pass of a micro-batch through the workers, taken again later while a worker says that the batch has to wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from schemas.errors import TocsinError
from stream import reread, rows
from stream.progress import IndexProgress
from stream.wording import Say

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 10.0

WorkerFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def mapped(frame: DataFrame, function: WorkerFunction) -> DataFrame:
    """Return the plan of one stage: each partition of a micro-batch becomes rows of `stream.rows`."""
    return frame.mapInArrow(function, rows.SPARK_SCHEMA)


def pass_through_workers(
    frame: DataFrame,
    again: Callable[[], DataFrame],
    plan: Callable[[DataFrame], DataFrame],
    progress: IndexProgress,
    say: Say,
) -> list[pa.RecordBatch]:
    """Return the rows of `stream.rows` that the workers made of a micro-batch.

    While a task postpones the batch, the pass is repeated: after half a second at first, after ten at last. Nothing of
    a postponed pass counts. Batches that wait for the index meanwhile do not count this time as the index being stuck.

    Parameters
    ----------
    frame
        The micro-batch, as Spark's source reads it.
    again
        Returns it as `stream.reread` reads it, for a record whose timestamp Spark's source can't take.
    plan
        Returns the rows to be. Each pass has a plan of its own: Spark keeps what one has shuffled.
    progress
        Tells the batches that wait for the index, and whether the job is being stopped.
    say
        Told that a batch waits.

    Raises
    ------
    Stopping
        The job is being stopped between two passes.
    TocsinError
        A worker can't answer at all, for example because a file of the index is damaged.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            answers: list[pa.RecordBatch] = plan(frame).toArrow().to_batches()
        except Exception as error:  # by Py4J or PySpark, which have no type in common
            if reread.OVERFLOW not in str(error):
                raise
            say("a record's timestamp is not in milliseconds and more than Spark can hold; its batch is read once more")
            frame = again()
            continue
        for failure in rows.values_of(answers, rows.FAILED):
            raise TocsinError(failure.decode())
        reasons = rows.values_of(answers, rows.POSTPONED)
        if not reasons:
            return answers
        say(f"a batch waits and is tried again in {pause:g} s: {reasons[0].decode()}")
        progress.pause(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
