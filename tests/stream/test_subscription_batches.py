"""Micro-batches of subscriptions in the driver: what becomes a version of the index."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

import pyarrow as pa

from index.engines import engine_named
from index.manifest import latest_version
from index.reader import IndexReader
from index.writer import IndexWriter
from stream import rows, spool
from stream.offsets import Offsets
from stream.progress import IndexProgress
from stream.spool import SpoolPlan
from stream.subscription_query import SubscriptionBatches
from stream.worker_pass import WorkerFunction
from tests.stream.worker_records import absorb_task, records

Commit = Callable[[Sequence[pa.RecordBatch], Offsets], None]
Partition: TypeAlias = pa.RecordBatch | pa.Table


class Frame:
    """A micro-batch of these partitions, and its own plan."""

    def __init__(self, *partitions: Partition) -> None:
        self._partitions = partitions

    def mapInArrow(self, function: WorkerFunction, schema: str) -> Frame:  # noqa: N802 (Spark's name)
        read = [[part] if isinstance(part, pa.RecordBatch) else part.to_batches() for part in self._partitions]
        return Frame(*(answer for batches in read for answer in function(iter(batches))))

    def toArrow(self) -> pa.Table:  # noqa: N802 (Spark's name)
        return pa.Table.from_batches(self._partitions)


def batches_of(folder: Path, commit: Commit = lambda answers, end: None, **changes: Any) -> SubscriptionBatches:
    """Return those of a job that has two batches before it."""
    (folder / "offsets").mkdir(parents=True)
    for number in range(2):
        ends = {str(partition): 9 + number for partition in range(3)}
        (folder / "offsets" / str(number)).write_text("v1\n{}\n" + json.dumps({"subscriptions": ends}))
    task = absorb_task(folder / "index", **changes)
    return SubscriptionBatches(
        folder,
        cast(Any, None),
        cast(Any, SimpleNamespace(covers=lambda end: False, committed={}, commit=commit)),
        IndexProgress(0, {}),
        cast(Any, SimpleNamespace(absorbed=lambda *args, **kwargs: None)),
        lambda said: None,
        task,
        IndexWriter(task.index, shards=task.shards),
    )


def test_of_an_id_in_two_partitions_the_subscription_in_the_higher_one_counts_whatever_task_is_first(
    tmp_path: Path,
) -> None:
    """So a replay makes the same index. A removal in any partition is of what the index held before."""
    wrote = [records((b"s", {"filter": "v = 1", "labels": {"in": str(p)}}), partition=p) for p in range(2)]
    removed = records((b"s", None), (b"gone", None), partition=2)
    for number, order in enumerate(([*wrote, removed], [removed, *reversed(wrote)])):
        for shards in (1, 3):
            batches = batches_of(tmp_path / f"{number}-{shards}", shards=shards)
            batches(cast(Any, Frame(*order)), 0)
            snapshot = IndexReader(batches.task.index, [engine_named("block")]).at(latest_version(batches.task.index))
            found = snapshot.get("s")
            assert found is not None
            assert found.labels == {"in": "1"}
            assert snapshot.stats.subscriptions == 1


def test_dead_letters_that_were_spooled_are_committed_and_gone_with_the_next_batch(tmp_path: Path) -> None:
    committed: list[list[pa.RecordBatch]] = []
    plan = SpoolPlan(str(tmp_path / "spool"), 0)
    batches = batches_of(tmp_path, lambda answers, end: committed.append(list(spool.expand(iter(answers)))), spool=plan)
    for number in range(2):
        wrong = [records((b"s", b"x"), partition=partition, first=number) for partition in (0, 0, 0, 1)]
        batches(cast(Any, Frame(pa.Table.from_batches(wrong))), number)
        assert len(list((tmp_path / "spool").iterdir())) == 1
    assert [len(rows.values_of(answers, rows.DEAD_LETTER)) for answers in committed] == [4, 4]
