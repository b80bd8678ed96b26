"""Micro-batches of subscriptions in the driver: what becomes a version of the index."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa

from index.engines import engine_named
from index.manifest import latest_version
from index.reader import IndexReader
from index.writer import IndexWriter
from stream.absorber import AbsorbTask
from stream.decoding import Decoding
from stream.progress import IndexProgress
from stream.subscription_query import SubscriptionBatches
from tests.stream.worker_records import records

Worker = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class Frame:
    """A micro-batch of these partitions, and its own plan."""

    def __init__(self, *partitions: pa.RecordBatch) -> None:
        self._partitions = partitions

    def mapInArrow(self, function: Worker, schema: str) -> Frame:  # noqa: N802 (Spark's name)
        return Frame(*(answer for batch in self._partitions for answer in function(iter([batch]))))

    def toArrow(self) -> pa.Table:  # noqa: N802 (Spark's name)
        return pa.Table.from_batches(self._partitions)


def absorbed(folder: Path, shards: int, *partitions: pa.RecordBatch) -> IndexReader:
    """Return a reader of the index after a micro-batch."""
    (folder / "offsets").mkdir(parents=True)
    (folder / "offsets" / "0").write_text("v1\n{}\n" + json.dumps({"subs": {"0": 9, "1": 9, "2": 9}}))
    index = folder / "index"
    output = SimpleNamespace(covers=lambda end: False, committed={}, commit=lambda answers, end: None)
    metrics = SimpleNamespace(absorbed=lambda *args, **kwargs: None)
    task = AbsorbTask(str(index), "subs", Decoding(), shards=shards)
    batches = SubscriptionBatches(
        folder,
        cast(Any, None),
        cast(Any, output),
        IndexProgress(0, {}),
        cast(Any, metrics),
        lambda said: None,
        task,
        IndexWriter(index, shards=shards),
    )
    batches(cast(Any, Frame(*partitions)), 0)
    return IndexReader(index, [engine_named("block")])


def test_of_an_id_in_two_partitions_the_subscription_in_the_higher_one_counts_whatever_task_is_first(
    tmp_path: Path,
) -> None:
    """So a replay makes the same index. A removal in any partition is of what the index held before."""
    wrote = [records((b"s", {"filter": "v = 1", "labels": {"in": str(p)}}), partition=p) for p in range(2)]
    removed = records((b"s", None), (b"gone", None), partition=2)
    for number, order in enumerate(([*wrote, removed], [removed, *reversed(wrote)])):
        for shards in (1, 3):
            folder = tmp_path / f"{number}-{shards}"
            snapshot = absorbed(folder, shards, *order).at(latest_version(folder / "index"))
            found = snapshot.get("s")
            assert found is not None
            assert found.labels == {"in": "1"}
            assert snapshot.stats.subscriptions == 1
