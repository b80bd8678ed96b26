"""A reader, a writer and two compactions, each a process, at once: every answer is that of one published version."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from index.directory import IndexDirectory
from index.engine import Parts
from index.event_block import EventBlock
from index.files import DamagedFile
from index.inspection import broken, damage
from index.manifest import latest, latest_version, read_manifest, versions
from index.merge import merge
from index.merge_policy import MergePlan
from index.reader import IndexReader
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.expression import In
from schemas.records import Event, Subscription
from tests.index.oracle_engine import OracleEngine
from tests.local import local

FORK = multiprocessing.get_context("fork")
ENGINE = OracleEngine()
PATIENCE = 300
PUBLICATIONS = 500
MERGES = 50
PACE = PUBLICATIONS // MERGES
"""Publications to a merge; the writer runs no further than three merges ahead, and merges not ahead of the writer."""

IDS = [f"s{number}" for number in range(12)]
VALUES = range(4)
PROBES = [Event({"a": (value,)}) for value in VALUES]

Model = dict[str, int]


@pytest.fixture(scope="module", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    with mock.patch("os.fsync"):
        yield


def delta(number: int) -> dict[str, int | None]:
    """What the publication with this number does to some ids: a value, or None to remove it."""
    chance = random.Random(number)
    return {id_: chance.choice([*VALUES, None]) for id_ in chance.sample(IDS, chance.randint(1, 4))}


def models() -> list[Model]:
    """What each number of publications leaves."""
    found: list[Model] = [{}]
    for number in range(1, PUBLICATIONS + 1):
        model = found[-1] | delta(number)
        found.append({id_: value for id_, value in model.items() if value is not None})
    return found


class Counters:
    """What the processes know of one another."""

    def __init__(self) -> None:
        self.changed = FORK.Condition()
        self.published = FORK.Value("i", 0)
        self.merged = FORK.Value("i", 0)
        self.lost = FORK.Value("i", 0)

    def wait(self, until: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(until, PATIENCE)

    def count(self, counter: Any) -> None:
        with self.changed:
            counter.value += 1
            self.changed.notify_all()


def write(root: Path, counters: Counters) -> None:
    writer = IndexWriter(root)
    for number in range(1, PUBLICATIONS + 1):
        counters.wait(lambda n=number: n <= (counters.merged.value + 3) * PACE)  # type: ignore[misc]
        changes = delta(number)
        bodies = [Subscription(id_, In("a", (value,))) for id_, value in changes.items() if value is not None]
        segments = [write_segment(root, ENGINE, bodies)] if bodies else []
        writer.publish(segments, [id_ for id_, value in changes.items() if value is None], {0: number})
        counters.count(counters.published)


def compact(root: Path, counters: Counters, seed: int) -> None:
    """Merge segments chosen by chance, which another process may be merging too."""
    chance = random.Random(seed)
    while counters.merged.value < MERGES:
        counters.wait(lambda: counters.published.value >= min(counters.merged.value * PACE, PUBLICATIONS))
        names = [entry.segment.name for entry in latest(root).segments]
        if len(names) < 2:
            continue
        start = chance.randrange(len(names) - 1)
        plan = MergePlan(tuple(names[start : start + chance.randint(2, 12)]))
        counters.count(counters.lost if merge(root, plan, ENGINE) is None else counters.merged)


def read(root: Path, counters: Counters, answers: Any) -> None:
    """Open the latest version again and again, and compare its answer with that of its number of publications."""
    expected = models()
    reader = IndexReader(root, [ENGINE])
    last, compared = 0, 0
    while True:
        done = counters.published.value == PUBLICATIONS and counters.merged.value >= MERGES
        version = latest_version(root)
        assert version >= last
        snapshot = reader.at(version)
        found = snapshot.match(EventBlock.from_events(PROBES))
        ids = [id_.decode() for id_ in snapshot.ids(found)]
        model = {id_: VALUES[event] for id_, event in zip(ids, found.event.tolist(), strict=True)}
        assert len(ids) == len(model), "an id lives once"
        assert model == expected[snapshot.absorbed.get(0, 0)]
        compared += version != last
        last = version
        if done:
            break
    answers.put(compared)


def test_every_answer_is_that_of_one_version_during_500_publications_and_50_merges(tmp_path: Path) -> None:
    root = tmp_path / "index"
    IndexDirectory.of(root).create()
    counters, answers = Counters(), FORK.SimpleQueue()
    tasks: list[tuple[Callable[..., None], Sequence[Any]]] = [(write, ()), (compact, (1,)), (compact, (2,))]
    tasks += [(read, (answers,)), (read, (answers,))]
    processes = [FORK.Process(target=task, args=(root, counters, *more)) for task, more in tasks]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
        assert process.exitcode == 0
    assert counters.published.value == PUBLICATIONS
    assert counters.merged.value >= MERGES
    assert min(answers.get(), answers.get()) > MERGES, "readers met many versions"
    assert versions(root) == list(range(1, PUBLICATIONS + counters.merged.value + 1))
    check_files(IndexDirectory.of(root))


def check_files(layout: IndexDirectory) -> None:
    """Nothing was collected, so every version is whole, and a file that no version names was not tidied up."""
    manifests = [read_manifest(layout, version) for version in versions(layout)]
    assert list(damage(layout, versions(layout))) == []
    for manifest in manifests[:: PUBLICATIONS // 10]:
        assert list(broken(layout, manifest)) == []
    entries = {entry for manifest in manifests for entry in manifest.segments}
    assert {path.stem for path in local(layout.segments).iterdir()} == {entry.segment.name for entry in entries}
    assert {path.stem for path in local(layout.dead).iterdir()} == {entry.dead for entry in entries if entry.dead}


def test_merges_of_different_segments_may_be_under_way_at_once(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    for number, id_ in enumerate("abcdef"):
        writer.publish([write_segment(tmp_path, ENGINE, [Subscription(id_, In("a", (1,)))])], [], {0: number + 1})
    names = [entry.segment.name for entry in latest(tmp_path).segments]
    pending = [MergePlan(tuple(names[2:4])), MergePlan(tuple(names[4:6]))]

    class Busy(OracleEngine):
        """Each merge begins while the one before is writing, and all but the innermost end after others have."""

        def build(self, subscriptions: Sequence[Subscription]) -> Parts:
            if pending:
                assert merge(tmp_path, pending.pop(), Busy()) is not None
            return super().build(subscriptions)

    assert merge(tmp_path, MergePlan(tuple(names[:2])), Busy()) == 9
    assert [entry.segment.count for entry in latest(tmp_path).segments] == [2, 2, 2]
    snapshot = IndexReader(tmp_path, [ENGINE]).at(9)
    found = snapshot.match(EventBlock.from_events([Event({"a": (1,)})]))
    assert snapshot.ids(found) == [b"a", b"b", b"c", b"d", b"e", b"f"]


def test_of_merges_that_share_a_segment_one_wins_and_the_others_leave_nothing(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    for number, id_ in enumerate("abcd"):
        writer.publish([write_segment(tmp_path, ENGINE, [Subscription(id_, In("a", (1,)))])], [], {0: number + 1})
    names = [entry.segment.name for entry in latest(tmp_path).segments]
    outcomes: list[int | None] = []

    class Busy(OracleEngine):
        def build(self, subscriptions: Sequence[Subscription]) -> Parts:
            if len(outcomes) == 0:
                outcomes.append(None)
                outcomes[0] = merge(tmp_path, MergePlan((names[1], names[2])), Busy())
                outcomes.append(merge(tmp_path, MergePlan((names[2], names[3])), ENGINE))
                writer.publish([], ["a"], {0: 9})
            return super().build(subscriptions)

    assert merge(tmp_path, MergePlan((names[0], names[1])), Busy()) is None
    assert outcomes == [5, None]
    check_files(IndexDirectory.of(tmp_path))


def test_a_reader_of_a_version_that_is_collected_is_told_and_goes_on_with_the_latest(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    first = writer.publish([write_segment(tmp_path, ENGINE, [Subscription("a", In("a", (1,)))])], [], {0: 1})
    second = writer.publish([], ["a"], {0: 2})
    local(IndexDirectory.of(tmp_path).manifest(first)).unlink()
    reader = IndexReader(tmp_path, [ENGINE])
    with pytest.raises(DamagedFile):
        reader.at(first)
    assert reader.at(second).stats.subscriptions == 0
