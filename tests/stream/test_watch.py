"""The watch over a running job: a compaction that ended is told and counted, and a report comes when it is due."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from index.block.engine import BlockEngine
from index.compaction_process import DAMAGED
from index.directory import IndexDirectory
from index.files import DamagedFile
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.filter_text import parse_filter
from schemas.records import Subscription
from stream.compactor import Ended
from stream.metrics import Snapshot
from stream.progress import IndexProgress
from stream.stop import Stop
from stream.watch import Watch
from tests.local import local


class Watched:
    """A watch over a job with an index of two subscriptions; all else is a stand-in."""

    def __init__(self, index: Path) -> None:
        self.segment = write_segment(index, BlockEngine(), [Subscription(id_, parse_filter("a = 1")) for id_ in "ab"])
        version = IndexWriter(index).publish([self.segment], [], {0: 2})
        topics = Mock(subscriptions=SimpleNamespace(topic="subscriptions"), events=SimpleNamespace(topic="events"))
        self.prepared: Any = Mock(topics=topics, progress=IndexProgress(version, {0: 2}))
        self.ends: Any = Mock(of=lambda topic: {0: 9} if topic == "events" else {0: 3})
        self.queries: Any = Mock(spark_ms=lambda: {"addBatch": 5})
        self.compactor: Any = Mock(keep_running=Mock(return_value=None))
        self.stop = Stop(print)
        self.instruments: Any = Mock()
        self.metrics: Any = Mock(position=lambda: {0: 4}, take=lambda version: Snapshot(version=version))
        self.reporter: Any = Mock(due=False)
        self.state: Any = Mock()
        self.watch = Watch(
            str(index),
            self.prepared,
            self.ends,
            self.queries,
            self.compactor,
            Path("spark.log.output"),
            self.stop,
            self.state,
            self.instruments,
            self.metrics,
            self.reporter,
        )


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "index")


def test_a_job_that_is_well_is_seen_to_be_and_nothing_is_told(watched: Watched) -> None:
    watched.watch.look()
    watched.queries.check.assert_called_once_with()
    watched.state.look.assert_called_once_with()
    assert not watched.reporter.say.called
    assert not watched.reporter.report.called


def test_a_compaction_that_ended_is_counted_and_told(watched: Watched) -> None:
    watched.compactor.keep_running.return_value = Ended(1, 2.0)
    watched.watch.look()
    watched.instruments.compaction_restarted.assert_called_once_with()
    watched.reporter.say.assert_called_once_with(
        "the compaction ended with code 1 and is started again in 2 s; see spark.log.output"
    )


def test_a_compaction_that_ended_with_the_job_is_not_told(watched: Watched) -> None:
    watched.compactor.keep_running.return_value = Ended(-15, 1.0)
    watched.stop.begin()
    try:
        watched.watch.look()
    finally:
        watched.stop.done()
    assert not watched.reporter.say.called


def test_a_compaction_that_met_damage_ends_the_job_when_the_latest_version_has_it(
    watched: Watched, tmp_path: Path
) -> None:
    watched.compactor.keep_running.return_value = Ended(DAMAGED, 1.0)
    watched.watch.look()
    assert watched.reporter.say.called, "what is damaged may belong to an earlier version"
    local(IndexDirectory.of(tmp_path / "index").segment(watched.segment.name)).write_bytes(b"")
    with pytest.raises(DamagedFile):
        watched.watch.look()


def test_a_report_comes_when_it_is_due_after_a_look_at_the_topics(watched: Watched) -> None:
    watched.reporter.due = True
    watched.watch.look()
    watched.prepared.topics.check.assert_called_once_with(watched.ends)
    watched.prepared.removals.look.assert_called_once_with({0: 2}, {0: 3})
    watched.reporter.report.assert_called_once_with(Snapshot(version=1), 5, 2, 1, {"addBatch": 5})
    watched.prepared.topics.check.side_effect = TocsinError("another topic")
    with pytest.raises(TocsinError, match="another topic"):
        watched.watch.look()
    assert watched.reporter.report.call_count == 1


def test_an_index_that_lost_the_version_that_the_job_knows_ends_it(watched: Watched) -> None:
    watched.reporter.due = True
    watched.prepared.progress.published(7, {})
    with pytest.raises(TocsinError):
        watched.watch.look()
