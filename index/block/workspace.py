"""A matcher's memory: masks, stamps and buffers, allocated once, of which only what events touch is ever used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from index.block.kernels import Scratch, Work
from index.block.layout import Int32s, Int64s, PostingArrays, RowArrays, Sizes, UInt64s
from index.block.masks import Chunk, clear, fill_tables
from index.block.scoring import Frames
from index.block.translate import Ranked
from index.engine import Matches

if TYPE_CHECKING:
    from index.block.matcher import Span

HITS = 1 << 16
"""Hits that are found, scored and ranked at a time; their buffers stay in the cache."""

_LAST_EPOCH = np.iinfo(np.int32).max


class Hits(NamedTuple):
    """A buffer of hits: event, clause and, once scored, points."""

    event: Int32s
    clause: Int32s
    points: Int64s


class Workspace:
    """What kernels write to.

    Attributes
    ----------
    touched
        int32 [rows], rows set by a chunk.
    visited
        int32 [clauses posted under several rows], the epoch in which each was last planned.
    work, hits, kept, frames
        See their types.
    is_dead
        uint8 [subscriptions].
    """

    def __init__(self, sizes: Sizes, rows: RowArrays, postings: PostingArrays) -> None:
        self._count = len(postings.post_start) - 1
        self._first_range = self._count - len(rows.range_ladder)
        self._first_in = self._first_range - (len(rows.in_start) - 1)
        self._depth = sizes.match_depth
        self._masks: dict[int, UInt64s] = {}
        self._scratch: dict[int, Scratch] = {}
        self._stamp = np.zeros(self._count, np.int32)
        self._epoch = 0
        self._busy = False
        shared = len(postings.clause_owner) - int(postings.post_start[-1])
        self.touched = np.empty(self._count, np.int32)
        self.visited = np.zeros(shared, np.int32)
        self.work = Work(*(np.empty(self._count + shared, np.int32) for _ in Work._fields))
        self.hits = Hits(np.empty(HITS, np.int32), np.empty(HITS, np.int32), np.empty(HITS, np.int64))
        self.kept = Matches(np.empty(HITS, np.int32), np.empty(HITS, np.int32), np.empty(HITS, np.int64))
        depth = sizes.score_depth + 1
        self.frames = Frames(np.empty(depth, np.uint8), np.empty(depth, np.uint8), np.empty(depth, np.int64))
        self.is_dead = np.zeros(sizes.subscriptions, np.uint8)

    def scratch(self, words: int) -> Scratch:
        """Return the memory for match programs over masks of so many words."""
        if words not in self._scratch:
            self._scratch[words] = Scratch(
                np.empty(words, np.uint64),
                np.empty(words, np.uint64),
                np.empty((self._depth, 2, words), np.uint64),
                np.empty(self._depth, np.int64),
            )
        return self._scratch[words]

    def begin(self, ranked: Ranked, span: Span, ladders: int) -> Chunk:
        """Begin a chunk: masks that are zero, a new epoch, and the sparse tables of the values on ladders."""
        if self._busy:  # an exception kept the last chunk from its end, so nobody knows which masks are zero
            self._masks.clear()
        self._busy = True
        if self._epoch == _LAST_EPOCH:
            self._stamp[:] = self.visited[:] = 0
            self._epoch = 0
        self._epoch += 1
        if span.words not in self._masks:
            self._masks[span.words] = np.zeros((self._count, span.words), np.uint64)
        return Chunk(
            self._masks[span.words],
            self._stamp,
            self._epoch,
            self._first_in,
            self._first_range,
            *_tables(ranked, span, ladders),
        )

    def end(self, chunk: Chunk, direct: int) -> None:
        """End a chunk: zero what the first ``direct`` touched rows have set."""
        clear(chunk.masks, self.touched, direct)
        self._busy = False


def _tables(ranked: Ranked, span: Span, ladders: int) -> tuple[Int64s, Int64s, Int64s, Int32s, UInt64s]:
    """Return the last five fields of `Chunk` for the span's entries."""
    low, high = np.searchsorted(ranked.chunk, (span.chunk, span.chunk + 1)) if ladders else (0, 0)
    ladder, rank, event = ranked.ladder[low:high], ranked.rank[low:high], ranked.event[low:high] - span.first
    new = np.ones(len(rank), np.bool_)
    new[1:] = (ladder[1:] != ladder[:-1]) | (rank[1:] != rank[:-1])
    count = np.bincount(ladder[new], minlength=ladders)
    first = np.cumsum(count) - count
    levels = np.frexp(count)[1].astype(np.int64)  # the bit length
    rows = levels * count
    table = np.cumsum(rows) - rows
    tables = np.zeros((int(rows.sum()), span.words), np.uint64)
    place = table[ladder] + np.cumsum(new) - 1 - first[ladder]
    bit = np.uint64(1) << (event & 63).astype(np.uint64)
    fill_tables(place, event >> 6, bit, count, table, tables)
    return first, count, table, rank[new], tables
