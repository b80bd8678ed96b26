"""Dead sets: which ordinals of a segment no longer match, in one immutable file a segment and change."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from index import files
from index.array_file import WHOLE, open_arrays, write_arrays
from index.directory import IndexDirectory
from index.files import DamagedFile
from index.manifest import SegmentEntry
from index.segment import SegmentInfo

KIND = "dead"

Ordinals = npt.NDArray[np.uint32]
"""Ascending and distinct."""

NONE: Ordinals = np.zeros(0, np.uint32)


def read_dead(layout: IndexDirectory, entry: SegmentEntry) -> Ordinals:
    """Return the dead ordinals of a version's segment.

    Raises
    ------
    DamagedFile
        The dead set is missing, torn, altered or another segment's.
    """
    if entry.alive == 0:
        return np.arange(entry.segment.count, dtype=np.uint32)
    if entry.dead is None:
        return NONE
    file = open_arrays(layout.dead_set(entry.dead), KIND, WHOLE)
    ordinals: Ordinals = file.arrays["ordinals"]
    wanted = f"{entry.dead_count} of {entry.segment.name}"
    found = f"{len(ordinals)} of {file.notes['segment']}"
    if found != wanted:
        raise DamagedFile(file.path, found, wanted)
    return ordinals


def write_dead(layout: IndexDirectory, segment: SegmentInfo, ordinals: Ordinals) -> SegmentEntry:
    """Write a segment's dead set and return its entry; a segment wholly dead or wholly alive needs no file."""
    name = None
    if 0 < len(ordinals) < segment.count:
        name = files.unique_name()
        write_arrays(layout.dead_set(name), KIND, {"segment": segment.name}, {"ordinals": ordinals})
    return SegmentEntry(segment, name, len(ordinals))


def united(dead: Ordinals, more: npt.NDArray[np.integer]) -> Ordinals:
    """Return ``dead`` with more ordinals, in any order and with repetitions; ``dead`` itself when they add nothing."""
    new = np.unique(more).astype(np.uint32)
    places = np.searchsorted(dead, new)
    known = np.zeros(len(new), bool)
    inside = places < len(dead)
    known[inside] = dead[places[inside]] == new[inside]
    return np.insert(dead, places[~known], new[~known]) if not known.all() else dead
