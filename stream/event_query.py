"""The event query: each micro-batch is pinned to a manifest version, matched on the workers, and committed as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING

import msgspec

from index.pins import pin_latest, unpin_before
from stream import failpoints, matcher, rows, spool
from stream.batches import QueryBatches
from stream.checkpoint import batch_end_offsets, query_identity
from stream.offsets import Offsets
from stream.shard_pass import match_shards
from stream.worker_pass import mapped, pass_through_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class EventBatches(QueryBatches):
    """Matches the micro-batches of the events topic, in order.

    Causality: batch N's end offsets are fixed when it begins, so each of its events was produced before now; the
    subscriptions topic's end is read after that and the batch waits until the index has absorbed everything below it.
    The latest version is pinned then for N, so a replay of N meets the same index and writes the same bytes.
    """

    task: matcher.MatchTask
    subscriptions_end: Callable[[], Offsets]
    causality_timeout: float

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Match and commit one micro-batch; safe to run again."""
        started = perf_counter_ns()
        end = batch_end_offsets(self.checkpoint, batch, self.task.topic)
        if self.output.covers(end):
            return
        version = self._pinned_version(batch)
        failpoints.reach("events.pinned")
        waited = perf_counter_ns()
        task = msgspec.structs.replace(self.task, version=version, committed=self.output.committed)
        answers = pass_through_workers(
            frame,
            lambda: self.reread.frame(frame.sparkSession, batch, end),
            lambda frame: _answers(frame, task, end),
            self.progress,
            self.say,
        )
        matched = perf_counter_ns()
        committed = self.output.commit(answers, end)
        unpin_before(self.task.index, self._owner, batch)
        self.metrics.matched(
            rows.total_counts(answers),
            end,
            rows.all_moments(answers),
            committed,
            wait_ns=waited - started,
            spark_ns=matched - waited,
            commit_ns=perf_counter_ns() - matched,
        )

    def _pinned_version(self, batch: int) -> int:
        absorbed = self.progress.wait_for(self.subscriptions_end(), self.causality_timeout)
        version = pin_latest(self.task.index, self._owner, batch, known=absorbed)
        # A version of the compaction's holds what the one before it held; the next batch begins with it.
        self.progress.published(version, {})
        return version

    @cached_property
    def _owner(self) -> str:
        """The pins' owner is the checkpoint, not the job: batch numbers begin again with a new checkpoint."""
        return query_identity(self.checkpoint)


def _answers(frame: DataFrame, task: matcher.MatchTask, end: Offsets) -> DataFrame:
    """Return a pass's plan; what the pass before has spooled, of this micro-batch or another, is of no more use."""
    spool.clear(Path(task.spool.folder))
    if task.shards > 1:
        return match_shards(frame, task, partitions=max(end) + 1)
    return mapped(frame, partial(matcher.match_batches, task))
