"""Statistics in an index directory: workers add increments, the compaction folds them into one file, merges read all.

::

    statistics/<name>.seen   what one worker counted since its last increment; unique names, never changed
    statistics/all.stats     the sum of all before, with the names of the increments that it took in last

An increment is removed once it is in the sum. Nothing depends on these files: one that is damaged or lost costs nothing
but better guesses, so reading passes it over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import msgspec
import numpy as np
import numpy.typing as npt

from index import files
from index.array_file import WHOLE, open_arrays, write_arrays
from index.directory import INCREMENT, AnyPath, IndexDirectory
from index.files import Location
from index.manifest import SegmentEntry, latest
from index.observed.statistics import EventStatistics, decode, encode, total
from index.segment import Segment
from schemas.errors import TocsinError

KIND = "statistics"

_NAMES = msgspec.msgpack.Decoder(tuple[str, ...])


def add(directory: AnyPath | IndexDirectory, increment: EventStatistics) -> None:
    """Write what a worker has counted."""
    layout = IndexDirectory.of(directory)
    files.make_folder(layout.statistics)
    _write(layout.statistics / f"{files.unique_name()}{INCREMENT}", increment, ())


def fold(directory: AnyPath | IndexDirectory) -> int:
    """Add the increments to the sum and remove them; return how many there were. One process does this at a time."""
    layout = IndexDirectory.of(directory)
    names = files.names(layout.statistics, INCREMENT)
    if names:
        _write(layout.all_statistics, _sum(layout, names), names)
    for name in names:
        files.remove(layout.statistics / name)
    return len(names)


def gathered(directory: AnyPath | IndexDirectory) -> EventStatistics:
    """Return all that is known of events: the sum and the increments that are not in it yet."""
    layout = IndexDirectory.of(directory)
    return _sum(layout, files.names(layout.statistics, INCREMENT))


def _sum(layout: IndexDirectory, names: Iterable[str]) -> EventStatistics:
    files.forget(layout.all_statistics)  # the one file that is written again under its name
    known = _read(layout.all_statistics)
    if known is None:
        known = carried(layout, latest(layout).segments), ()
    base, included = known
    found = (_read(layout.statistics / name) for name in names if name not in included)
    return total([base, *(increment for increment, _ in filter(None, found))])


def carried(layout: IndexDirectory, segments: Iterable[SegmentEntry]) -> EventStatistics:
    """Return the latest statistics that some segment was built by: what is left when the sum is lost."""
    best = EventStatistics()
    for entry in segments:
        with contextlib.suppress(TocsinError):
            found = Segment.open(layout, entry.segment.name).statistics
            if found is not None and found.seen > best.seen:
                best = found
    return best


def _write(path: Location, statistics: EventStatistics, included: Iterable[str]) -> None:
    names = msgspec.msgpack.encode(tuple(included))
    arrays = {"statistics": as_array(encode(statistics)), "included": as_array(names)}
    write_arrays(path, KIND, {}, arrays)


def _read(path: Location) -> tuple[EventStatistics, tuple[str, ...]] | None:
    try:
        file = open_arrays(path, KIND, WHOLE)
        names = _NAMES.decode(file.arrays["included"].tobytes())
        found = decode(file.arrays["statistics"].tobytes())
    except (TocsinError, msgspec.DecodeError, KeyError):
        return None
    return None if found is None else (found, names)


def as_array(data: bytes) -> npt.NDArray[np.uint8]:
    """Return bytes as an array."""
    return np.frombuffer(data, np.uint8)
