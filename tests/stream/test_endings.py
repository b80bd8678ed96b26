"""What the job says when a query ends with an error that is not its own."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from stream.endings import ended


def test_a_full_disk_is_told_with_the_cure_in_one_line_and_the_log_has_the_rest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logging.getLogger("tocsin").propagate = True
    error = OSError("java.io.IOException: No space left on device\n\tat java.base/java.io.FileOutputStream")
    told = str(ended("events", error, Path("spark.log")))
    assert told == (
        "the query of events ended: IOException: No space left on device; free some space for job.index_dir "
        "and job.checkpoint_dir, and start the job again; see spark.log"
    )
    assert "FileOutputStream" in caplog.text


def test_any_other_error_is_told_by_its_first_line() -> None:
    assert str(ended("events", KeyError(), Path("x"))) == "the query of events ended: KeyError; see x"


LOST = """An error occurred while calling o133.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:70)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, \
most recent failure: Lost task 0.3 in stage 1.0 (TID 7) (192.0.2.2 executor driver): \
org.apache.spark.SparkException: Python worker exited unexpectedly (crashed).
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator$$anonfun$1.applyOrElse(PythonRunner.scala:704)
Caused by: java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.$anonfun$abortStage$3(DAGScheduler.scala:3318)
"""
ABORTED = LOST[LOST.index("Job aborted") : LOST.index("Caused by: java")]
RAISED = """An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "matcher.py", line 8, in match_batches
    raise ValueError("a segment")
ValueError: a segment

=== Streaming Query ===
Current State: ACTIVE
"""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (LOST, "SparkException: Python worker exited unexpectedly (crashed)"),
        (LOST + "Caused by: java.lang.OutOfMemoryError: Java heap space\n", "OutOfMemoryError: Java heap space"),
        (ABORTED, "SparkException: Python worker exited unexpectedly (crashed)"),
        (RAISED, "ValueError: a segment"),
        (f"x\n: org.apache.spark.api.python.PythonException: {RAISED}\n\tat Executor.run", "ValueError: a segment"),
    ],
)
def test_an_error_of_a_spark_task_is_told_by_what_lies_at_its_bottom(error: str, told: str) -> None:
    assert str(ended("events", RuntimeError(error), Path("x"))) == f"the query of events ended: {told}; see x"
