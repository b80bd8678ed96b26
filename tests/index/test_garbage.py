"""Pins and garbage: what a batch is bound to stays, and nothing is removed that is still wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from index import files, garbage, reader
from index.directory import IndexDirectory
from index.files import DamagedFile, Location
from index.garbage import collect
from index.manifest import (
    Manifest,
    RemovedVersion,
    read_manifest,
    versions,
)
from index.pins import pin_latest, pinned_versions, read_pin, unpin_before
from index.writer import IndexWriter
from tests.index.oracle_engine import OracleEngine
from tests.index.small_index import age, history, segment
from tests.local import local
from tests.pinned import pinned_before


def test_a_pin_is_written_once_and_returned_on_a_replay(layout: IndexDirectory) -> None:
    writer = IndexWriter(layout)
    for version in (1, 2, 3):
        assert writer.publish([segment(layout, f"{version}")], [], {0: version}) == version
        assert pin_latest(layout, "job/a:b", version + 6, known=version) == version
        assert pin_latest(layout, "job/a:b", 7, known=version) == 1
    assert pin_latest(layout, "..", 7, known=3) == 3
    assert pinned_versions(layout) == {1, 2, 3}
    unpin_before(layout, "job/a:b", 8)
    assert pinned_versions(layout) == {2, 3}
    unpin_before(layout, "nobody", 8)


def test_no_pin_equals_another_and_one_that_is_let_go_of_meanwhile_binds_nothing(layout: IndexDirectory) -> None:
    """A store takes content that is already there for a try of its own."""
    for batch in range(2):
        pin_latest(layout, "job", batch, known=0)
    assert files.read(layout.pin("job", 0)) != files.read(layout.pin("job", 1))
    assert read_pin(layout.pin("job", 0)) == 0
    unpin_before(layout, "job", 1)
    assert read_pin(layout.pin("job", 0)) is None


def test_a_damaged_pin_is_named(layout: IndexDirectory) -> None:
    pin_latest(layout, "job", 1, known=0)
    local(layout.pin("job", 1)).write_bytes(b"")
    with pytest.raises(DamagedFile):
        pin_latest(layout, "job", 1, known=0)


def _named(layout: IndexDirectory, *kept: int) -> set[Location]:
    manifests = [read_manifest(layout, version) for version in kept]
    entries = [entry for manifest in manifests for entry in manifest.segments]
    paths = {layout.segment(entry.segment.name) for entry in entries} | {layout.manifest(v) for v in kept}
    return paths | {layout.dead_set(entry.dead) for entry in entries if entry.dead}


def _present(layout: IndexDirectory) -> set[Path]:
    return {path for path in local(layout.root).rglob("*") if path.is_file() and path.parent.parent != layout.pins}


def test_garbage_collection_keeps_the_latest_version_pinned_ones_and_what_they_name(layout: IndexDirectory) -> None:
    history(layout)
    pinned_before(layout, "job", 0, 2)
    expected = _named(layout, 2, 5)
    orphan = local(layout.segment(segment(layout, "orphan").name))
    leftover = local(layout.dead / "x.dead.0123.tmp")
    leftover.write_bytes(b"half")
    collected = collect(layout, superseded=0, unpublished=0)
    assert _present(layout) == expected
    assert not orphan.exists()
    assert (collected.manifests, collected.files) == (3, 4), "two dead sets, the orphan and the leftover"
    unpin_before(layout, "job", 1)
    collect(layout, superseded=0, unpublished=0)
    assert _present(layout) == _named(layout, 5)
    assert collect(layout, superseded=0, unpublished=0).manifests == 0


def test_garbage_collection_leaves_young_files_and_versions_superseded_a_short_time_ago(layout: IndexDirectory) -> None:
    history(layout)
    before = _present(layout) | {layout.segment(segment(layout, "unpublished").name)}
    collect(layout, superseded=60, unpublished=60)
    assert _present(layout) == before
    for version in (1, 2, 3):
        age(local(layout.manifest(version)), 120)
    collect(layout, superseded=60, unpublished=60)
    assert versions(layout) == [3, 4, 5], "version 3 is old, but was the latest until version 4 came, which is young"


SHORT = ("dead/1.dead", "dead/1.tmp", "manifests/1.tmp", "statistics/1.tmp", "pins/owner-job/1.tmp")
LONG = ("segments/1.seg", "segments/1.tmp", "segments/1.seg.touched", "statistics/1.seen")


def test_each_kind_of_leftover_goes_at_its_age_and_its_bytes_are_told(layout: IndexDirectory) -> None:
    """What writers leave that ended half-way: of an upload or a load, which take long, or of a moment's write."""
    root = Path(str(layout.root))
    for name in SHORT + LONG:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(bytes(10))

    def collected_after(seconds: float) -> tuple[int, int]:
        for name in SHORT + LONG:
            if (root / name).exists():
                age(root / name, seconds)
        found = collect(layout, superseded=60, unpublished=600)
        return found.files, found.bytes

    assert collected_after(40) == (0, 0)
    assert collected_after(40) == (len(SHORT), 10 * len(SHORT))
    assert all((root / name).exists() for name in LONG)
    assert collected_after(480) == (0, 0)
    assert collected_after(60) == (len(LONG), 10 * len(LONG))
    assert not any((root / name).exists() for name in SHORT + LONG)


