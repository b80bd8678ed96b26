"""A merge: rewrites several segments' live subscriptions as one segment and publishes it in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from index import files, statistics_store
from index.byte_rows import Int64s
from index.dead_set import Ordinals, read_dead, write_dead
from index.directory import AnyPath, IndexDirectory
from index.engine import Engine
from index.found import merged_order
from index.manifest import Manifest, SegmentEntry, VersionTaken, latest, publish
from index.merge_policy import MergePlan
from index.segment import Rows, Segment, SegmentInfo, write_rows
from index.tail import discard
from index.uncollected import no_garbage_collection
from index.word_analyser import check_analyser


@dataclass(frozen=True, eq=False)
class Merged:
    """The outcome of step 2 of `merge`: the written segment and where its rows came from.

    Attributes
    ----------
    info
        The segment; None when no input had anything alive.
    alive
        For each input the ordinals that were taken, ascending.
    places
        For each input the merged ordinals of those.
    """

    info: SegmentInfo | None
    alive: list[Ordinals]
    places: list[Int64s]


def merge(directory: AnyPath | IndexDirectory, plan: MergePlan, engine: Engine) -> int | None:
    """Carry out one merge; return the version that holds it, or None when the race was lost and nothing changed.

    1. Read the latest manifest; an input that it does not name was merged by somebody else: return None.
    2. Write the live subscriptions of the inputs as one segment, built by what has been observed of events.
    3. Read the latest manifest again. What died in the inputs since step 1 becomes the merged segment's dead set.
       An input that is no longer named means a lost race: remove the segment and return None.
    4. Create the next version's manifest exclusively; when somebody was first, go back to step 3.

    Parameters
    ----------
    directory
        The index directory.
    plan
        What to merge: segments of one shard, unless nothing in them is alive.
    engine
        Builds the merged segment, whichever engines built the inputs.

    Raises
    ------
    DamagedFile
        An input is damaged: its arrays' checksums are compared before its bodies are copied.
    TocsinError
        The index was built by another analyser than this process's.
    """
    layout = IndexDirectory.of(directory)
    base = latest(layout)
    check_analyser(layout, base)
    inputs = _named(base, plan)
    if inputs is None:
        return None
    merged = _write(layout, inputs, engine)
    following = _commit(layout, plan, merged)
    if merged.info is not None and not (following and _names(following, merged.info)):
        files.remove(layout.segment(merged.info.name))
    return None if following is None else following.version


def _named(manifest: Manifest, plan: MergePlan) -> list[SegmentEntry] | None:
    """Return the entries of the inputs, in the plan's order, or None when the manifest lacks one."""
    entries = {entry.segment.name: entry for entry in manifest.segments}
    return [entries[name] for name in plan.inputs] if entries.keys() >= set(plan.inputs) else None


def _write(layout: IndexDirectory, inputs: Sequence[SegmentEntry], engine: Engine) -> Merged:
    alive = [_alive(layout, entry) for entry in inputs]
    bounds = np.cumsum([0, *map(len, alive)])
    if bounds[-1] == 0:
        return Merged(None, alive, [np.zeros(0, np.int64) for _ in inputs])
    [shard] = {entry.segment.shard for entry, kept in zip(inputs, alive, strict=True) if len(kept)}
    rows = Rows.concatenate(
        [_kept(_checked_rows(layout, entry), kept) for entry, kept in zip(inputs, alive, strict=True) if len(kept)]
    )
    # One event that wants all candidates, each input's in the order of their ids and no scores: a merge by id.
    starts = np.column_stack([bounds[:-1], bounds[1:]])
    order = merged_order(starts, np.zeros(len(rows), np.int64), rows.ids, np.zeros(1, np.int32))
    rows = rows.take(order)
    with no_garbage_collection():
        subscriptions = rows.subscriptions()
    info = write_rows(layout, engine, subscriptions, rows, statistics_store.gathered(layout), shard)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return Merged(info, alive, np.split(place, bounds[1:-1]))


def _names(manifest: Manifest, info: SegmentInfo) -> bool:
    """Return whether a version has this segment: not when everything in it died while it was written."""
    return any(entry.segment == info for entry in manifest.segments)


def _commit(layout: IndexDirectory, plan: MergePlan, merged: Merged) -> Manifest | None:
    """Publish the version with the merged segment and return it; None when the race was lost."""
    while True:
        base = latest(layout)
        inputs = _named(base, plan)
        if inputs is None:
            return None
        replacement = _entry(layout, inputs, merged)
        following = base.successor(_replaced(base.segments, plan, replacement))
        try:
            publish(layout, following)
        except VersionTaken:
            discard(layout, replacement, kept=())
            continue
        return following


def _entry(layout: IndexDirectory, inputs: Sequence[SegmentEntry], merged: Merged) -> list[SegmentEntry]:
    """Return the merged segment's entry under the inputs' deaths by now; none when nothing in it is alive."""
    if merged.info is None:
        return []
    died = [
        places[np.isin(alive, read_dead(layout, entry), assume_unique=True)]
        for entry, alive, places in zip(inputs, merged.alive, merged.places, strict=True)
    ]
    dead = np.sort(np.concatenate(died)).astype(np.uint32)
    return [write_dead(layout, merged.info, dead)] if len(dead) < merged.info.count else []


def _replaced(
    segments: Sequence[SegmentEntry], plan: MergePlan, replacement: Sequence[SegmentEntry]
) -> list[SegmentEntry]:
    """Return the segments with the replacement where the first input stood."""
    first = next(i for i, entry in enumerate(segments) if entry.segment.name in plan.inputs)
    rest = [entry for entry in segments[first:] if entry.segment.name not in plan.inputs]
    return [*segments[:first], *replacement, *rest]


def _alive(layout: IndexDirectory, entry: SegmentEntry) -> Ordinals:
    ordinals: npt.NDArray[np.uint32] = np.arange(entry.segment.count, dtype=np.uint32)
    dead = read_dead(layout, entry)
    return np.delete(ordinals, dead) if len(dead) else ordinals


def _kept(rows: Rows, ordinals: Ordinals) -> Rows:
    return rows if len(ordinals) == len(rows) else rows.take(ordinals)


def _checked_rows(layout: IndexDirectory, entry: SegmentEntry) -> Rows:
    """Open an input and compare its checksums: a merge must not make damage permanent under a new checksum."""
    segment = Segment.open(layout, entry.segment.name, whole=True)
    segment.expect(entry.segment)
    return segment.rows
