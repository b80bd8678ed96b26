"""The event query: each micro-batch is pinned to a manifest version, matched on the workers, and committed as one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING

import msgspec

from index.directory import SCHEME
from index.manifest import latest_since
from index.pins import pin, unpin_before
from stream import failpoints, matcher, rows, spool
from stream.checkpoint import Offsets, batch_end_offsets, query_identity
from stream.metrics import Metrics
from stream.output import TransactionalOutput
from stream.progress import IndexProgress
from stream.reread import Rereader
from stream.shard_pass import match_shards
from stream.worker_pass import Say, mapped, pass_through_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


LOOK_SECONDS = 60.0
"""Well below the time for which garbage collection leaves a version that another has superseded."""


class EventBatches:
    """Matches the micro-batches of the events topic, in order.

    Causality: batch N's end offsets are fixed when it begins, so each of its events was produced before now; the
    subscriptions topic's end is read after that and the batch waits until the index has absorbed everything below it.
    The version found then is pinned for N, so a replay of N meets the same index and writes the same bytes.
    """

    def __init__(
        self,
        task: matcher.MatchTask,
        checkpoint: Path,
        reread: Rereader,
        subscriptions_end: Callable[[], Offsets],
        output: TransactionalOutput,
        progress: IndexProgress,
        metrics: Metrics,
        causality_timeout: float,
        say: Say,
    ) -> None:
        self._task = task
        self._checkpoint = checkpoint
        self._reread = reread
        self._subscriptions_end = subscriptions_end
        self._output = output
        self._progress = progress
        self._metrics = metrics
        self._causality_timeout = causality_timeout
        self._say = say
        self._pin_owner = ""
        self._look_at = 0.0

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Match and commit one micro-batch; safe to run again."""
        started = perf_counter_ns()
        end = batch_end_offsets(self._checkpoint, batch, self._task.topic)
        if self._output.covers(end):
            return
        version = self._pinned_version(batch)
        failpoints.reach("events.pinned")
        waited = perf_counter_ns()
        spool.clear(Path(self._task.spool.folder))
        task = msgspec.structs.replace(self._task, version=version, committed=self._output.committed)
        answers = pass_through_workers(
            frame,
            lambda: self._reread.frame(frame.sparkSession, batch, end),
            lambda frame: _answers(frame, task, end),
            self._progress,
            self._say,
        )
        matched = perf_counter_ns()
        committed = self._output.commit(answers, end)
        unpin_before(self._task.index, self._owner(), batch)
        self._metrics.matched(
            rows.total_counts(answers),
            version,
            end,
            rows.all_moments(answers),
            committed,
            wait_ns=waited - started,
            spark_ns=matched - waited,
            commit_ns=perf_counter_ns() - matched,
        )

    def _pinned_version(self, batch: int) -> int:
        version = self._progress.wait_for(self._subscriptions_end(), self._causality_timeout)
        return pin(self._task.index, self._owner(), batch, self._latest(version))

    def _latest(self, version: int) -> int:
        """Return the latest version: merges supersede others, which are garbage some minutes later.

        In an object store, where that is a request of its own, it is looked for from time to time.
        """
        if SCHEME in self._task.index and monotonic() < self._look_at:
            return version
        self._look_at = monotonic() + LOOK_SECONDS
        found = latest_since(self._task.index, version)
        self._progress.published(found, {})
        return found

    def _owner(self) -> str:
        """The pins' owner is the checkpoint, not the job: batch numbers begin again with a new checkpoint."""
        self._pin_owner = self._pin_owner or query_identity(self._checkpoint)
        return self._pin_owner


def _answers(frame: DataFrame, task: matcher.MatchTask, end: Offsets) -> DataFrame:
    if task.shards > 1:
        return match_shards(frame, task, partitions=max(end) + 1)
    return mapped(frame, partial(matcher.match_batches, task))
