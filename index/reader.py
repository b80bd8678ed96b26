"""The reader: follows versions in one process and matches event blocks against all segments of a version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import msgspec
import numpy as np

from index.byte_rows import ByteRows, Int64s
from index.dead_set import Ordinals, read_dead
from index.directory import AnyPath, IndexDirectory
from index.engine import BoundedMatcher, Engine, Matcher
from index.event_block import EventBlock
from index.files import DamagedFile
from index.floors import Floors
from index.found import Found, combine
from index.manifest import EMPTY, Manifest, SegmentEntry, read_manifest
from index.matches import Matches
from index.segment import NO_LABELS, Segment
from index.segment_cache import SegmentCache
from index.shards import Shard, check_shards
from index.word_analyser import check_analyser
from schemas.errors import TocsinError
from schemas.records import Subscription

__all__ = ["Found", "IndexReader", "Snapshot", "SnapshotStats"]

IDLE_VERSIONS = 64
"""A shard that was not asked for while the index went on by so many versions is closed."""


class SnapshotStats(msgspec.Struct, frozen=True):
    """Sizes of a version; segments that are dead as a whole are not counted."""

    version: int
    segments: int
    subscriptions: int
    dead: int
    bytes: int


@dataclass(frozen=True, eq=False)
class LiveSegment:
    """A segment as one version sees it."""

    entry: SegmentEntry
    segment: Segment
    matcher: Matcher
    dead: Ordinals

    @cached_property
    def bounded(self) -> BoundedMatcher | None:
        """The matcher, if it is one; to find out takes 30 µs, too long for each match."""
        return self.matcher if isinstance(self.matcher, BoundedMatcher) else None

    def subscription(self, id_: ByteRows) -> Subscription | None:
        """Return the subscription with this id (one row), or None when it is not here or dead."""
        ordinal = int(self.segment.rows.ids.find(id_)[0])
        place = int(np.searchsorted(self.dead, ordinal))
        if ordinal < 0 or (place < len(self.dead) and self.dead[place] == ordinal):
            return None
        return self.segment.rows.subscription(ordinal)


class Snapshot:
    """One version, open. It never changes; one snapshot is used by one thread at a time.

    Attributes
    ----------
    version
        Its number.
    segments
        Its segments that hold something alive; `Found.segment` indexes them.
    absorbed
        Partition of the subscriptions topic to the next offset: all before it is in this version.
    shards
        How many shards the version has.
    """

    def __init__(
        self, version: int, segments: Sequence[LiveSegment], absorbed: dict[int, int], shards: int = 1
    ) -> None:
        self.version = version
        self.segments = tuple(segments)
        # a large segment's best leave the least to be looked for in the others
        self._largest_first = sorted(range(len(segments)), key=lambda k: -segments[k].entry.alive)
        self.absorbed = absorbed
        self.shards = shards

    @property
    def stats(self) -> SnapshotStats:
        """Sizes."""
        entries = [live.entry for live in self.segments]
        return SnapshotStats(
            version=self.version,
            segments=len(entries),
            subscriptions=sum(entry.alive for entry in entries),
            dead=sum(entry.dead_count for entry in entries),
            bytes=sum(entry.segment.bytes for entry in entries),
        )

    def match(self, block: EventBlock, most: int | None = None) -> Found:
        """Match every event of the block: its first ``top`` matches by (score falling, id rising) over all segments.

        Raises
        ------
        TooManyMatches
            The block has several events, and more than ``most`` matches; not every engine sees to that.
        """
        matches: dict[int, Matches] = {}
        floors = Floors(block.top)
        for place, k in enumerate(self._largest_first):
            if place:
                floors.learn(matches[self._largest_first[place - 1]])
            live = self.segments[k]
            dead = live.dead if len(live.dead) else None
            if live.bounded is not None:
                matches[k] = live.bounded.match(block, dead, most, floors.points)
                most = None if most is None else most - len(matches[k])
            else:
                matches[k] = live.matcher.match(block, dead)
        by_segment = [matches[k] for k in range(len(self.segments))]
        return combine(block.top, by_segment, [live.segment.rows.ids for live in self.segments])

    def ids(self, found: Found) -> list[bytes]:
        """Return the matches' ids, UTF-8, row by row."""
        return self._fetch(found, [live.segment.rows.ids for live in self.segments])

    def labels(self, found: Found) -> list[bytes]:
        """Return the matches' labels as JSON objects, row by row."""
        return [row or NO_LABELS for row in self._fetch(found, [live.segment.rows.labels for live in self.segments])]

    def text_bytes(self, found: Found) -> Int64s:
        """Return how many bytes id and labels of each match have together, without fetching them."""
        sizes = np.zeros(len(found.event), np.int64)
        for k, live in enumerate(self.segments):
            at = np.flatnonzero(found.segment == k)
            rows = found.subscription[at]
            for column in (live.segment.rows.ids, live.segment.rows.labels):
                sizes[at] += column.lengths(rows)
        return sizes

    def get(self, id_: str) -> Subscription | None:
        """Return the subscription with this id, or None when there is none in this version."""
        wanted = ByteRows.of([id_.encode(errors="surrogatepass")])  # which no id holds
        return next((s for live in self.segments if (s := live.subscription(wanted)) is not None), None)

    def _fetch(self, found: Found, columns: Sequence[ByteRows]) -> list[bytes]:
        """Gather segment by segment, then bring the rows into the order of the matches."""
        order = np.argsort(found.segment, kind="stable")
        bounds = np.searchsorted(found.segment[order], np.arange(len(columns) + 1))
        places = [order[start:stop] for start, stop in pairwise(bounds.tolist())]
        gathered = [column.take(found.subscription[rows]) for column, rows in zip(columns, places, strict=True)]
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return ByteRows.concatenate(gathered).take(back).to_list()


