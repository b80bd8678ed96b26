"""Directories of every format that was ever written open, match and go on; and today's is written as it was."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from index import statistics_store
from index.array_file import FORMAT
from index.block.engine import BlockEngine
from index.directory import IndexDirectory
from index.event_block import EventBlock
from index.inspection import broken, damage
from index.manifest import latest, read_manifest, versions
from index.merge import merge
from index.merge_policy import MergePlan
from index.pins import pin_latest
from index.reader import IndexReader, Snapshot
from index.segment import Segment
from index.writer import IndexWriter
from tests.index.golden import ALIKE, ANSWERS, BATCH, DATA, OWNER, PREFIX, SOURCE, events, final, pinned, write
from tests.local import local

FORMATS = sorted(int(path.name.removeprefix(PREFIX)) for path in DATA.glob(f"{PREFIX}*"))

Answers = list[list[tuple[str, int]]]


@pytest.fixture(params=FORMATS)
def layout(request: pytest.FixtureRequest, tmp_path: Path) -> IndexDirectory:
    shutil.copytree(DATA / f"{PREFIX}{request.param}", tmp_path / "index")
    return IndexDirectory.of(tmp_path / "index")


def matched(snapshot: Snapshot) -> Answers:
    block = events()
    found = snapshot.match(EventBlock.from_events(block))
    rows: Answers = [[] for _ in block]
    for event, id_, score in zip(found.event.tolist(), snapshot.ids(found), found.score.tolist(), strict=True):
        rows[event].append((id_.decode(), score))
    return rows


def told(layout: IndexDirectory, of: str) -> Answers:
    return msgspec.json.decode(local(layout.root / ANSWERS).read_bytes(), type=dict[str, Answers])[of]


def test_there_is_a_directory_of_each_format() -> None:
    assert list(range(1, FORMAT + 1)) == FORMATS, "make golden writes the one that is missing"


def test_the_latest_version_answers_as_it_did(layout: IndexDirectory) -> None:
    snapshot = IndexReader(layout, [BlockEngine()]).at(latest(layout).version)
    assert matched(snapshot) == told(layout, "latest")
    held = final(latest(layout).format)
    for subscription in held:
        assert repr(snapshot.get(subscription.id)) == repr(subscription)
    assert snapshot.stats.subscriptions == len(held)
    assert (latest(layout).source, latest(layout).absorbed) == (SOURCE, {0: 28})


def test_the_pinned_version_answers_as_it_did(layout: IndexDirectory) -> None:
    version = pin_latest(layout, OWNER, BATCH, latest(layout).version)
    assert version == 1
    snapshot = IndexReader(layout, [BlockEngine()]).at(version)
    assert matched(snapshot) == told(layout, "pinned")
    assert snapshot.stats.subscriptions == len(pinned(read_manifest(layout, version).format))


def test_its_files_are_whole_and_its_invariants_hold(layout: IndexDirectory) -> None:
    assert list(damage(layout, versions(layout))) == []
    for version in versions(layout):
        assert list(broken(layout, read_manifest(layout, version))) == []


def test_its_statistics_count(layout: IndexDirectory) -> None:
    assert statistics_store.gathered(layout).seen == len(events()) + 2
    (kept,) = [s for e in latest(layout).segments if (s := Segment.open(layout, e.segment.name).statistics)]
    assert kept.seen == len(events())


def test_it_is_published_to_and_merged(layout: IndexDirectory) -> None:
    IndexWriter(layout, SOURCE).publish([], ["always"], {0: 29})
    names = tuple(entry.segment.name for entry in latest(layout).segments)
    version = merge(layout, MergePlan(names), BlockEngine())
    assert version is not None
    snapshot = IndexReader(layout, [BlockEngine()]).at(version)
    assert [len(live.dead) for live in snapshot.segments] == [0]
    got = {id_ for row in matched(snapshot) for id_, _ in row}
    wanted = {id_ for row in told(layout, "latest") for id_, _ in row}
    assert wanted - {"always"} <= got
    assert "always" not in got


def shapes(layout: IndexDirectory) -> dict[str, object]:
    """What the files of a directory consist of: arrays by name, kind of number and dimensions, and JSON members."""
    found: dict[str, object] = {}
    for version in versions(layout):
        manifest = msgspec.json.decode(local(layout.manifest(version)).read_bytes())
        found[f"manifest {version}"] = sorted(manifest["content"])
        for place, entry in enumerate(read_manifest(layout, version).segments):
            file = Segment.open(layout, entry.segment.name).file
            arrays = {name: (array.dtype.str, array.ndim) for name, array in file.arrays.items()}
            found[f"segment {place} of version {version}"] = (arrays, dict(file.notes))
    for path in sorted(local(layout.pins).glob("*/*")):
        content = msgspec.json.decode(path.read_bytes())["content"]
        content.pop("token", None)  # came without a new format: the releases before pass over it, and pins lack it
        found[str(path.relative_to(local(layout.root)))] = content
    kinds = {path.suffix for path in local(layout.root).rglob("*") if path.is_file()}
    return found | {"kinds": sorted(kinds)}


def test_what_is_written_today_has_the_latest_format(tmp_path: Path) -> None:
    """Whoever changes what is written raises FORMAT, and keeps what was written before readable."""
    write(tmp_path / "index")
    golden = IndexDirectory.of(DATA / f"{PREFIX}{FORMAT}")
    assert shapes(IndexDirectory.of(tmp_path / "index")) == shapes(golden)


def test_every_kind_of_file_is_there() -> None:
    layout = IndexDirectory.of(DATA / f"{PREFIX}{FORMAT}")
    kinds = {path.suffix for path in local(layout.root).rglob("*") if path.is_file()}
    assert kinds >= {".seg", ".dead", ".json", ".pin", ".seen", ".stats"}
    segments = [Segment.open(layout, entry.segment.name).file.arrays for entry in read_manifest(layout, 1).segments]
    assert [len(arrays["engine/owner_list"]) for arrays in segments] == [len(ALIKE)]
    assert all(os.access(path, os.R_OK) for path in local(layout.root).rglob("*"))
