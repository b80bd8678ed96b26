"""Manifests, pins and garbage: exclusive versions, whole or not at all, and nothing removed that is still wanted."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from index import checked_json, files, garbage, manifest, reader
from index.array_file import FORMAT
from index.dead_set import read_dead, write_dead
from index.directory import IndexDirectory
from index.files import DamagedFile
from index.garbage import collect
from index.manifest import (
    EMPTY,
    IndexGone,
    Manifest,
    RemovedVersion,
    SegmentEntry,
    VersionTaken,
    latest,
    latest_since,
    latest_version,
    publish,
    read_manifest,
    versions,
)
from index.pins import pin_latest, pinned_versions, read_pin, unpin_before
from index.segment import SegmentInfo, write_segment
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.expression import In
from schemas.records import Subscription
from tests.index.oracle_engine import OracleEngine
from tests.pinned import pinned_before

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def layout(tmp_path: Path) -> IndexDirectory:
    directory = IndexDirectory.of(tmp_path / "index")
    directory.create()
    return directory


def segment(layout: IndexDirectory, *ids: str) -> SegmentInfo:
    return write_segment(layout, OracleEngine(), [Subscription(id_, In("a", (1,))) for id_ in ids])


def age(path: Path, seconds: float) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_a_directory_without_manifests_is_version_zero(tmp_path: Path) -> None:
    assert latest_version(tmp_path / "none") == 0
    assert latest(tmp_path / "none") == read_manifest(tmp_path / "none", 0) == EMPTY
    assert not (tmp_path / "none").exists()


def test_a_version_comes_back_as_published_and_follows_its_parent(layout: IndexDirectory) -> None:
    entry = SegmentEntry(segment(layout, "a", "b"))
    first = EMPTY.successor([entry], {0: 5, 3: 7}, "cluster/topic")
    publish(layout, first)
    second = first.successor([], {3: 9})
    publish(layout, second)
    assert read_manifest(layout, 1) == first
    assert latest(layout) == second
    assert (second.version, second.parent, second.source) == (2, first.token, "cluster/topic")
    assert second.absorbed == {0: 5, 3: 9}
    assert layout.manifest(2).name == "00000000000000000002.json"


def test_analyser_and_number_of_shards_are_those_of_the_first_version(layout: IndexDirectory) -> None:
    first = msgspec.structs.replace(EMPTY.successor([], shards=3), analyser="another")
    second = first.successor([], shards=5)
    assert (first.shards, second.shards, second.analyser) == (3, 3, "another")


def test_a_manifest_under_the_name_of_another_version_is_damage(layout: IndexDirectory) -> None:
    publish(layout, EMPTY.successor([]))
    layout.manifest(1).rename(layout.manifest(2))
    with pytest.raises(DamagedFile, match="found version 1"):
        read_manifest(layout, 2)


def test_the_latest_is_read_when_the_one_that_was_listed_is_collected_meanwhile(
    layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    _history(layout)
    collect(layout, superseded=0, unpublished=0)
    listed = [3]
    monkeypatch.setattr(manifest, "latest_version", lambda directory: listed.pop() if listed else 5)
    assert latest(layout).version == 5


def test_a_version_on_which_others_have_built_before_its_publisher_looks_again_is_published(
    layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, first = files.create_exclusive, EMPTY.successor([], {0: 1})

    def built_upon(path: Path, content: bytes) -> bool:
        made = create(path, content)
        monkeypatch.setattr(files, "create_exclusive", create)
        for _ in range(2):
            publish(layout, latest(layout).successor([]))
        return made

    monkeypatch.setattr(files, "create_exclusive", built_upon)
    publish(layout, first)
    assert versions(layout) == [1, 2, 3]


def test_a_version_is_published_once(layout: IndexDirectory) -> None:
    (layout.manifests / "._00000000000000000009.json").write_text("of a file manager")
    publish(layout, EMPTY.successor([], {0: 1}))
    with pytest.raises(VersionTaken):
        publish(layout, EMPTY.successor([], {0: 2}))
    assert latest(layout).absorbed == {0: 1}
    assert files.numbers(layout.manifests, ".json") == [1]
    assert files.names(layout.manifests, ".tmp") == []


def _race(root: Path, worker: int, rounds: int, wins: multiprocessing.Queue[tuple[int, int]]) -> None:
    layout = IndexDirectory.of(root)
    won = 0
    while won < rounds:
        try:
            publish(layout, latest(layout).successor([], {worker: won + 1}))
        except VersionTaken:
            continue
        won += 1
        wins.put((latest_version(layout), worker))


def test_processes_that_race_never_share_or_lose_a_version(layout: IndexDirectory) -> None:
    wins: multiprocessing.Queue[tuple[int, int]] = FORK.Queue()
    workers = [FORK.Process(target=_race, args=(layout.root, w, 25, wins)) for w in range(4)]
    for worker in workers:
        worker.start()
    for _ in range(100):
        wins.get(timeout=60)
    for worker in workers:
        worker.join(timeout=60)
        assert worker.exitcode == 0
    assert versions(layout) == list(range(1, 101))
    chain = [read_manifest(layout, version) for version in range(1, 101)]
    assert [m.parent for m in chain] == ["", *(m.token for m in chain[:-1])]
    assert chain[-1].absorbed == {0: 25, 1: 25, 2: 25, 3: 25}


def test_a_publisher_that_slept_until_its_version_was_collected_does_not_publish(layout: IndexDirectory) -> None:
    writer = IndexWriter(layout)
    for offset in (1, 2, 3, 4):
        writer.publish([segment(layout, f"s{offset}")], [], {0: offset})
    slept = read_manifest(layout, 1).successor([], {0: 99})
    collect(layout, superseded=0, unpublished=0)
    assert versions(layout) == [4]
    with pytest.raises(VersionTaken):
        publish(layout, slept)
    assert versions(layout) == [4]


def test_a_directory_that_was_removed_while_it_was_in_use_is_told_and_not_begun_anew(layout: IndexDirectory) -> None:
    """A writer that went on would publish version 1 once more, without all that was there before."""
    IndexWriter(layout).publish([segment(layout, "a")], [], {0: 1})
    writers = [IndexWriter(layout), IndexWriter(layout)]
    assert writers[0].publish([segment(layout, "b")], [], {0: 2}) == latest_since(layout, 2) == 2
    shutil.rmtree(layout.root)
    for known, writer in ((2, writers[0]), (1, writers[1])):
        with pytest.raises(IndexGone, match=rf"{layout.root} was removed .*: version {known} had .* now there is none"):
            writer.publish([], ["c"], {0: 3})
    layout.create()
    IndexWriter(layout).publish([segment(layout, "c")], [], {0: 1})
    with pytest.raises(IndexGone, match="version 1 is the latest there"):
        latest_since(layout, 2)
    assert IndexWriter(layout).publish([segment(layout, "d")], [], {0: 2}) == 2, "who begins with what is there goes on"


def test_a_version_that_was_met_by_a_replay_only_is_known_too(layout: IndexDirectory) -> None:
    writer = IndexWriter(layout)
    IndexWriter(layout).publish([segment(layout, "a")], [], {0: 1})
    assert writer.publish([], ["a"], {0: 1}) == 1
    shutil.rmtree(layout.root)
    with pytest.raises(IndexGone):
        writer.publish([], ["c"], {0: 2})


def test_a_segment_a_removal_or_an_offset_makes_a_version_and_nothing_makes_none(layout: IndexDirectory) -> None:
    writer = IndexWriter(layout)
    assert writer.publish([], [], {}) == 0
    assert writer.publish([segment(layout, "a")], [], {}) == 1
    assert writer.publish([], ["a"], {}) == 2
    assert writer.publish([], [], {0: 1}) == 3
    assert writer.publish([], [], {}) == 3


def test_a_segment_is_published_once_and_in_a_shard_that_there_is(layout: IndexDirectory) -> None:
    writer, info = IndexWriter(layout, shards=2), segment(layout, "a")
    assert writer.publish([info], [], {0: 1}) == 1
    for again in ([info], [twice := segment(layout, "b"), twice]):
        with pytest.raises(ValueError, match="a segment is published once only"):
            writer.publish(again, [], {0: 2})
    with pytest.raises(ValueError, match="of 2 shards none is that of a segment"):
        writer.publish([msgspec.structs.replace(segment(layout, "c"), shard=2)], [], {0: 2})
    with pytest.raises(TocsinError, match="shards"):
        IndexWriter(layout).publish([], ["a"], {0: 2})
    assert versions(layout) == [1]


def test_offsets_behind_in_one_partition_are_a_replay_unless_another_is_ahead(layout: IndexDirectory) -> None:
    writer = IndexWriter(layout)
    writer.publish([segment(layout, "a")], [], {0: 5, 1: 5})
    assert writer.publish([], ["a"], {0: 5, 1: 4}) == 1
    assert writer.publish([], ["a"], {0: 4}) == 1
    with pytest.raises(TocsinError, match=r"partitions \[1\] would bring back older records"):
        writer.publish([], ["a"], {0: 6, 1: 4})
    assert writer.publish([], ["a"], {0: 6, 1: 5}) == 2


def test_who_names_no_source_may_write_and_who_names_another_may_not(layout: IndexDirectory) -> None:
    IndexWriter(layout).publish([], [], {0: 1})
    IndexWriter(layout, "one").publish([], [], {0: 2})
    assert IndexWriter(layout).publish([], [], {0: 3}) == 3
    assert latest(layout).source == "one"
    with pytest.raises(TocsinError, match="was filled from one, not from two"):
        IndexWriter(layout, "two").publish([], [], {0: 3})


def test_a_publication_that_lost_a_race_leaves_no_dead_set_behind(
    layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for those that the version has on which it was built."""
    indexed = IndexWriter(layout)
    indexed.publish([segment(layout, "a", "b", "c", "d")], [], {0: 1})
    indexed.publish([segment(layout, "x", "y", "z")], ["a"], {0: 2})

    def taken(directory: IndexDirectory, manifest: Manifest) -> None:
        monkeypatch.setattr("index.writer.publish", publish)
        publish(directory, latest(directory).successor(latest(directory).segments))
        publish(directory, manifest)

    monkeypatch.setattr("index.writer.publish", taken)
    assert indexed.publish([], ["x"], {0: 3}) == 4
    assert set(files.names(layout.dead)) == {f"{entry.dead}.dead" for entry in latest(layout).segments}


