"""Ratification: a sound index shows no difference, and each kind of wrong answer is found."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from index.block.engine import BlockEngine
from index.directory import IndexDirectory
from index.engine import Matcher
from index.event_block import EventBlock
from index.files import DamagedFile
from index.live import alive, need, open_version, read
from index.matches import Matches, MatchRows
from index.ratify import CHUNK, Difference, ratify
from index.reader import Snapshot
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.expression import And, In, NotIn, Range
from schemas.records import Event, Subscription
from schemas.values import SCORE_SCALE
from tests.local import local

EVENTS = [Event({"a": (n % 3,), "b": (n,)}, {"a": (n / 2,)}, time=n) for n in range(12)]


def numbered(number: int) -> Subscription:
    if number % 3 == 2:
        return Subscription(f"s{number:03}", NotIn("a", (number % 2,)))
    return Subscription(f"s{number:03}", And((In("a", (number % 3,), (2.0,)), Range("b", ge=number % 5))))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two segments; of the first, three subscriptions are removed and one is replaced."""
    path = tmp_path_factory.mktemp("ratify")
    writer, engine = IndexWriter(path), BlockEngine()
    writer.publish([write_segment(path, engine, [numbered(n) for n in range(300)])], [], {0: 1})
    writer.publish([write_segment(path, engine, [numbered(300), numbered(4)])], ["s000", "s001", "s007"], {0: 2})
    return path


class Faulty:
    """A matcher whose answers are spoilt on their way."""

    def __init__(self, sound: Matcher, spoil: Callable[[MatchRows], MatchRows], deaf: bool = False) -> None:
        self._sound, self._spoil, self._deaf = sound, spoil, deaf

    @property
    def count(self) -> int:
        return self._sound.count

    def match(self, block: EventBlock, dead: npt.NDArray[np.uint32] | None = None) -> Matches:
        return self._spoil(self._sound.match(block, None if self._deaf else dead).rows()).matches(block.size)


def spoilt(directory: Path, spoil: Callable[[MatchRows], MatchRows], deaf: bool = False) -> Snapshot:
    sound = open_version(directory)
    first = dataclasses.replace(sound.segments[0], matcher=Faulty(sound.segments[0].matcher, spoil, deaf))
    return Snapshot(sound.version, [first, *sound.segments[1:]], sound.absorbed)


def test_a_sound_index_shows_no_difference(directory: Path) -> None:
    report = ratify(open_version(directory), EVENTS)
    assert (report.subscriptions, report.complete, report.differing) == (298, True, 0)
    assert report.matches > 1_000


def test_a_match_that_is_lost_is_found(directory: Path) -> None:
    def without_one(matches: MatchRows) -> MatchRows:
        return matches.take(~((matches.event == 2) & (matches.subscription == 5)))

    report = ratify(spoilt(directory, without_one), EVENTS)
    assert Difference(2, "s005", 0, None) in report.differences


def test_a_wrong_score_is_found(directory: Path) -> None:
    def one_more(matches: MatchRows) -> MatchRows:
        return matches._replace(score=matches.score + (matches.subscription == 8))

    report = ratify(spoilt(directory, one_more), EVENTS)
    wrong = [d for d in report.differences if d.expected_rank is None]
    assert {d.id for d in wrong} == {"s008"}
    assert all(d.found == (d.expected or 0) + 1 for d in wrong)


def test_a_dead_subscription_that_matches_is_found(directory: Path) -> None:
    report = ratify(spoilt(directory, lambda matches: matches, deaf=True), EVENTS)
    assert {d.id for d in report.differences if d.expected is None} == {"s000", "s001", "s004", "s007"}


def test_a_best_match_that_is_passed_over_is_found(directory: Path) -> None:
    def worst_first(matches: MatchRows) -> MatchRows:
        order = np.lexsort((matches.subscription, matches.score, matches.event))
        return matches.take(order)

    report = ratify(spoilt(directory, worst_first), EVENTS)
    ranks = [d for d in report.differences if d.expected_rank is not None]
    assert ranks
    assert all(d.expected is not None and d.expected_rank != d.found_rank for d in ranks)


def test_more_differences_than_are_kept_are_counted(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.ratify.KEPT_DIFFERENCES", 3)
    report = ratify(spoilt(directory, lambda m: m._replace(score=m.score + SCORE_SCALE)), EVENTS)
    assert len(report.differences) == 3
    assert report.differing > 100


def test_it_stops_when_told_to_and_says_so(directory: Path) -> None:
    report = ratify(open_version(directory), EVENTS, go_on=lambda done: done == 0)
    assert (report.subscriptions, report.complete) == (CHUNK, False)


def test_no_index_and_no_such_version_and_no_such_subscription_are_said_in_words(
    directory: Path, tmp_path: Path
) -> None:
    with pytest.raises(TocsinError, match="there is no index in"):
        open_version(tmp_path / "nothing")
    with pytest.raises(TocsinError, match=r"there is no version 7 in .*, only 1, 2;") as caught:
        open_version(directory, 7)
    assert not isinstance(caught.value, DamagedFile)
    with pytest.raises(TocsinError, match="no subscription 's000'"):
        need(open_version(directory), "s000")


def test_of_many_versions_the_latest_are_named(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    for number in range(13):
        writer.publish([write_segment(tmp_path, BlockEngine(), [numbered(number)])], [], {})
    with pytest.raises(TocsinError, match="only 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 3 before them;"):
        open_version(tmp_path, 14)


def test_a_version_that_is_there_and_damaged_is_said_to_be(directory: Path, tmp_path: Path) -> None:
    shutil.copytree(directory, tmp_path / "copy")
    layout = IndexDirectory.of(tmp_path / "copy")
    local(layout.manifest(1)).write_bytes(b"{}")
    with pytest.raises(DamagedFile):
        open_version(tmp_path / "copy", 1)


def test_an_older_version_is_read_as_it_was(directory: Path) -> None:
    older, newer = open_version(directory, 1), open_version(directory, 2)
    assert need(older, "s000") == numbered(0)
    ids = [s.id for s in read(newer, alive(newer))]
    assert len(ids) == len(set(ids)) == 298
    assert {s.id for s in read(older, alive(older))} == {f"s{n:03}" for n in range(300)}
