"""The waits before the first event: the index holds the whole topic, and the workers of a cluster have begun."""

from __future__ import annotations

from threading import Thread
from time import monotonic

from stream.offsets import Offsets
from stream.progress import IndexProgress, Stopping
from stream.reporter import lag
from stream.running_queries import RunningQueries
from stream.stop import Stop
from stream.wording import Say


def await_load(progress: IndexProgress, end: Offsets, queries: RunningQueries, stop: Stop, tell: Say) -> None:
    """Wait until the index holds all that was on the subscriptions topic when the job started.

    Parameters
    ----------
    progress
        How far the index has come.
    end
        Where the topic ended.
    queries
        That of the subscriptions runs.
    stop
        Whether the job is to stop meanwhile.
    tell
        Told how far it is, each second.

    Raises
    ------
    Stopping
        The job is to stop.
    TocsinError
        The query has ended, or Spark's Java machine has.
    """
    all_, began = lag(end, progress.absorbed), monotonic()
    while not progress.reaches(end, 1.0):
        queries.check()
        if stop.asked:
            raise Stopping
        left = lag(end, progress.absorbed)
        rate = (all_ - left) / (monotonic() - began)
        tell(f"loading subscriptions, {left:,} records to go" + (f", {rate:,.0f} a second" if rate else ""))


def await_workers(awake: Thread, queries: RunningQueries, stop: Stop) -> None:
    """Wait until `stream.heartbeat.wake` has its workers, or the job is to stop.

    Raises
    ------
    TocsinError
        A query has ended, or Spark's Java machine has.
    """
    while awake.is_alive() and not stop.wait(0.1):
        queries.check()
