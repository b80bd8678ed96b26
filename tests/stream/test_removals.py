"""Removals that a compacted topic has forgotten meanwhile: who may have missed one begins anew."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from index.manifest import read_manifest
from index.writer import IndexWriter
from schemas.errors import TocsinError
from stream import removals
from stream.removals import RUNNING_SECONDS, Removals

DAY = 86_400.0


class Clock:
    """Stands for the module `time`."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(removals, "time", clock)
    return clock


def stood_still(folder: Path, clock: Clock, seconds: float) -> Removals:
    """Return what a job has that starts so long after one that held all up to offset 5."""
    before = Removals(folder, "subs", DAY, {}, 0.0)
    before.begin()
    before.look({0: 5}, {0: 5})
    published = clock.now
    clock.now += seconds
    return Removals(folder, "subs", DAY, {0: 5}, published)


def test_who_stood_still_for_longer_than_removals_are_kept_begins_anew(tmp_path: Path, clock: Clock) -> None:
    said = stood_still(tmp_path, clock, DAY + 60).forgotten({0: 6})
    assert said is not None
    assert "did not hold all of subs for 86,460 s, and the topic keeps removals for 86,400 s (delete.retention" in said


def test_who_did_not_or_has_missed_nothing_goes_on(tmp_path: Path, clock: Clock) -> None:
    assert stood_still(tmp_path, clock, DAY - 60).forgotten({0: 6, 1: 3}) is None
    assert stood_still(tmp_path, clock, 9 * DAY).forgotten({0: 5, 1: 0}) is None
    assert Removals(tmp_path, "subs", DAY, {0: 5}, 0.0).forgotten({0: 6}) is None, "the start before has looked"


def test_a_running_job_that_is_never_quite_at_the_end_goes_on(tmp_path: Path, clock: Clock) -> None:
    for behind in (1, 3):
        running = stood_still(tmp_path, clock, 60)
        assert running.forgotten({0: 7}) is None
        for offset in range(7, 99):
            clock.now += DAY / 10
            running.look({0: offset}, {0: offset + behind})


def test_a_running_job_that_slept_ends_whether_it_has_gone_on_since_or_not(tmp_path: Path, clock: Clock) -> None:
    for absorbed, end in (({0: 5}, {0: 6}), ({0: 6}, {0: 6}), ({0: 6}, {0: 7}), ({0: 7}, {0: 7})):
        for pending in (False, True):
            running = stood_still(tmp_path, clock, 60)
            assert running.forgotten({0: 6} if pending else {0: 5}) is None
            clock.now += 2 * DAY
            if pending and absorbed == end == {0: 6}:
                running.look(absorbed, end)  # it held all that was there before it slept, and nothing came since
                continue
            with pytest.raises(TocsinError, match="start the job again, it builds the index anew"):
                running.look(absorbed, end)


def test_an_index_that_did_not_reach_what_was_there_when_it_began_has_not_held_all_since(
    tmp_path: Path, clock: Clock
) -> None:
    """It ends again before it has caught up."""
    running = stood_still(tmp_path, clock, DAY - 60)
    assert running.forgotten({0: 7}) is None
    running.look({0: 6}, {0: 9})
    clock.now += 120
    assert Removals(tmp_path, "subs", DAY, {0: 6}, clock.now).forgotten({0: 9}) is not None


def test_a_job_that_slept_while_nothing_was_written_goes_on(tmp_path: Path, clock: Clock) -> None:
    running = stood_still(tmp_path, clock, 60)
    assert running.forgotten({0: 5}) is None
    clock.now += 9 * DAY
    running.look({0: 5}, {0: 5})
    running.look({0: 6}, {0: 6})


def test_a_time_that_can_not_be_written_down_ends_nothing(tmp_path: Path, clock: Clock) -> None:
    """The one before then stands for longer."""
    running = stood_still(tmp_path / "gone", clock, 60)
    running.look({0: 6}, {0: 6})
    assert not (tmp_path / "gone").exists()


def test_a_topic_that_keeps_removals_for_no_time_does_not_end_a_running_job(tmp_path: Path, clock: Clock) -> None:
    running = Removals(tmp_path, "subs", 0.0, {}, 0.0)
    running.begin()
    for offset in range(5):
        clock.now += RUNNING_SECONDS
        running.look({0: offset}, {0: offset})


def test_an_index_of_an_earlier_release_was_up_to_date_when_it_last_absorbed_something(tmp_path: Path) -> None:
    commits = tmp_path / "progress" / "commits"
    commits.mkdir(parents=True)
    for number, days in enumerate((5, 3)):
        (commits / str(number)).touch()
        then = time.time() - days * DAY
        os.utime(commits / str(number), (then, then))
    assert Removals(tmp_path, "subs", 2 * DAY, {0: 5}, 0.0).forgotten({0: 6}) is not None
    assert Removals(tmp_path, "subs", 4 * DAY, {0: 5}, 0.0).forgotten({0: 6}) is None


@pytest.mark.parametrize("content", [b"", b"{}", b'{"time":"now"}'])
def test_a_time_that_can_not_be_read_is_that_of_the_latest_version(
    tmp_path: Path, clock: Clock, content: bytes
) -> None:
    (tmp_path / removals.FILE).write_bytes(content)
    assert Removals(tmp_path, "subs", 2 * DAY, {0: 5}, clock.now - 3 * DAY).forgotten({0: 6}) is not None
    assert Removals(tmp_path, "subs", 4 * DAY, {0: 5}, clock.now - 3 * DAY).forgotten({0: 6}) is None


def test_an_index_that_has_outlived_the_checkpoint_was_up_to_date_when_its_latest_version_was_published(
    tmp_path: Path, clock: Clock
) -> None:
    published = clock.now - 3 * DAY
    assert Removals(tmp_path, "subs", 2 * DAY, {0: 5}, published).forgotten({0: 6}) is not None
    assert Removals(tmp_path, "subs", 4 * DAY, {0: 5}, published).forgotten({0: 6}) is None
    assert Removals(tmp_path, "subs", 2 * DAY, {0: 5}, published).forgotten({0: 5}) is None, "nothing was written since"


def test_a_version_knows_when_it_was_published(tmp_path: Path) -> None:
    before = time.time()
    version = IndexWriter(tmp_path).publish([], ["s"], {0: 1})
    assert before - 0.001 <= read_manifest(tmp_path, version).published <= time.time()
