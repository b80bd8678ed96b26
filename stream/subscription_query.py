"""The subscription query: a micro-batch becomes segments and a manifest version, then its dead letters commit."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING

from index.writer import IndexWriter
from stream import absorber, failpoints, rows
from stream.checkpoint import batch_end_offsets
from stream.metrics import Metrics
from stream.output import TransactionalOutput
from stream.progress import IndexProgress
from stream.reread import Rereader
from stream.worker_pass import Say, mapped, pass_through_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SubscriptionBatches:
    """Absorbs the micro-batches of the subscriptions topic into the index, in order.

    The manifest is published before the transaction: events wait for the manifest only, and a replayed batch finds it
    published (`IndexWriter.publish` compares offsets) and commits only its dead letters and offsets.
    """

    def __init__(
        self,
        task: absorber.AbsorbTask,
        checkpoint: Path,
        reread: Rereader,
        writer: IndexWriter,
        output: TransactionalOutput,
        progress: IndexProgress,
        metrics: Metrics,
        say: Say,
    ) -> None:
        self._task = task
        self._checkpoint = checkpoint
        self._reread = reread
        self._writer = writer
        self._output = output
        self._progress = progress
        self._metrics = metrics
        self._say = say

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Absorb one micro-batch; safe to run again."""
        started = perf_counter_ns()
        end = batch_end_offsets(self._checkpoint, batch, self._task.topic)
        absorb = partial(absorber.absorb_batches, self._task)
        answers = pass_through_workers(
            frame,
            lambda: self._reread.frame(frame.sparkSession, batch, end),
            lambda frame: mapped(frame, absorb),
            self._progress,
            self._say,
        )
        absorbed = [absorber.partition_decoder.decode(value) for value in rows.values_of(answers, rows.SEGMENT)]
        absorbed.sort(key=lambda part: part.partition)
        segments = [part.segment for part in absorbed if part.segment is not None]
        workers_done = perf_counter_ns()
        removed = [id_ for part in absorbed for id_ in part.removed]
        version = self._writer.publish(segments, removed, end)
        failpoints.reach("subscriptions.published")
        self._progress.published(version, end)
        published = perf_counter_ns()
        committed = None if self._output.covers(end) else self._output.commit(answers, end)
        self._metrics.absorbed(
            rows.total_counts(answers),
            committed,
            absorb_ns=workers_done - started,
            publish_ns=published - workers_done,
            commit_ns=perf_counter_ns() - published,
        )
