"""What a delta does to a version: which older subscriptions die, as its segments replace them or it removes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from index import files
from index.byte_rows import ByteRows
from index.dead_set import NONE, Ordinals, read_dead, united, write_dead
from index.directory import IndexDirectory
from index.manifest import SegmentEntry
from index.segment import Segment
from index.shards import shard_numbers

OpenSegment = Callable[[SegmentEntry], Segment]


def extend(
    layout: IndexDirectory,
    older: Sequence[SegmentEntry],
    delta: Sequence[Segment],
    removed: Iterable[str],
    open_segment: OpenSegment,
    shards: int = 1,
) -> list[SegmentEntry]:
    """Return the entries of a version that has grown by a delta; dead sets that changed are written.

    Parameters
    ----------
    layout
        The index directory.
    older
        The version's entries.
    delta
        New segments. An id in several of them lives in the last of these.
    removed
        Ids that die in the older segments; one that a new segment holds as well lives there.
    open_segment
        Opens an older segment for its ids.
    shards
        How many shards the version has; an id is looked for in its own only.
    """
    leavers = ByteRows.of([id_.encode() for id_ in removed])
    numbers = shard_numbers(leavers, shards)
    gone = [[leavers.take(np.flatnonzero(numbers == shard))] for shard in range(shards)]
    for segment in delta:
        gone[segment.info.shard].append(segment.rows.ids)
    entries = [_entry_after(layout, entry, gone[entry.segment.shard], open_segment) for entry in older]
    superseded = repeated([segment.rows.ids for segment in delta])
    entries += [write_dead(layout, new.info, dead) for new, dead in zip(delta, superseded, strict=True)]
    return entries


def discard(layout: IndexDirectory, entries: Iterable[SegmentEntry], kept: Iterable[SegmentEntry]) -> None:
    """Remove the dead sets of entries that were not published, but for those that ``kept`` entries name."""
    known = {entry.dead for entry in kept}
    for entry in entries:
        if entry.dead is not None and entry.dead not in known:
            files.remove(layout.dead_set(entry.dead))


def repeated(tables: Sequence[ByteRows]) -> list[Ordinals]:
    """Return for each table the rows whose id also stands in a later table.

    Hashes of all ids are sorted once, so the cost does not grow with the number of tables; ids are compared byte by
    byte only where hashes meet.
    """
    if len(tables) < 2:
        return [NONE for _ in tables]
    table = np.repeat(np.arange(len(tables)), [len(rows) for rows in tables])
    row = np.concatenate([np.arange(len(rows)) for rows in tables])
    hashes = np.concatenate([rows.hashes() for rows in tables])
    order = np.argsort(hashes, kind="stable")
    meets_next = hashes[order[1:]] == hashes[order[:-1]]
    suspects = np.unique(np.concatenate([order[1:][meets_next], order[:-1][meets_next]]))
    last: dict[bytes, tuple[int, int]] = {}
    dead: list[list[int]] = [[] for _ in tables]
    for t, r in zip(table[suspects].tolist(), row[suspects].tolist(), strict=True):
        id_ = tables[t][r]
        if id_ in last:
            earlier, ordinal = last[id_]
            dead[earlier].append(ordinal)
        last[id_] = (t, r)
    return [united(NONE, np.array(ordinals, np.int64)) for ordinals in dead]


def _entry_after(
    layout: IndexDirectory, entry: SegmentEntry, gone: Sequence[ByteRows], open_segment: OpenSegment
) -> SegmentEntry:
    """Return an entry without the ids that are gone; the same entry when none of them was alive in it."""
    if entry.alive == 0 or not any(len(rows) for rows in gone):
        return entry
    ids = open_segment(entry).rows.ids
    found = np.concatenate([ids.find(rows) for rows in gone])
    dead = read_dead(layout, entry)
    more = united(dead, found[found >= 0])
    return entry if more is dead else write_dead(layout, entry.segment, more)
