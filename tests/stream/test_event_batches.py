"""Which version of the index the driver pins a micro-batch of events to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from index.garbage import collect
from index.manifest import IndexGone, latest, publish, versions
from index.pins import pinned_versions
from index.writer import IndexWriter
from stream.decoding import Decoding
from stream.event_query import EventBatches
from stream.matcher import MatchTask
from stream.progress import IndexProgress
from stream.spool import SpoolPlan


def _batches(index: Path, checkpoint: Path) -> EventBatches:
    """Return those of a job whose subscription query has published version 1."""
    checkpoint.mkdir()
    (checkpoint / "metadata").write_text('{"id":"query"}')
    spool = SpoolPlan(str(index / "spool"), 0)
    task = MatchTask(str(index), 0, "events", Decoding(), 0, "match", False, spool)
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