@pytest.mark.parametrize("keep", [0, 1, 40, -1])
def test_a_torn_manifest_is_named_with_the_cure_and_no_older_version_takes_its_place(
    keep: int, layout: IndexDirectory
) -> None:
    for offset in (1, 2):
        IndexWriter(layout).publish([segment(layout, f"s{offset}")], [], {0: offset})
    path = layout.manifest(2)
    path.write_bytes(path.read_bytes()[:keep])
    for attempt in (lambda: latest(layout), lambda: IndexWriter(layout).publish([], ["s1"], {0: 3})):
        with pytest.raises(DamagedFile, match="rebuilt from the subscriptions topic") as caught:
            attempt()
        assert str(path) in str(caught.value)


def test_every_flipped_bit_of_a_manifest_is_found(layout: IndexDirectory) -> None:
    publish(layout, EMPTY.successor([SegmentEntry(segment(layout, "a"))], {0: 1}, "source"))
    path = layout.manifest(1)
    good = path.read_bytes()
    for position in range(len(good)):
        for bit in range(8):
            bad = bytearray(good)
            bad[position] ^= 1 << bit
            path.write_bytes(bad)
            with pytest.raises(TocsinError):
                read_manifest(layout, 1)


def test_another_format_is_refused_with_the_cure(layout: IndexDirectory) -> None:
    later = msgspec.structs.replace(EMPTY.successor([]), format=99)
    layout.manifest(1).write_bytes(checked_json.encode(later))
    with pytest.raises(TocsinError, match=rf"format 99, this version reads 1 to {FORMAT}. Remove the index directory"):
        latest(layout)


