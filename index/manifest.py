"""Manifests: one small file a version, created exclusively, that names all of the version's segments and dead sets."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from index import checked_json, files
from index.array_file import FORMAT, expect_format
from index.directory import MANIFEST, AnyPath, IndexDirectory
from index.files import DamagedFile
from index.segment import SegmentInfo
from schemas.errors import TocsinError
from schemas.texts import ANALYSERS, analyser


class SegmentEntry(msgspec.Struct, frozen=True):
    """A segment of a version.

    Attributes
    ----------
    segment
        The file.
    dead
        Name of its dead set; None when nothing in it is dead, or everything.
    dead_count
        How many of its subscriptions are dead in this version.
    """

    segment: SegmentInfo
    dead: str | None = None
    dead_count: int = 0

    @property
    def alive(self) -> int:
        """The number of subscriptions that can match."""
        return self.segment.count - self.dead_count


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A version of the index. An id is alive in at most one of its segments.

    Attributes
    ----------
    format
        `FORMAT` of the writer.
    version
        1 for the first; 0 is the empty index, which has no file.
    token, parent
        A random name of this manifest, and that of the one it was made from.
    source
        Where the subscriptions come from; opaque here.
    created
        UTC, as ISO 8601; `published` is the same in seconds.
    absorbed
        Partition of the subscriptions topic to the next offset to read: all before it is in this version.
    segments
        In the order they were published; a merged one stands where its first input stood.
    analyser
        What took texts apart into words, from the first version on.
    shards
        How many shards the subscriptions are spread over, from the first version on; not written when it is one.
    """

    format: int
    version: int
    token: str
    parent: str
    source: str
    created: str
    absorbed: dict[int, int]
    segments: tuple[SegmentEntry, ...]
    analyser: str
    shards: int = 1

    @property
    def published(self) -> float:
        """When it was made, in seconds after 1970; 0 for the empty index."""
        return datetime.fromisoformat(self.created).timestamp() if self.created else 0.0

    def successor(
        self,
        segments: Sequence[SegmentEntry],
        absorbed: Mapping[int, int] | None = None,
        source: str = "",
        shards: int = 1,
    ) -> Manifest:
        """Return the next version with these segments; offsets and source stay where none are given.

        The first version takes the process's analyser and the number of shards, and all others keep both.
        """
        return Manifest(
            format=FORMAT,
            version=self.version + 1,
            token=secrets.token_hex(8),
            parent=self.token,
            source=source or self.source,
            created=datetime.now(UTC).isoformat(timespec="milliseconds"),
            absorbed=self.absorbed | dict(absorbed or {}),
            segments=tuple(segments),
            analyser=self.analyser if self.version else analyser(),
            shards=self.shards if self.version else shards,
        )


EMPTY = Manifest(FORMAT, 0, "", "", "", "", {}, (), ANALYSERS[0])
"""Version 0: nothing was published yet, so nothing matches."""


class VersionTaken(Exception):
    """Another process published this version first; read the latest manifest and compute the change again."""


class IndexGone(TocsinError):
    """A version was published, and neither it nor a later one is there any more: somebody removed the directory.

    Parameters
    ----------
    root
        The index directory.
    known, found
        The version that was there, and the latest that is.
    """

    def __init__(self, root: Any, known: int, found: int) -> None:
        super().__init__(root, known, found)
        self._root = root
        self._known = known
        self._found = found

    def __str__(self) -> str:
        left = f"version {self._found} is the latest there" if self._found else "there is none"
        return (
            f"the index directory {self._root} was removed or replaced while it was in use: version {self._known} had "
            f"been published, and now {left}. Start the job again, and leave the directory to it: the index is built "
            f"anew from the subscriptions topic."
        )


class RemovedVersion(DamagedFile):
    """The error for a version that garbage collection has removed: nothing is damaged, and the latest can be read.

    Parameters
    ----------
    file
        The manifest that is gone.
    version, latest
        The one that was asked for, and the one that took its place.
    """

    def __init__(self, file: Any, version: int, latest: int) -> None:
        super().__init__(file, "no such file", f"version {version}")
        self.args = (file, version, latest)
        self._version, self._latest = version, latest

    def __str__(self) -> str:
        return (
            f"version {self._version} of the index is not there any more: {self.file} was removed as garbage, since "
            f"version {self._latest} has taken its place and no micro-batch was pinned to it. Nothing is damaged: "
            f"start again, and the latest version is used."
        )


class _FormatOnly(msgspec.Struct):
    format: int


def versions(directory: AnyPath | IndexDirectory) -> list[int]:
    """Return the versions that have a manifest, ascending."""
    return files.numbers(IndexDirectory.of(directory).manifests, MANIFEST)


def latest_version(directory: AnyPath | IndexDirectory) -> int:
    """Return the latest published version; 0 for an empty or missing directory."""
    return max(versions(directory), default=0)


def latest_since(directory: AnyPath | IndexDirectory, known: int) -> int:
    """Return the latest published version, where ``known`` or a later one must be.

    Raises
    ------
    IndexGone
        None of these is there.
    """
    layout = IndexDirectory.of(directory)
    found = latest_version(layout)
    if found < known:
        raise IndexGone(layout.root, known, found)
    return found


def read_manifest(directory: AnyPath | IndexDirectory, version: int) -> Manifest:
    """Read a version's manifest.

    Raises
    ------
    RemovedVersion
        It is missing, and later versions are there.
    DamagedFile
        It is missing, torn or altered.
    TocsinError
        It has a format that this version cannot read.
    """
    if version == 0:
        return EMPTY
    path = IndexDirectory.of(directory).manifest(version)
    data = _read(directory, path, version)
    found = checked_json.decode(data, _FormatOnly, path).format
    expect_format(path, found)
    manifest = checked_json.decode(data, Manifest, path)
    if manifest.version != version:
        raise DamagedFile(path, f"version {manifest.version}", f"version {version}")
    return manifest


def _read(directory: AnyPath | IndexDirectory, path: files.Location, version: int) -> bytes:
    try:
        return files.read(path)
    except DamagedFile as missing:
        later = latest_version(directory)
        if later > version:
            raise RemovedVersion(path, version, later) from missing
        raise


def latest(directory: AnyPath | IndexDirectory) -> Manifest:
    """Read the latest manifest, also while others publish and collect garbage."""
    version = latest_version(directory)
    while True:
        try:
            return read_manifest(directory, version)
        except DamagedFile:
            newer = latest_version(directory)
            if newer == version:
                raise
            version = newer


def publish(directory: AnyPath | IndexDirectory, manifest: Manifest) -> None:
    """Make a version the latest, durably, if nobody else has taken its number.

    Raises
    ------
    VersionTaken
        Somebody has.
    """
    layout = IndexDirectory.of(directory)
    path = layout.manifest(manifest.version)
    if not files.create_exclusive(path, checked_json.encode(manifest)):
        raise VersionTaken(manifest.version)
    if _outrun(layout, manifest):
        files.remove(path)
        raise VersionTaken(manifest.version)


def _outrun(layout: IndexDirectory, manifest: Manifest) -> bool:
    """Return whether the number was free only because garbage collection had removed the version that took it.

    That happens to a publisher that slept longer than the grace period between reading a manifest and publishing its
    successor. A later version then exists that does not descend from this one.
    """
    later = [version for version in versions(layout) if version > manifest.version]
    return bool(later) and read_manifest(layout, later[0]).parent != manifest.token
