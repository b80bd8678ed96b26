"""The event query: each micro-batch is pinned to a manifest version, matched on the workers, and committed as one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING

import msgspec

from index.pins import pin_latest, unpin_before
from stream import failpoints, matcher, rows, spool
from stream.checkpoint import Offsets, batch_end_offsets, query_identity
from stream.metrics import Metrics
from stream.output import TransactionalOutput
from stream.progress import IndexProgress
from stream.shard_pass import match_shards
from stream.worker_pass import Say, mapped, pass_through_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class EventBatches:
    """Matches the micro-batches of the events topic, in order.

    Causality: batch N's end offsets are fixed when it begins, so each of its events was produced before now; the
    subscriptions topic's end is read after that and the batch waits until the index has absorbed everything below it.
    The latest version is pinned then for N, so a replay of N meets the same index and writes the same bytes.
    """

    def __init__(
        self,
        task: matcher.MatchTask,
        checkpoint: Path,
        subscriptions_end: Callable[[], Offsets],
        output: TransactionalOutput,
        progress: IndexProgress,
        metrics: Metrics,
        causality_timeout: float,
        say: Say,
    ) -> None:
        self._task = task
        self._checkpoint = checkpoint
        self._subscriptions_end = subscriptions_end
        self._output = output
        self._progress = progress
        self._metrics = metrics
        self._causality_timeout = causality_timeout
        self._say = say
        self._pin_owner = ""

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
        answers = pass_through_workers(lambda: _answers(frame, task, end), self._progress, self._say)
        matched = perf_counter_ns()
        committed = self._output.commit(answers, end)
        unpin_before(self._task.index, self._owner(), batch)
        self._metrics.matched(
            rows.total_counts(answers),
            end,
            rows.all_moments(answers),
            committed,
            wait_ns=waited - started,
            spark_ns=matched - waited,
            commit_ns=perf_counter_ns() - matched,
        )

    def _pinned_version(self, batch: int) -> int:
        absorbed = self._progress.wait_for(self._subscriptions_end(), self._causality_timeout)
        version = pin_latest(self._task.index, self._owner(), batch, known=absorbed)
        # A version of the compaction's holds what the one before it held; the next batch begins with it.
        self._progress.published(version, {})
        return version

    def _owner(self) -> str:
        """The pins' owner is the checkpoint, not the job: batch numbers begin again with a new checkpoint."""
        self._pin_owner = self._pin_owner or query_identity(self._checkpoint)
        return self._pin_owner


def _answers(frame: DataFrame, task: matcher.MatchTask, end: Offsets) -> DataFrame:
    if task.shards > 1:
        return match_shards(frame, task, partitions=max(end) + 1)
    return mapped(frame, partial(matcher.match_batches, task))
