"""An index directory seen from outside the job: a version opened read-only, and its subscriptions one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from index.directory import AnyPath
from index.engines import ENGINES
from index.files import DamagedFile
from index.manifest import versions
from index.reader import IndexReader, Snapshot
from schemas.errors import TocsinError
from schemas.records import Subscription

LISTED_VERSIONS = 10
"""How many are named when one is asked for that is not there."""

Places = npt.NDArray[np.int64]
"""int64 [subscriptions, 2]: index into a snapshot's segments, ordinal in that segment."""


def open_version(directory: AnyPath, version: int | None = None, whole: bool = False) -> Snapshot:
    """Open a version of the index; None takes the latest, also while the job publishes and collects garbage.

    Nothing is pinned: what is open stays readable, because a mapped file lives as long as its map.

    Parameters
    ----------
    directory
        The index directory.
    version
        Which one.
    whole
        Whether segments are compared with all of their checksums, at under half a second a gigabyte. Who did not read
        the files whole before wants that: compiled code that meets altered arrays may end the process.

    Raises
    ------
    TocsinError
        There is no index in the directory, or not that version of it.
    DamagedFile
        Some file of the version is missing, torn or altered; without ``whole``, an altered array of a large segment is
        not found.
    """
    reader = IndexReader(directory, [make() for make in ENGINES.values()], whole)
    while True:
        wanted = need_version(directory, version)
        try:
            return reader.at(wanted)
        except DamagedFile:
            if need_version(directory, version) == wanted:  # else garbage collection was quicker
                raise


def need_version(directory: AnyPath, version: int | None = None) -> int:
    """Return the version that is asked for, or else the latest.

    Raises
    ------
    TocsinError
        There is no index in the directory, or not that version of it.
    """
    present = versions(directory)
    if not present:
        raise TocsinError(
            f"there is no index in {directory}; name its folder with --index or job.index_dir, and see that the job "
            "has absorbed a subscription"
        )
    if version is not None and version not in present:
        raise TocsinError(
            f"there is no version {version} in {directory}, only {_listed(present)}; of those before the latest only "
            "pinned and recent ones are kept"
        )
    return present[-1] if version is None else version


def alive(snapshot: Snapshot) -> Places:
    """Return where the snapshot's subscriptions are, segment by segment."""
    found = []
    for number, live in enumerate(snapshot.segments):
        ordinals = np.delete(np.arange(live.entry.segment.count, dtype=np.int64), live.dead)
        found.append(np.column_stack([np.full(len(ordinals), number), ordinals]))
    return np.concatenate([np.zeros((0, 2), np.int64), *found])


def read(snapshot: Snapshot, places: Places) -> Iterator[Subscription]:
    """Yield the subscriptions at these places, as they were written."""
    for segment, ordinal in places.tolist():
        yield snapshot.segments[segment].segment.rows.subscription(ordinal)


def need(snapshot: Snapshot, id_: str) -> Subscription:
    """Return the subscription with this id.

    Raises
    ------
    TocsinError
        This version has none.
    """
    found = snapshot.get(id_)
    if found is None:
        raise TocsinError(
            f"version {snapshot.version} of the index has no subscription {id_!r:.80}; it was never accepted (see "
            "tocsin dead-letters), was removed, or is not absorbed yet"
        )
    return found


def _listed(present: list[int]) -> str:
    """Return the versions in words, of many the latest ones."""
    listed = ", ".join(map(str, present[-LISTED_VERSIONS:]))
    more = len(present) - LISTED_VERSIONS
    return f"{listed} and {more:,} before them" if more > 0 else listed
