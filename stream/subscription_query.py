"""The subscription query: a micro-batch becomes segments and a manifest version, then its dead letters commit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING

import msgspec

from index.writer import IndexWriter
from stream import absorber, failpoints, rows, spool
from stream.batches import QueryBatches
from stream.checkpoint import batch_end_offsets
from stream.worker_pass import mapped, pass_through_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class SubscriptionBatches(QueryBatches):
    """Absorbs the micro-batches of the subscriptions topic into the index, in order.

    The manifest is published before the transaction: events wait for the manifest only, and a replayed batch finds it
    published (`IndexWriter.publish` compares offsets) and commits only its dead letters and offsets.
    """

    task: absorber.AbsorbTask
    writer: IndexWriter

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Absorb one micro-batch; safe to run again."""
        started = perf_counter_ns()
        end = batch_end_offsets(self.checkpoint, batch, self.task.topic)
        task = msgspec.structs.replace(self.task, committed=self.output.committed)
        answers = pass_through_workers(
            frame,
            lambda: self.reread.frame(frame.sparkSession, batch, end),
            lambda frame: _answers(frame, task),
            self.progress,
            self.say,
        )
        absorbed = [absorber.partition_decoder.decode(value) for value in rows.values_of(answers, rows.SEGMENT)]
        absorbed.sort(key=lambda part: part.partition)
        segments = [part.segment for part in absorbed if part.segment is not None]
        workers_done = perf_counter_ns()
        removed = [id_ for part in absorbed for id_ in part.removed]
        version = self.writer.publish(segments, removed, end)
        failpoints.reach("subscriptions.published")
        self.progress.published(version, end)
        published = perf_counter_ns()
        committed = None if self.output.covers(end) else self.output.commit(answers, end)
        self.metrics.absorbed(
            rows.total_counts(answers),
            committed,
            absorb_ns=workers_done - started,
            publish_ns=published - workers_done,
            commit_ns=perf_counter_ns() - published,
        )


def _answers(frame: DataFrame, task: absorber.AbsorbTask) -> DataFrame:
    """Return a pass's plan; what the pass before has spooled is of no more use."""
    spool.clear(Path(task.spool.folder))
    return mapped(frame, partial(absorber.absorb_batches, task))
