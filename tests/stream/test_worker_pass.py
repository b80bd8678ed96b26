"""A pass of a micro-batch through the workers: what is waited for, what is read again, and what ends the job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pyarrow as pa
import pytest

from schemas.errors import TocsinError
from stream import reread, rows, worker_pass
from stream.progress import IndexProgress, Stopping
from stream.worker_pass import pass_through_workers

ANSWER = rows.record_batch(rows.NOTIFICATION, [b"id"], [b"value"])
POSTPONED = rows.record_batch(rows.POSTPONED, [None], [b"the registry does not answer"])
FAILED = rows.record_batch(rows.FAILED, [None], [b"a file is damaged"])


class Passes:
    """A micro-batch and its plan: each pass gives the next of these answers, or ends in an error."""

    def __init__(self, *answers: list[pa.RecordBatch] | Exception) -> None:
        self.left = list(answers)

    def toArrow(self) -> pa.Table:  # noqa: N802 (Spark's name)
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return pa.Table.from_batches(answer)


def not_again() -> Any:
    raise AssertionError("read again without need")


def run(passes: Passes, said: list[str], again: Callable[[], Any] = not_again, progress: Any = None) -> list[bytes]:
    progress = progress or IndexProgress(0, {})
    answers = pass_through_workers(cast(Any, passes), again, lambda frame: frame, progress, said.append)
    return rows.values_of(answers, rows.NOTIFICATION)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pass, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(worker_pass, "LONGEST_PAUSE_SECONDS", 0.003)


def test_a_batch_that_has_to_wait_is_tried_ever_more_seldom_and_nothing_of_a_void_pass_counts() -> None:
    said: list[str] = []
    assert run(Passes(*[[ANSWER, POSTPONED]] * 4, [ANSWER]), said) == [b"value"]
    waits = (0.001, 0.002, 0.003, 0.003)
    assert said == [f"a batch waits and is tried again in {s:g} s: the registry does not answer" for s in waits]


def test_a_batch_that_waits_is_left_when_the_job_is_stopped() -> None:
    progress = IndexProgress(0, {})
    progress.stop()
    passes = Passes([POSTPONED], [ANSWER])
    with pytest.raises(Stopping):
        run(passes, [], progress=progress)
    assert len(passes.left) == 1


def test_what_can_not_be_answered_ends_the_job_also_where_another_task_would_wait() -> None:
    with pytest.raises(TocsinError, match=r"^a file is damaged$"):
        run(Passes([ANSWER, POSTPONED, FAILED]), [])


def test_a_batch_that_sparks_source_fails_over_is_read_the_other_way_from_there_on() -> None:
    said: list[str] = []
    other = Passes([POSTPONED], [ANSWER])
    overflows = Passes(RuntimeError(f"org.apache.spark.SparkException: 1767225600000000000 {reread.OVERFLOW}"))
    assert run(overflows, said, lambda: other) == [b"value"]
    assert ["is read once more" in sentence for sentence in said] == [True, False]


def test_any_other_error_is_told_as_it_is() -> None:
    error = RuntimeError("Connection refused")
    with pytest.raises(RuntimeError) as caught:
        run(Passes(error, [ANSWER]), [])
    assert caught.value is error