class IndexReader:
    """Opens versions of an index directory; what two versions share is opened once.

    Parameters
    ----------
    directory
        The index directory; it may not exist yet.
    engines
        The engines that the segments may name.
    whole
        Whether each segment's checksums are all compared when it is opened; otherwise those of small ones are, which
        suffices where the job's start has read every file.
    """

    def __init__(self, directory: AnyPath | IndexDirectory, engines: Iterable[Engine], whole: bool = False) -> None:
        self._layout = IndexDirectory.of(directory)
        self._engines = {engine.name: engine for engine in engines}
        self._cache = SegmentCache(self._layout, whole)
        self._current: dict[Shard | None, Snapshot] = {}
        self._manifest = EMPTY

    def at(self, version: int, shard: Shard | None = None) -> Snapshot:
        """Open a version, whole or one shard of it; 0 is the empty index.

        The version must be pinned, or superseded no longer ago than garbage collection's grace period. Of each shard
        the version that was opened last stays open, until `IDLE_VERSIONS` later ones of others were.

        Raises
        ------
        RemovedVersion
            Garbage collection has removed the version.
        DamagedFile
            Some file of the version is missing, torn or, as far as that is looked at, altered; the version is not
            opened in part.
        TocsinError
            A segment was built by an engine that this reader was not given, or the index by another analyser than
            this process's, or it has another number of shards.
        """
        current = self._current.get(shard)
        if current is None or version != current.version:
            manifest = self._read(version)
            if shard is not None:
                check_shards(self._layout, manifest, shard.of)
            shared = {} if current is None else {live.entry.segment.name: live for live in current.segments}
            entries = [e for e in manifest.segments if e.alive and (shard is None or e.segment.shard == shard.number)]
            try:
                live = [self._live(entry, shared.get(entry.segment.name)) for entry in entries]
            except DamagedFile:
                read_manifest(self._layout, version)  # says so if the whole version was removed meanwhile
                raise
            current = self._current[shard] = Snapshot(version, live, manifest.absorbed, manifest.shards)
            self._current = {s: open_ for s, open_ in self._current.items() if open_.version > version - IDLE_VERSIONS}
            self._cache.keep(live.entry for snapshot in self._current.values() for live in snapshot.segments)
        return current

    def _read(self, version: int) -> Manifest:
        """Return a manifest that belongs to this process, read once for all shards."""
        if version != self._manifest.version:
            manifest = read_manifest(self._layout, version)
            check_analyser(self._layout, manifest)
            self._manifest = manifest
        return self._manifest

    def _live(self, entry: SegmentEntry, before: LiveSegment | None) -> LiveSegment:
        """Open an entry, with what the version before it had open."""
        if before is not None and before.entry == entry:
            return before
        if before is None:
            segment = self._cache.get(entry)
            matcher = self._engine(segment).open(segment.parts)
        else:
            segment, matcher = before.segment, before.matcher
            segment.expect(entry.segment)
        return LiveSegment(entry, segment, matcher, read_dead(self._layout, entry))

    def _engine(self, segment: Segment) -> Engine:
        if segment.engine not in self._engines:
            raise TocsinError(
                f"{segment.file.path} was built by engine {segment.engine!r}, and this job knows "
                f"{sorted(self._engines)}. Set the engine back, or remove the index directory and the job's "
                "checkpoint to build it anew."
            )
        return self._engines[segment.engine]
