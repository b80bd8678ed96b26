"""The faults: each kills a part with SIGKILL and, where nobody else does, starts it again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import psutil

from stream.broker import Broker
from tests.e2e.harness import JobUnderTest

Meanwhile = Callable[[], None]
"""Goes on publishing; called while something is away that publishing does not need."""


def kill_driver(job: JobUnderTest, broker: Broker, meanwhile: Meanwhile) -> None:
    job.kill()
    job.start(wait=False)
    while not job.process.ready:
        job.process.check()
        meanwhile()


def kill_worker(job: JobUnderTest, broker: Broker, meanwhile: Meanwhile) -> None:
    daemons = {process.pid for process in job.workers() if _parent_is_java(process)}
    _kill([process for process in job.workers() if process.pid not in daemons][:1])


def kill_daemon(job: JobUnderTest, broker: Broker, meanwhile: Meanwhile) -> None:
    _kill([process for process in job.workers() if _parent_is_java(process)])


def kill_compaction(job: JobUnderTest, broker: Broker, meanwhile: Meanwhile) -> None:
    _kill(job.members("index.compaction"))


def kill_broker(job: JobUnderTest, broker: Broker, meanwhile: Meanwhile) -> None:
    broker.kill()
    broker.start()


FAULTS = {
    "driver": kill_driver,
    "worker": kill_worker,
    "daemon": kill_daemon,
    "compaction": kill_compaction,
    "broker": kill_broker,
}


def _parent_is_java(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        parent = process.parent()
        return parent is not None and "java" in parent.name()
    return False


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
