"""Garbage collection: removes the manifests that nobody may read any more, then the files that no manifest names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from index import files
from index.directory import DEAD, INCREMENT, MANIFEST, SEGMENT, AnyPath, IndexDirectory
from index.files import TEMPORARY, DamagedFile, Location
from index.manifest import Manifest, read_manifest, versions
from index.pins import pinned_versions
from index.remote_path import TOUCHED

SUPERSEDED_SECONDS = 300.0
"""How long a version stays after the next one came, for readers that did not pin it and publishers that build on it."""

UNPUBLISHED_SECONDS = 3600.0
"""How long a segment that no manifest names is left to its writer.

It must exceed the time from a segment's writing to its publication, which for a bulk load is a whole Spark job.
"""


class Collected(msgspec.Struct, frozen=True):
    """How much was removed; ``bytes`` are those of the files, without the manifests'."""

    manifests: int
    files: int
    bytes: int = 0


def collect(
    directory: AnyPath | IndexDirectory,
    superseded: float = SUPERSEDED_SECONDS,
    unpublished: float = UNPUBLISHED_SECONDS,
) -> Collected:
    """Remove what no reader and no writer needs.

    1. List the old files before reading any manifest: a file that is published meanwhile is made young by its
       publisher.
    2. Keep the latest version, pinned versions, and versions superseded a short time ago, as far as no other collector
       removes them.
    3. Remove the other manifests before any file, so that no manifest ever names a missing file.
    4. Remove the listed files that no kept manifest names and that are still old.

    Parameters
    ----------
    directory
        The index directory; it may be in use.
    superseded
        Seconds that an unpinned version stays after the next one came. It must exceed the time from reading a manifest
        to publishing its successor; 0 is for a directory that nobody else uses.
    unpublished
        Seconds that a segment which no manifest names is left to its writer.
    """
    layout = IndexDirectory.of(directory)
    suspects = _old_files(layout, superseded, unpublished)
    present = versions(layout)
    needed = set(present[-1:]) | pinned_versions(layout).intersection(present)
    kept = needed | _recent(layout, present, superseded)
    manifests = list(_manifests(layout, needed, kept))
    dropped = [version for version in present if version not in kept]
    for version in dropped:
        files.remove(layout.manifest(version))
    named = {path for manifest in manifests for path in _named_files(layout, manifest)}
    garbage = [path for path, limit in suspects if path not in named and files.age(path) >= limit]
    total = sum(files.length(path) for path in garbage)
    for path in garbage:
        files.remove(path)
    return Collected(len(dropped), len(garbage), total)


def _old_files(layout: IndexDirectory, superseded: float, unpublished: float) -> list[tuple[Location, float]]:
    """Return segments, dead sets and leftovers of writers that ended half-way, each with the age that makes it old.

    A dead set is published within moments of its writing, so it needs no more time than a superseded version.
    Increments of statistics grow old only where no compaction runs that would fold them.
    """
    kinds = (
        (layout.segments, SEGMENT, unpublished),
        (layout.segments, TEMPORARY, unpublished),
        (layout.segments, TOUCHED, unpublished),
        (layout.dead, DEAD, superseded),
        (layout.dead, TEMPORARY, superseded),
        (layout.manifests, TEMPORARY, superseded),
        (layout.statistics, INCREMENT, unpublished),
        (layout.statistics, TEMPORARY, superseded),
        *((layout.pins / owner, TEMPORARY, superseded) for owner in files.folders(layout.pins)),
    )
    return [
        (folder / name, limit)
        for folder, suffix, limit in kinds
        for name, age in files.ages(folder, suffix).items()
        if age >= limit
    ]


def _manifests(layout: IndexDirectory, needed: set[int], kept: set[int]) -> Iterator[Manifest]:
    """Read the kept versions' manifests; one that is not needed may have been removed by another collector meanwhile.

    That one took it for superseded a while ago, so nobody reads it any more, nor what only it names.
    """
    for version in sorted(kept):
        try:
            yield read_manifest(layout, version)
        except DamagedFile:
            if version in needed or version in versions(layout):
                raise


def _recent(layout: IndexDirectory, present: list[int], superseded: float) -> set[int]:
    """Return the versions that were the latest until a short time ago.

    A version may have been the latest for days and be superseded a moment ago, so its successor's age is what counts.
    """
    ages = files.ages(layout.manifests, MANIFEST)
    return {v for v, successor in pairwise(present) if ages.get(layout.manifest(successor).name, 0) < superseded}


def _named_files(layout: IndexDirectory, manifest: Manifest) -> list[Location]:
    paths = [layout.segment(entry.segment.name) for entry in manifest.segments]
    return paths + [layout.dead_set(entry.dead) for entry in manifest.segments if entry.dead is not None]
