"""The running queries, without Spark: what ends the job when one has ended, and the order in which they are stopped."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.errors import TocsinError
from stream import running_queries
from stream.progress import IndexProgress, Stopping
from stream.query_plans import QueryPlan
from stream.running_queries import BatchGate, RunningQueries
from stream.stop import Stop

LOG = Path("spark.log")


class Query:
    """What Spark would return for a query that has been started."""

    def __init__(self, name: str, batch: Callable[..., None], order: list[str]) -> None:
        self.name, self.batch, self._order = name, batch, order
        self.isActive = True
        self.lastProgress: dict[str, Any] | None = None

    def exception(self) -> None:
        return None

    def stop(self) -> None:
        self._order.append(f"query {self.name}")


class Job:
    """A session that starts `Query`, with two outputs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, java: subprocess.Popen[bytes] | None = None) -> None:
        self.order: list[str] = []
        self.started: list[Query] = []
        self.stop = Stop(self.order.append)
        self.progress = IndexProgress(0, {})
        context = SimpleNamespace(_gateway=SimpleNamespace(proc=java))
        spark: Any = SimpleNamespace(sparkContext=context, stop=lambda: self.order.append("spark"))
        outputs: Any = [
            SimpleNamespace(close=lambda: self.order.append("output 1")),
            SimpleNamespace(close=lambda: self.order.append("output 2")),
        ]
        monkeypatch.setattr(running_queries, "start_query", self._start)
        self.queries = RunningQueries(spark, self.progress, outputs, self.stop, LOG)

    def _start(self, _: Any, plan: QueryPlan, __: dict[str, str], function: Callable[..., None]) -> Query:
        self.started.append(Query(plan.topic, function, self.order))
        return self.started[-1]

    def run(self, topic: str, batch: Callable[..., None]) -> Query:
        self.queries.start(QueryPlan(topic, 1, {}, 1, Path("checkpoint"), batch, 1), {})
        return self.started[-1]


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    job = Job(monkeypatch)
    yield job
    job.stop.done()


def raising(error: BaseException) -> Callable[..., None]:
    def batch(*_: Any) -> None:
        raise error

    return batch


def test_a_gate_lets_no_batch_through_once_it_is_closed_and_waits_for_the_one_under_way() -> None:
    gate, began, may_end, ended = BatchGate(), threading.Event(), threading.Event(), threading.Event()

    def batch(*_: Any) -> None:
        began.set()
        may_end.wait(30)
        ended.set()

    guarded: Any = gate.guard(batch)
    thread = threading.Thread(target=guarded, args=(None, 0))
    thread.start()
    assert began.wait(30)
    gate.close(0.01)
    assert not ended.is_set(), "it waits no longer than it is told to"
    threading.Timer(0.05, may_end.set).start()
    gate.close(30)
    assert ended.is_set()
    thread.join()
    with pytest.raises(Stopping):
        guarded(None, 1)
    assert gate.error is None


def test_what_would_end_a_process_ends_the_query(job: Job) -> None:
    """Neither Py4J nor PySpark would pass it on, and the query would wait for an answer for ever."""
    query = job.run("events", raising(SystemExit(1)))
    with pytest.raises(RuntimeError, match="SystemExit in a batch: 1"):
        query.batch(None, 0)
    with pytest.raises(TocsinError, match=r"the query of events ended: SystemExit in a batch: 1"):
        job.queries.check()


def test_an_error_of_the_job_s_own_ends_it_as_it_is(job: Job) -> None:
    own = TocsinError("the index is gone")
    query = job.run("events", raising(own))
    job.queries.check()
    with pytest.raises(TocsinError, match="the index is gone"):
        query.batch(None, 0)
    with pytest.raises(TocsinError) as told:
        job.queries.check()
    assert told.value is own


def test_another_error_ends_the_job_with_a_sentence_that_names_query_and_log(job: Job) -> None:
    job.run("subscriptions", lambda *_: None)
    query = job.run("events", raising(OSError("No space left on device")))
    with pytest.raises(OSError, match="No space"):
        query.batch(None, 0)
    with pytest.raises(
        TocsinError, match=r"the query of events ended: No space left on device; free .*; see spark.log"
    ):
        job.queries.check()


def test_a_query_that_was_stopped_ends_the_job_unless_that_is_to_stop(job: Job) -> None:
    job.run("events", lambda *_: None).isActive = False
    with pytest.raises(TocsinError, match=r"the query of events ended: it was stopped; see spark.log"):
        job.queries.check()
    job.stop.begin()
    job.queries.check()


def test_a_batch_that_is_cut_off_by_the_stop_is_no_error(job: Job) -> None:
    query = job.run("events", raising(Stopping()))
    with pytest.raises(Stopping):
        query.batch(None, 0)
    job.queries.check()


def test_the_end_of_java_is_told_before_what_follows_from_it_and_begins_the_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]) as java:
        job = Job(monkeypatch, java)
        query = job.run("events", raising(ConnectionError("refused")))
        with pytest.raises(ConnectionError):
            query.batch(None, 0)
        java.wait(30)
        with pytest.raises(TocsinError, match=r"Java machine ended with exit code 3; see spark.log.output"):
            job.queries.check()
        assert job.stop.asked
        job.stop.done()


def test_outputs_are_closed_between_the_queries_and_spark_and_no_batch_waits_any_more(job: Job) -> None:
    first, _ = job.run("subscriptions", lambda *_: None), job.run("events", lambda *_: None)
    job.queries.shut_down()
    assert job.order == ["query subscriptions", "query events", "output 1", "output 2", "spark"]
    with pytest.raises(Stopping):
        job.progress.sleep(30)
    with pytest.raises(Stopping):
        first.batch(None, 1)


def test_spark_s_times_are_those_of_the_query_that_was_started_last(job: Job) -> None:
    first, last = job.run("subscriptions", lambda *_: None), job.run("events", lambda *_: None)
    first.lastProgress = {"durationMs": {"addBatch": 1}}
    assert job.queries.spark_ms() == {}
    last.lastProgress = {"durationMs": {"addBatch": 2}}
    assert job.queries.spark_ms() == {"addBatch": 2}