def test_a_dead_set_of_another_segment_or_size_is_found(layout: IndexDirectory) -> None:
    one, other = segment(layout, "a", "b", "c"), segment(layout, "a", "b", "c")
    entry = write_dead(layout, one, np.array([1], np.uint32))
    assert read_dead(layout, entry).tolist() == [1]
    for wrong in (SegmentEntry(other, entry.dead, 1), SegmentEntry(one, entry.dead, 2)):
        with pytest.raises(DamagedFile):
            read_dead(layout, wrong)


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
    assert layout.pin("job", 0).read_bytes() != layout.pin("job", 1).read_bytes()
    assert read_pin(layout.pin("job", 0)) == 0
    unpin_before(layout, "job", 1)
    assert read_pin(layout.pin("job", 0)) is None


def test_a_damaged_pin_is_named(layout: IndexDirectory) -> None:
    pin_latest(layout, "job", 1, known=0)
    layout.pin("job", 1).write_bytes(b"")
    with pytest.raises(DamagedFile):
        pin_latest(layout, "job", 1, known=0)


def _history(layout: IndexDirectory) -> None:
    """Five versions; from the second on, each kills an id of the first segment."""
    writer = IndexWriter(layout)
    writer.publish([segment(layout, "a", "b", "c", "d", "e", "f")], [], {0: 1})
    for offset, id_ in enumerate("abcd", 2):
        writer.publish([segment(layout, f"x-{id_}")], [id_], {0: offset})


