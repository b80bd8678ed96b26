"""Whatever is missing, torn or altered of an index directory's files is found, and named with what was wanted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from index import array_file, statistics_store
from index.directory import IndexDirectory
from index.files import DamagedFile
from index.inspection import broken, bytes_of, damage
from index.manifest import EMPTY, SegmentEntry, latest, publish, read_manifest, versions
from index.pins import read_pin
from index.segment import Segment
from tests.index.crash import PROBES, build, written
from tests.local import local

ENVELOPE = 10
"""Bytes of a checked JSON file at the least."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("damage") / "index"
    build(root)
    return root


@pytest.fixture
def layout(built: Path, tmp_path: Path) -> IndexDirectory:
    shutil.copytree(built, tmp_path / "index")
    return IndexDirectory.of(tmp_path / "index")


def segment_file(layout: IndexDirectory) -> Path:
    return local(layout.segment(latest(layout).segments[0].segment.name))


def dead_file(layout: IndexDirectory) -> Path:
    return local(layout.dead_set(next(entry.dead for entry in latest(layout).segments if entry.dead)))


def manifest_file(layout: IndexDirectory) -> Path:
    return local(layout.manifest(latest(layout).version))


def pin_file(layout: IndexDirectory) -> Path:
    return local(layout.pin("job", 0))


def statistics_file(layout: IndexDirectory) -> Path:
    return local(layout.all_statistics)


def found(layout: IndexDirectory, path: Path) -> list[DamagedFile]:
    """Return the damage of the latest version, or that of a file of which there is one a directory."""
    if path == layout.all_statistics:
        whole = statistics_store.gathered(layout).seen == 2 * len(PROBES)
        return [] if whole else [DamagedFile(path, "another", "statistics")]
    if path.parent.parent == layout.pins:
        try:
            read_pin(path)
        except DamagedFile as error:
            return [error]
        return []
    return list(damage(layout, [max(versions(layout))]))


KINDS = [segment_file, dead_file, manifest_file, pin_file, statistics_file]


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_anywhere_is_found(kind: Callable[[IndexDirectory], Path], layout: IndexDirectory) -> None:
    path = kind(layout)
    assert found(layout, path) == []
    good = path.read_bytes()
    assert len(good) > ENVELOPE
    step = max(1, len(good) // 700)  # of small files every byte
    for position in {*range(0, len(good), step), *range(max(0, len(good) - 40), len(good))}:
        bad = bytearray(good)
        bad[position] ^= 1 << position % 8
        path.write_bytes(bad)
        (error,) = found(layout, path)
        assert error.file == path, position
    path.write_bytes(good)
    assert found(layout, path) == []


TORN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "a byte": lambda content: content[:1],
    "half": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-1],
    "with more at its end": lambda content: content + b"\0",
    "without its beginning": lambda content: content[64:],
    "zeros, as after a power cut": lambda content: bytes(len(content)),
    "its second half zeros": lambda content: content[: len(content) // 2].ljust(len(content), b"\0"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tear", TORN.values(), ids=TORN)
def test_a_torn_file_is_found(
    tear: Callable[[bytes], bytes], kind: Callable[[IndexDirectory], Path], layout: IndexDirectory
) -> None:
    path = kind(layout)
    path.write_bytes(tear(path.read_bytes()))
    (error,) = found(layout, path)
    assert error.file == path


@pytest.mark.parametrize("kind", [segment_file, dead_file])
def test_a_missing_file_or_another_one_is_found(kind: Callable[[IndexDirectory], Path], layout: IndexDirectory) -> None:
    path = kind(layout)
    others = sorted(set(path.parent.iterdir()) - {path})
    for change in (path.unlink, lambda: shutil.copy(others[0], path)):
        change()
        (error,) = found(layout, path)
        assert error.file == path


def test_damage_says_file_found_wanted_and_cure(layout: IndexDirectory) -> None:
    path = dead_file(layout)
    path.write_bytes(path.read_bytes()[:-5])
    (error,) = found(layout, path)
    assert str(error).startswith(f"{path} is damaged: found ")
    assert ", wanted " in str(error)
    assert "Start the job again: it sets a damaged index directory aside" in str(error)


def test_every_damaged_file_of_several_versions_is_told_once(layout: IndexDirectory) -> None:
    paths = {segment_file(layout), dead_file(layout), local(layout.manifest(4))}
    for path in paths:
        path.write_bytes(path.read_bytes()[:-1])
    told: list[int] = []
    errors = list(damage(layout, versions(layout), told.append))
    assert {error.file for error in errors} == paths
    assert len(errors) == len(paths)
    assert told[-1] == bytes_of(layout, versions(layout)) > 0


def test_a_large_array_is_read_too(layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.segment.VERIFY_LIMIT", 0)
    path = segment_file(layout)
    content = bytearray(path.read_bytes())
    content[64] ^= 1
    path.write_bytes(content)
    Segment.open(layout, latest(layout).segments[0].segment.name)
    (error,) = found(layout, path)
    assert error.file == path


def test_another_format_is_no_damage(layout: IndexDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_file, "FORMAT", 99)
    info = written(layout, new=1)
    monkeypatch.undo()
    publish(layout, latest(layout).successor([SegmentEntry(info)]))
    with pytest.raises(Exception, match="has format 99") as caught:
        list(damage(layout, [latest(layout).version]))
    assert not isinstance(caught.value, DamagedFile)


def test_a_whole_version_keeps_the_invariants_and_a_broken_one_is_told(layout: IndexDirectory) -> None:
    for version in versions(layout):
        assert list(broken(layout, read_manifest(layout, version))) == []
    twice = EMPTY.successor([SegmentEntry(written(layout, a=1, b=1)), SegmentEntry(written(layout, b=2, c=2))])
    assert list(broken(layout, twice)) == ["'b' is alive in two segments"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ids/data": np.frombuffer(b"ba", np.uint8)}, "ids do not ascend"),
        ({"bodies/blocks": np.array([[0, 0, 0], [1, 9, 0]], np.int64)}, "offsets of its bodies"),
        ({"bodies/data": np.zeros(9, np.uint8), "bodies/blocks": np.array([[0, 0, 9], [2, 9, 0]])}, "offsets of its"),
        ({"labels/offsets": np.array([0, 5, 0], np.int64)}, "offsets of its labels"),
    ],
)
def test_columns_that_no_writer_makes_are_told(
    change: dict[str, np.ndarray],
    said: str,
    layout: IndexDirectory,
) -> None:
    info = written(layout, a=1, b=1)
    path = layout.segment(info.name)
    arrays = {name: array.copy() for name, array in Segment.open(layout, info.name).file.arrays.items()}
    array_file.write_arrays(path, "segment", {"engine": "oracle"}, arrays | change)
    (sentence,) = broken(layout, EMPTY.successor([SegmentEntry(Segment.open(layout, info.name).info)]))
    assert said in sentence
