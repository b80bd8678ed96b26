"""Micro-batches of events in the driver: which version of the index each is pinned to, and what its passes leave."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from index.garbage import collect
from index.manifest import IndexGone, latest, publish, versions
from index.pins import pinned_versions
from index.writer import IndexWriter
from stream import rows, spool, worker_pass
from stream.decoding import Decoding
from stream.event_query import EventBatches
from stream.matcher import MatchTask
from stream.progress import IndexProgress
from stream.spool import SpoolPlan


def _batches(index: Path, checkpoint: Path) -> EventBatches:
    """Return those of a job whose subscription query has published version 1."""
    checkpoint.mkdir()
    (checkpoint / "metadata").write_text('{"id":"query"}')
    plan = SpoolPlan(str(index / "spool"), 0)
    task = MatchTask(str(index), 0, "events", Decoding(), 0, "match", False, plan)
    nothing = cast(Any, None)
    progress = IndexProgress(1, {0: 1})
    return EventBatches(checkpoint, nothing, nothing, progress, nothing, nothing, task, lambda: {0: 1}, 1.0)


def test_a_version_that_a_merge_has_superseded_is_not_pinned_since_it_may_be_gone(tmp_path: Path) -> None:
    """Without events nothing is pinned, and garbage collection takes it."""
    index = tmp_path / "index"
    IndexWriter(index).publish([], ["nobody"], {0: 1})
    batches = _batches(index, tmp_path / "events")
    publish(index, latest(index).successor([]))
    collect(index, superseded=0.0)
    assert batches._pinned_version(0) == 2
    assert pinned_versions(index) == {2}


def test_that_the_directory_was_removed_is_told_before_anything_is_matched(tmp_path: Path) -> None:
    batches = _batches(tmp_path / "index", tmp_path / "events")
    with pytest.raises(IndexGone, match="removed or replaced while it was in use: version 1 had been published"):
        batches._pinned_version(0)
    assert versions(tmp_path / "index") == []


class PostponedTwice:
    """A micro-batch, and its own plan: each pass spools a row, and the first two are void."""

    def __init__(self, plan: SpoolPlan) -> None:
        self.files: list[int] = []
        self._plan = plan

    def mapInArrow(self, function: object, schema: str) -> PostponedTwice:  # noqa: N802 (Spark's name)
        return self

    def toArrow(self) -> pa.Table:  # noqa: N802 (Spark's name)
        row = rows.record_batch(rows.NOTIFICATION, [b"id"], [b"value"])
        answers = list(spool.bounded(self._plan, iter([row, row])))
        self.files.append(len(list(Path(self._plan.folder).iterdir())))
        if len(self.files) <= 2:
            answers.append(rows.record_batch(rows.POSTPONED, [None], [b"the registry does not answer"]))
        return pa.Table.from_batches(answers)


def test_a_pass_finds_nothing_of_the_one_before_in_the_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry may be away for hours, and there is a pass every ten seconds."""
    index = tmp_path / "index"
    IndexWriter(index).publish([], [], {0: 1})
    batches = _batches(index, tmp_path / "events")
    (batches.checkpoint / "offsets").mkdir()
    (batches.checkpoint / "offsets" / "0").write_text("v1\n{}\n" + json.dumps({"events": {"0": 2}}))
    committed: list[pa.RecordBatch] = []
    output = SimpleNamespace(
        covers=lambda end: False,
        committed={},
        commit=lambda answers, end: committed.extend(spool.expand(iter(answers))),
    )
    told = SimpleNamespace(matched=lambda *args, **kwargs: None)
    monkeypatch.setattr(worker_pass, "FIRST_PAUSE_SECONDS", 0.01)
    frame = PostponedTwice(batches.task.spool)
    replace(batches, output=cast(Any, output), metrics=cast(Any, told), say=lambda message: None)(cast(Any, frame), 0)
    assert frame.files == [1, 1, 1]
    assert rows.values_of(committed, rows.NOTIFICATION) == [b"value", b"value"]