def _named(layout: IndexDirectory, *kept: int) -> set[Path]:
    manifests = [read_manifest(layout, version) for version in kept]
    entries = [entry for manifest in manifests for entry in manifest.segments]
    paths = {layout.segment(entry.segment.name) for entry in entries} | {layout.manifest(v) for v in kept}
    return paths | {layout.dead_set(entry.dead) for entry in entries if entry.dead}


def _present(layout: IndexDirectory) -> set[Path]:
    return {path for path in layout.root.rglob("*") if path.is_file() and path.parent.parent != layout.pins}


def test_garbage_collection_keeps_the_latest_version_pinned_ones_and_what_they_name(layout: IndexDirectory) -> None:
    _history(layout)
    pinned_before(layout, "job", 0, 2)
    expected = _named(layout, 2, 5)
    orphan = layout.segment(segment(layout, "orphan").name)
    leftover = layout.dead / "x.dead.0123.tmp"
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
    _history(layout)
    before = _present(layout) | {layout.segment(segment(layout, "unpublished").name)}
    collect(layout, superseded=60, unpublished=60)
    assert _present(layout) == before
    for version in (1, 2, 3):
        age(layout.manifest(version), 120)
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
    _history(layout)
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
    _history(layout)
    removed_meanwhile += [2, 3]
    assert collect(layout, superseded=60, unpublished=60).manifests == 0
    assert versions(layout) == [1, 4, 5]


@pytest.mark.parametrize("version", [3, 5])
def test_a_pinned_or_the_latest_manifest_that_is_missing_is_damage(
    version: int, layout: IndexDirectory, removed_meanwhile: list[int]
) -> None:
    _history(layout)
    pinned_before(layout, "job", 0, 3)
    removed_meanwhile.append(version)
    with pytest.raises(DamagedFile):
        collect(layout, superseded=60, unpublished=60)


def test_a_superseded_manifest_that_is_torn_is_damage(layout: IndexDirectory) -> None:
    _history(layout)
    layout.manifest(2).write_bytes(b"")
    with pytest.raises(DamagedFile):
        collect(layout, superseded=60, unpublished=60)


def test_the_latest_version_is_pinned_however_old_the_one_is_that_is_known(layout: IndexDirectory) -> None:
    _history(layout)
    assert pin_latest(layout, "job", 0, known=3) == 5
    assert pinned_versions(layout) == {5}
    IndexWriter(layout).publish([segment(layout, "later")], [], {0: 9})
    assert pin_latest(layout, "job", 0, known=3) == 5, "a batch that is bound stays bound"
    assert pin_latest(layout, "job", 1, known=6) == 6


def test_garbage_collected_while_a_version_is_pinned_takes_nothing_from_the_batch(
    layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the choice of a version and its pin another one comes, and the chosen one goes."""
    _history(layout)
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
    _history(layout)
    collect(layout, superseded=0, unpublished=0)
    words = r"version 3 of the index is not there any more: .*3.json was removed as garbage, since version 5 has taken"
    with pytest.raises(RemovedVersion, match=words) as error:
        read_manifest(layout, 3)
    assert "aside" not in str(error.value)
    layout.manifest(5).unlink()
    with pytest.raises(DamagedFile, match="is damaged: found no such file"):
        read_manifest(layout, 5)


def test_a_version_that_is_removed_while_it_is_opened_is_told_as_that(
    layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    _history(layout)
    at_first = reader.read_manifest

    def then_collected(directory: IndexDirectory, version: int) -> Manifest:
        manifest = at_first(directory, version)
        collect(layout, superseded=0, unpublished=0)
        return manifest

    monkeypatch.setattr(reader, "read_manifest", then_collected)
    with pytest.raises(RemovedVersion):
        reader.IndexReader(layout, [OracleEngine()]).at(2)


def test_publishing_makes_a_segment_young(layout: IndexDirectory) -> None:
    info = segment(layout, "a")
    age(layout.segment(info.name), 7200)
    IndexWriter(layout).publish([info], [], {0: 1})
    assert files.age(layout.segment(info.name)) < 60


def test_a_segment_that_is_published_while_garbage_is_collected_stays(
    layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = segment(layout, "a")
    path = layout.segment(info.name)
    age(path, 7200)

    def versions_as_the_publisher_begins(directory: IndexDirectory) -> list[int]:
        files.touch(path)
        return versions(directory)

    monkeypatch.setattr(garbage, "versions", versions_as_the_publisher_begins)
    collect(layout)
    assert path.exists()


def test_a_folder_that_cannot_be_written_gives_a_sentence_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file")
    with pytest.raises(TocsinError, match=r"Cannot write .*name another index directory"):
        IndexWriter(tmp_path / "index")