def test_a_pin_of_a_version_that_is_gone_is_on_its_way_out_and_no_damage(layout: IndexDirectory) -> None:
    """Who pins writes first, and looks then whether that version is still the latest."""
    history(layout)
    pinned_before(layout, "job", 0, 99)
    assert collect(layout, superseded=0, unpublished=0).manifests == 4
    assert versions(layout) == [5]


@pytest.fixture
def removed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Versions whose manifests another collector removes after this one has listed them."""
    found: list[int] = []

    def pinned(directory: IndexDirectory) -> set[int]:
        for version in found:
            files.remove(directory.manifest(version))
        return pinned_versions(directory)

    monkeypatch.setattr(garbage, "pinned_versions", pinned)
    return found


def test_two_may_collect_at_once(layout: IndexDirectory, removed_meanwhile: list[int]) -> None:
    history(layout)
    removed_meanwhile += [2, 3]
    assert collect(layout, superseded=60, unpublished=60).manifests == 0
    assert versions(layout) == [1, 4, 5]


@pytest.mark.parametrize("version", [3, 5])
def test_a_pinned_or_the_latest_manifest_that_is_missing_is_damage(
    version: int, layout: IndexDirectory, removed_meanwhile: list[int]
) -> None:
    history(layout)
    pinned_before(layout, "job", 0, 3)
    removed_meanwhile.append(version)
    with pytest.raises(DamagedFile):
        collect(layout, superseded=60, unpublished=60)


def test_a_superseded_manifest_that_is_torn_is_damage(layout: IndexDirectory) -> None:
    history(layout)
    local(layout.manifest(2)).write_bytes(b"")
    with pytest.raises(DamagedFile):
        collect(layout, superseded=60, unpublished=60)


def test_the_latest_version_is_pinned_however_old_the_one_is_that_is_known(layout: IndexDirectory) -> None:
    history(layout)
    assert pin_latest(layout, "job", 0, known=3) == 5
    assert pinned_versions(layout) == {5}
    IndexWriter(layout).publish([segment(layout, "later")], [], {0: 9})
    assert pin_latest(layout, "job", 0, known=3) == 5, "a batch that is bound stays bound"
    assert pin_latest(layout, "job", 1, known=6) == 6


def test_garbage_collected_while_a_version_is_pinned_takes_nothing_from_the_batch(
    layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the choice of a version and its pin another one comes, and the chosen one goes."""
    history(layout)
    create, left = files.create_exclusive, [1]

    def late(path: Path, content: bytes) -> bool:
        if path.parent.parent == layout.pins and left:
            left.clear()
            IndexWriter(layout).publish([segment(layout, "later")], [], {0: 9})
            collect(layout, superseded=0)
        return create(path, content)

    monkeypatch.setattr(files, "create_exclusive", late)
    pinned = pin_latest(layout, "job", 0, known=5)
    assert not left
    collect(layout, superseded=0)
    assert read_manifest(layout, pinned).absorbed == {0: 9}
    assert pinned_versions(layout) == {pinned}


def test_a_version_that_was_removed_is_told_as_that_and_not_as_damage(layout: IndexDirectory) -> None:
    history(layout)
    collect(layout, superseded=0, unpublished=0)
    words = r"version 3 of the index is not there any more: .*3.json was removed as garbage, since version 5 has taken"
    with pytest.raises(RemovedVersion, match=words) as error:
        read_manifest(layout, 3)
    assert "aside" not in str(error.value)
    local(layout.manifest(5)).unlink()
    with pytest.raises(DamagedFile, match="is damaged: found no such file"):
        read_manifest(layout, 5)


def test_a_version_that_is_removed_while_it_is_opened_is_told_as_that(
    layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    history(layout)

    def then_collected(directory: IndexDirectory, version: int) -> Manifest:
        manifest = read_manifest(directory, version)
        collect(layout, superseded=0, unpublished=0)
        return manifest

    monkeypatch.setattr(reader, "read_manifest", then_collected)
    with pytest.raises(RemovedVersion):
        reader.IndexReader(layout, [OracleEngine()]).at(2)


def test_publishing_makes_a_segment_young(layout: IndexDirectory) -> None:
    info = segment(layout, "a")
    age(local(layout.segment(info.name)), 7200)
    IndexWriter(layout).publish([info], [], {0: 1})
    assert files.age(layout.segment(info.name)) < 60


def test_a_segment_that_is_published_while_garbage_is_collected_stays(
    layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = segment(layout, "a")
    path = local(layout.segment(info.name))
    age(path, 7200)

    def versions_as_the_publisher_begins(directory: IndexDirectory) -> list[int]:
        files.touch(path)
        return versions(directory)

    monkeypatch.setattr(garbage, "versions", versions_as_the_publisher_begins)
    collect(layout)
    assert path.exists()
