"""Inspection: the files of an index's versions are read byte by byte, and what is damaged is told file by file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from index import files
from index.byte_rows import ByteRows
from index.dead_set import Ordinals, read_dead
from index.directory import AnyPath, IndexDirectory
from index.files import DamagedFile
from index.manifest import Manifest, SegmentEntry, read_manifest, versions
from index.packed_rows import PackedRows
from index.pins import pins, read_pin
from index.segment import Rows, Segment
from index.shards import Shard, shard_numbers
from index.tail import repeated

Told = Callable[[int], None]
"""Told how much has been read so far."""


def damage(
    directory: AnyPath | IndexDirectory,
    versions: Iterable[int],
    told: Told = lambda done: None,
    may_go: bool = False,
) -> Iterator[DamagedFile]:
    """Yield what is damaged of these versions' files: manifests, segments with all their arrays, dead sets.

    The checksums cost under half a second a gigabyte, beside what the disk needs. When nothing is yielded, only damage
    that comes later can keep a version from being opened.

    Parameters
    ----------
    directory
        The index directory.
    versions
        What is read; what several of them name is read once.
    told
        Told how much was read.
    may_go
        Whether a version that is missing in the end was removed by garbage collection, and is no loss.

    Raises
    ------
    TocsinError
        Some file has a format that this version cannot read, which is no damage.
    """
    layout = IndexDirectory.of(directory)
    read = _Reading(layout, told)
    for version in versions:
        found = list(read.version(version))
        if found and (_is_kept(layout, version) or not may_go):
            yield from found


def _is_kept(layout: IndexDirectory, version: int) -> bool:
    """Return whether a version has a manifest, be it an empty file."""
    return version in versions(layout)


class _Reading:
    """One pass over some versions' files."""

    def __init__(self, layout: IndexDirectory, told: Told) -> None:
        self._layout = layout
        self._told = told
        self._bytes = 0
        self._seen: set[str | SegmentEntry] = set()

    def version(self, version: int) -> Iterator[DamagedFile]:
        """Read what a version names and was not read yet."""
        try:
            entries = read_manifest(self._layout, version).segments
        except DamagedFile as error:
            yield error
            return
        for entry in entries:
            if entry.segment.name not in self._seen:
                yield from self._tried(self._read_segment, entry)
                self._told(self._bytes)
            if entry.dead is not None and entry not in self._seen:
                yield from self._tried(self._read_dead_set, entry)
            self._seen |= {entry.segment.name, entry}

    def _tried(self, read: Callable[[SegmentEntry], object], entry: SegmentEntry) -> Iterator[DamagedFile]:
        try:
            read(entry)
        except DamagedFile as error:
            yield error

    def _read_segment(self, entry: SegmentEntry) -> None:
        self._bytes += entry.segment.bytes
        path = self._layout.segment(entry.segment.name)
        Segment.open(self._layout, entry.segment.name, whole=True).expect(entry.segment)
        if (found := files.length(path)) != entry.segment.bytes:  # what was opened may be a copy of a lost object
            raise DamagedFile(path, f"{found} bytes", f"{entry.segment.bytes}")

    def _read_dead_set(self, entry: SegmentEntry) -> None:
        read_dead(self._layout, entry)


def bytes_of(directory: AnyPath | IndexDirectory, versions: Iterable[int]) -> int:
    """Return how many bytes `damage` reads; versions whose manifests are damaged do not count."""
    sizes: dict[str, int] = {}
    for version in versions:
        try:
            sizes |= {entry.segment.name: entry.segment.bytes for entry in read_manifest(directory, version).segments}
        except DamagedFile:
            continue
    return sum(sizes.values())


def lost_pins(directory: AnyPath | IndexDirectory) -> Iterator[DamagedFile]:
    """Yield the pins that can't be read, and those of versions that are not there."""
    layout = IndexDirectory.of(directory)
    present = versions(layout)
    for path in pins(layout):
        try:
            version = read_pin(path)
        except DamagedFile as error:
            yield error
            continue
        if version and version not in present and files.length(path):
            yield DamagedFile(path, f"a pin of version {version}, which is missing", "a version that is there")


def broken(directory: AnyPath | IndexDirectory, manifest: Manifest, told: Told = lambda done: None) -> Iterator[str]:
    """Yield a sentence for each invariant that a version breaks whose files are whole: no writer may do that.

    ``told`` is told how many subscriptions were looked at.
    """
    layout = IndexDirectory.of(directory)
    alive: list[ByteRows] = []
    looked = 0
    for entry in manifest.segments:
        rows, dead = Segment.open(layout, entry.segment.name).rows, read_dead(layout, entry)
        said = list(_broken_rows(rows, dead)) or list(_strangers(rows, Shard(entry.segment.shard, manifest.shards)))
        yield from (f"segment {entry.segment.name}: {sentence}" for sentence in said)
        if not said:
            alive.append(rows.ids.take(np.delete(np.arange(len(rows)), dead)))
        told(looked := looked + len(rows))
    for table, ordinals in zip(alive, repeated(alive), strict=True):
        yield from (f"{table[ordinal].decode()!r} is alive in two segments" for ordinal in ordinals.tolist())


def _broken_rows(rows: Rows, dead: Ordinals) -> Iterator[str]:
    for name, table in (("ids", rows.ids), ("bodies", rows.bodies), ("labels", rows.labels)):
        if not (_is_packed(table, len(rows)) if isinstance(table, PackedRows) else _is_table(table, len(rows))):
            yield f"the offsets of its {name} do not ascend over their bytes, one row a subscription"
            return
    if not rows.ids.ascending():
        yield "its ids do not ascend"
    if len(dead) and ((np.diff(dead.astype(np.int64)) <= 0).any() or dead[-1] >= len(rows)):
        yield "its dead ordinals do not ascend, or exceed its subscriptions"


def _strangers(rows: Rows, shard: Shard) -> Iterator[str]:
    strange = np.flatnonzero(shard_numbers(rows.ids, shard.of) != shard.number)
    if len(strange):
        yield (
            f"{len(strange):,} of its ids belong to another shard than its own, {shard.number}; the first is "
            f"{rows.ids[int(strange[0])].decode()!r}"
        )


def _is_table(table: ByteRows, rows: int) -> bool:
    offsets = table.offsets.astype(np.int64)
    whole = len(offsets) == rows + 1 and offsets[0] == 0 and offsets[-1] == len(table.data)
    return bool(whole and (np.diff(offsets) >= 0).all())


def _is_packed(table: PackedRows, rows: int) -> bool:
    """Return whether the blocks follow each other and unpack to their rows."""
    blocks = table.blocks
    whole = blocks.ndim == 2 and blocks[0, :2].tolist() == [0, 0] and blocks[-1].tolist() == [rows, len(table.data), 0]
    if not whole or (np.diff(blocks[:, :2], axis=0) < 0).any():
        return False
    try:
        return sum(1 for _ in table) == rows
    except DamagedFile:
        return False
