"""Manifests: exclusive versions, whole or not at all, what a publication keeps from its parent and leaves to others."""

from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from index import checked_json, files, manifest
from index.array_file import FORMAT
from index.dead_set import read_dead, write_dead
from index.directory import IndexDirectory
from index.files import DamagedFile
from index.garbage import collect
from index.manifest import (
    EMPTY,
    IndexGone,
    Manifest,
    SegmentEntry,
    VersionTaken,
    latest,
    latest_since,
    latest_version,
    publish,
    read_manifest,
    versions,
)
from index.writer import IndexWriter
from schemas.errors import TocsinError
from tests.index.small_index import history, segment
from tests.local import local

FORK = multiprocessing.get_context("fork")


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
    local(layout.manifest(1)).rename(local(layout.manifest(2)))
    with pytest.raises(DamagedFile, match="found version 1"):
        read_manifest(layout, 2)


def test_the_latest_is_read_when_the_one_that_was_listed_is_collected_meanwhile(
    layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    history(layout)
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
    local(layout.manifests / "._00000000000000000009.json").write_text("of a file manager")
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
    shutil.rmtree(local(layout.root))
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
    shutil.rmtree(local(layout.root))
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
    path = local(layout.manifest(2))
    path.write_bytes(path.read_bytes()[:keep])
    for attempt in (lambda: latest(layout), lambda: IndexWriter(layout).publish([], ["s1"], {0: 3})):
        with pytest.raises(DamagedFile, match="rebuilt from the subscriptions topic") as caught:
            attempt()
        assert str(path) in str(caught.value)


def test_every_flipped_bit_of_a_manifest_is_found(layout: IndexDirectory) -> None:
    publish(layout, EMPTY.successor([SegmentEntry(segment(layout, "a"))], {0: 1}, "source"))
    path = local(layout.manifest(1))
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
    local(layout.manifest(1)).write_bytes(checked_json.encode(later))
    with pytest.raises(TocsinError, match=rf"format 99, this version reads 1 to {FORMAT}. Remove the index directory"):
        latest(layout)


def test_a_dead_set_of_another_segment_or_size_is_found(layout: IndexDirectory) -> None:
    one, other = segment(layout, "a", "b", "c"), segment(layout, "a", "b", "c")
    entry = write_dead(layout, one, np.array([1], np.uint32))
    assert read_dead(layout, entry).tolist() == [1]
    for wrong in (SegmentEntry(other, entry.dead, 1), SegmentEntry(one, entry.dead, 2)):
        with pytest.raises(DamagedFile):
            read_dead(layout, wrong)


def test_a_folder_that_cannot_be_written_gives_a_sentence_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file")
    with pytest.raises(TocsinError, match=r"Cannot write .*name another index directory"):
        IndexWriter(tmp_path / "index")
