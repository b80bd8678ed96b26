"""The writer: publishes written segments and removals as the next version, exactly once each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from index import files, tail
from index.directory import AnyPath, IndexDirectory
from index.manifest import IndexGone, Manifest, SegmentEntry, VersionTaken, latest, latest_version, publish
from index.segment import Segment, SegmentInfo, write_segment
from index.segment_cache import SegmentCache
from index.shards import check_shards
from index.word_analyser import check_analyser
from schemas.errors import TocsinError

__all__ = ["IndexWriter", "SegmentInfo", "write_segment"]


class IndexWriter:
    """Adds deltas to an index directory. Any number of writers and merges may run at the same time.

    Parameters
    ----------
    directory
        The index directory; made when missing.
    source
        Where the subscriptions come from, for example cluster and topic; a directory filled from another source is
        refused. Empty: not checked.
    shards
        How many shards the subscriptions are spread over; a directory with another number is refused.
    """

    def __init__(self, directory: AnyPath | IndexDirectory, source: str = "", shards: int = 1) -> None:
        self._layout = IndexDirectory.of(directory)
        self._layout.create()
        self._source = source
        self._shards = shards
        self._known = latest_version(self._layout)
        self._cache = SegmentCache(self._layout)

    def publish(self, segments: Sequence[SegmentInfo], removed: Iterable[str], absorbed: Mapping[int, int]) -> int:
        """Publish a delta and return the version that holds it.

        1. Read the latest manifest. When it has absorbed all of these offsets, the delta is a replay: return its
           version.
        2. Find the ids of the delta in the older segments and write the dead sets that change.
        3. Create the next version's manifest exclusively; when somebody was first, undo step 2 and begin again.

        Parameters
        ----------
        segments
            Written segments, each of one shard. An id in several of them lives in the last of these.
        removed
            Ids that are unsubscribed: they die in all older segments, not in those of this delta.
        absorbed
            Partition to next offset, for the partitions that the delta read. Empty: the delta is never a replay.

        Raises
        ------
        DamagedFile
            A segment, dead set or manifest is missing, torn or altered.
        IndexGone
            Of the versions that this writer has met the latest is gone, and no later one is there.
        TocsinError
            The directory belongs to another source, has another number of shards or was built by another analyser, or
            the offsets are behind in one partition and ahead in another.
        """
        gone = sorted(set(removed))
        while True:
            base = latest(self._layout)
            if base.version < self._known:
                raise IndexGone(self._layout.root, self._known, base.version)
            self._known = base.version
            check_analyser(self._layout, base)
            check_shards(self._layout, base, self._shards)
            if self._is_replay(base, absorbed) or not (segments or gone or absorbed):
                return base.version
            delta = self._open_delta(base, segments)
            entries = tail.extend(self._layout, base.segments, delta, gone, self._cache.get, self._shards)
            following = base.successor(entries, absorbed, self._source, self._shards)
            try:
                publish(self._layout, following)
            except VersionTaken:
                tail.discard(self._layout, entries, kept=base.segments)
                continue
            self._cache.keep(following.segments)
            self._known = following.version
            return following.version

    def _is_replay(self, base: Manifest, absorbed: Mapping[int, int]) -> bool:
        if self._source and base.source and self._source != base.source:
            raise TocsinError(
                f"The index {self._layout.root} was filled from {base.source}, not from {self._source}. "
                "Name another index directory, or remove this one and the job's checkpoint to build it anew."
            )
        ahead = [p for p, offset in absorbed.items() if offset > base.absorbed.get(p, 0)]
        behind = [p for p, offset in absorbed.items() if offset < base.absorbed.get(p, 0)]
        if ahead and behind:
            raise TocsinError(
                f"The index {self._layout.root} has absorbed offsets {base.absorbed} of the subscriptions topic, and "
                f"{dict(absorbed)} was offered: partitions {sorted(behind)} would bring back older records. Start "
                "reading at the index's offsets, or remove the index directory and the job's checkpoint."
            )
        return bool(absorbed) and not ahead

    def _open_delta(self, base: Manifest, delta: Sequence[SegmentInfo]) -> list[Segment]:
        """Open the new segments, and make them young so that garbage collection keeps them until they are published."""
        names = [entry.segment.name for entry in base.segments] + [info.name for info in delta]
        if len(set(names)) < len(names):
            raise ValueError(f"a segment is published once only: {[info.name for info in delta]}")
        if any(info.shard >= self._shards for info in delta):
            raise ValueError(f"of {self._shards} shards none is that of a segment: {[info.shard for info in delta]}")
        for info in delta:
            files.touch(self._layout.segment(info.name))
        return [self._cache.get(SegmentEntry(info)) for info in delta]
