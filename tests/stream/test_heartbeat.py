"""The heartbeat: Spark closes idle Python workers, and does not close those of a job whose heart beats."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from benchmarks.processes import command_of
from stream.heartbeat import Heartbeat, beat
from tests.waiting import wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLOSED_AFTER = 60
"""Seconds after which Spark closes idle workers, written into it; it looks every ten."""


def _workers() -> set[int]:
    """Return the process ids of the Python workers that this process's Spark has forked."""
    found: set[int] = set()
    for process in psutil.Process(os.getpid()).children(recursive=True):
        if "-m stream.daemon" in command_of(process):
            with contextlib.suppress(psutil.Error):  # it ends just now
                found |= {worker.pid for worker in process.children() if worker.status() != psutil.STATUS_ZOMBIE}
    return found


def _let_pass(spark: SparkSession, seconds: int) -> None:
    """Let the workers have been idle for some seconds longer than they have: Spark's pools note when one was used."""
    jvm: Any = spark._jvm
    environment = jvm.org.apache.spark.SparkEnv.get()
    pools = environment.getClass().getDeclaredField("pythonWorkers")
    pools.setAccessible(True)
    for pool in jvm.scala.jdk.javaapi.CollectionConverters.asJava(pools.get(environment)).values():
        (last,) = [field for field in pool.getClass().getDeclaredFields() if field.getName().endswith("lastActivityNs")]
        last.setAccessible(True)
        last.setLong(pool, last.getLong(pool) - seconds * 1_000_000_000)


def test_a_beat_keeps_every_worker_that_would_have_been_closed(spark: SparkSession) -> None:
    """Both halves: 65 idle seconds end the workers, and a beat in between leaves the same processes.

    Those that earlier tests have left may be another daemon's, which a beat does not use: they are ended first.
    """
    _let_pass(spark, CLOSED_AFTER + 5)
    wait_for(lambda: not _workers(), 30, "Spark did not close the workers of earlier tests")
    beat(spark)
    workers = _workers()
    assert workers
    _let_pass(spark, CLOSED_AFTER - 15)
    beat(spark)
    _let_pass(spark, CLOSED_AFTER - 15)
    time.sleep(11)  # Spark has looked
    assert workers <= _workers()
    _let_pass(spark, CLOSED_AFTER + 5)
    wait_for(lambda: not workers & _workers(), 30, "Spark did not close its idle workers: is it still needed?")


def test_it_beats_only_after_that_much_idle_time(monkeypatch: pytest.MonkeyPatch) -> None:
    busy, beaten = threading.Event(), threading.Event()
    busy.set()
    monkeypatch.setattr("stream.heartbeat.beat", lambda spark: beaten.set())
    with Heartbeat(None, 0.01, lambda: 0.0 if busy.is_set() else 1.0):  # type: ignore[arg-type]
        assert not beaten.wait(0.2)
        busy.clear()
        assert beaten.wait(30)


def test_a_beat_that_fails_is_logged_and_the_next_one_comes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    twice = threading.Semaphore(0)

    def fail(spark: Any) -> None:
        twice.release()
        raise RuntimeError("Spark is away\nfor a while")

    monkeypatch.setattr("stream.heartbeat.beat", fail)
    monkeypatch.setattr("stream.heartbeat.LOG.propagate", True)
    with Heartbeat(None, 0.01, lambda: 1.0):  # type: ignore[arg-type]
        assert twice.acquire(timeout=30)
        assert twice.acquire(timeout=30)
    assert "the heartbeat failed: Spark is away" in caplog.text


def test_a_beat_that_fails_without_a_word_is_logged_by_its_kind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    twice = threading.Semaphore(0)

    def fail(spark: Any) -> None:
        twice.release()
        raise ConnectionError

    monkeypatch.setattr("stream.heartbeat.beat", fail)
    monkeypatch.setattr("stream.heartbeat.LOG.propagate", True)
    with Heartbeat(None, 0.01, lambda: 1.0):  # type: ignore[arg-type]
        assert twice.acquire(timeout=30)
        assert twice.acquire(timeout=30), "the thread has gone on"
    assert "the heartbeat failed: ConnectionError" in caplog.text


def test_zero_seconds_mean_no_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    beaten = threading.Event()
    monkeypatch.setattr("stream.heartbeat.beat", lambda spark: beaten.set())
    with Heartbeat(None, 0.0, lambda: 1.0):  # type: ignore[arg-type]
        assert not beaten.wait(0.1)
