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

Places = npt.NDArray[np.int64]
"""int64 [subscriptions, 2]: index into a snapshot's segments, ordinal in that segment."""


def open_version(directory: AnyPath, version: int | None = None) -> Snapshot:
    """Open a version of the index; None takes the latest, also while the job publishes and collects garbage.

    Nothing is pinned: what is open stays readable, because a mapped file lives as long as its map.

    Raises
    ------
    TocsinError
        There is no index in the directory, or not that version of it.
    DamagedFile
        Some file of the version is missing, torn or altered.
    """
    reader = IndexReader(directory, [make() for make in ENGINES.values()])
    wanted = need_version(directory)
    if version is not None:
        return _open_old(reader, version, wanted)
    while True:
        try:
            return reader.at(wanted)
        except DamagedFile:
            newer = reader.latest_version()
            if newer == wanted:
                raise
            wanted = newer


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
            f"there is no version {version} in {directory}; the latest is {present[-1]}, and of those before it only "
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


def _open_old(reader: IndexReader, version: int, latest: int) -> Snapshot:
    try:
        return reader.at(version)
    except DamagedFile as error:
        raise TocsinError(
            f"version {version} can't be opened ({error}); the latest is {latest}, and of those before it only pinned "
            "and recent ones are kept"
        ) from error
