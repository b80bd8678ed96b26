"""A matcher's memory: masks, stamps and buffers, allocated once, of which only what events touch is ever used."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block import pages
from index.block.hits import Found
from index.block.layout import (
    Float32s,
    Float64s,
    Int32s,
    Int64s,
    PostingArrays,
    RowArrays,
    RowKinds,
    Sizes,
    UInt8s,
    UInt64s,
)
from index.block.masks import Chunk, clear
from index.block.rank_tables import RankTables
from index.block.records import FILTER_BITS, Near, Scratch
from index.block.score_classes import Classes
from index.block.spans import Span
from index.block.translate import Ranked
from index.score_frames import Frames

HITS = 1 << 17
"""Words of the masks of hits that are found at a time; their buffers stay in the cache."""

_LAST_EPOCH = np.iinfo(np.int32).max


class Memory(NamedTuple):
    """What the kernels that test records write to, for one W.

    Attributes
    ----------
    live_group, live_row
        int32 [groups]: the groups to be tested, and the row that each is posted under.
    start
        uint64 [W]: the events that reach a group.
    few
        int64 [64 W]: some of those events, one by one.
    near
        What these have on ladders.
    range
        uint64 [1, W]: the mask of an interval.
    filters
        uint64 [64 W + 1, bits / 64]: the rows that each event satisfies, see `index.block.records`; the last filter is
        that of several.
    exact
        Whether each row has a bit of its own.
    scratch, frames, classes
        See their types, as for ``near``.
    is_dead
        uint8 [subscriptions].
    codes
        float32: the words of the records, read as weights.
    weight
        float64 [attributes, 64 W]: see `index.block.entries.weigh`.
    """

    live_group: Int32s
    live_row: Int32s
    start: UInt64s
    few: Int64s
    near: Near
    range: UInt64s
    filters: UInt64s
    exact: bool
    scratch: Scratch
    frames: Frames
    classes: Classes
    is_dead: UInt8s
    codes: Float32s
    weight: Float64s


class Workspace:
    """What kernels write to.

    Attributes
    ----------
    touched
        int32 [rows], rows set by a chunk.
    visited
        int32 [shared groups], the epoch in which each was last listed.
    is_dead
        uint8 [subscriptions].
    """

    def __init__(self, sizes: Sizes, rows: RowArrays, postings: PostingArrays, attributes: int, ladders: int) -> None:
        self._kinds = RowKinds.of(rows, postings)
        self._sizes = sizes
        self._attributes = attributes
        self._ladders = ladders
        self._codes = postings.words.view(np.float32)
        self._codes.flags.writeable = False
        self._masks: dict[int, UInt64s] = {}
        self._memory: dict[int, Memory] = {}
        self._found: dict[int, Found] = {}
        self._stamp = np.zeros(self._kinds.rows, np.int32)
        self._epoch = 0
        self._busy = False
        groups = len(postings.group_second)
        self._live = np.empty(groups, np.int32), np.empty(groups, np.int32)
        self.touched = np.empty(self._kinds.rows, np.int32)
        self.visited = np.zeros(groups - int(postings.group_start[-1]), np.int32)
        self.is_dead = np.zeros(sizes.subscriptions, np.uint8)

    def mask_bytes(self, words: int) -> int:
        """Return how many bytes the masks of all rows have."""
        return 8 * words * self._kinds.rows

    def memory(self, words: int) -> Memory:
        """Return the memory for masks of so many words."""
        if words not in self._memory:
            depth = self._sizes.match_depth
            bits = 64
            while bits < min(self._kinds.rows, FILTER_BITS):
                bits *= 2
            self._memory[words] = Memory(
                *self._live,
                pages.zeros(words, np.uint64),
                np.zeros(64 * words, np.int64),
                Near.of_ladders(self._ladders),
                pages.zeros((1, words), np.uint64),
                pages.zeros((64 * words + 1, bits // 64), np.uint64),
                bits >= self._kinds.rows,
                Scratch(
                    pages.empty(words, np.uint64),
                    pages.empty((depth, 2, words), np.uint64),
                    np.empty((depth, 2), np.uint8),
                    np.empty(depth, np.int64),
                ),
                Frames.of(self._sizes.score_depth),
                Classes.of(self._sizes.score_depth + 1, words),
                self.is_dead,
                self._codes,
                np.empty((self._attributes, 64 * words)),
            )
        return self._memory[words]

    def found(self, words: int) -> Found:
        """Return the buffer of hits for masks of so many words."""
        if words not in self._found:
            self._found[words] = Found.of(HITS // words, words)
        return self._found[words]

    def begin(self, ranked: Ranked, span: Span) -> Chunk:
        """Begin a chunk: masks that are zero, a new epoch, and the sparse tables of the values on ladders."""
        if self._busy:  # an exception kept the last chunk from its end, so nobody knows which masks are zero
            self._masks.clear()
        self._busy = True
        if self._epoch == _LAST_EPOCH:
            self._stamp[:] = self.visited[:] = 0
            self._epoch = 0
        self._epoch += 1
        if span.words not in self._masks:
            self._masks[span.words] = pages.zeros((self._kinds.rows, span.words), np.uint64)
        return Chunk(
            self._masks[span.words],
            self._stamp,
            self._epoch,
            self._kinds.first_in,
            self._kinds.first_range,
            self._kinds.first_outside,
            _rank_tables(ranked, span, self._ladders),
        )

    def end(self, chunk: Chunk, touched: int) -> None:
        """End a chunk: zero the first ``touched`` rows that it has touched."""
        clear(chunk.masks, self.touched, touched)
        self._busy = False


def _rank_tables(ranked: Ranked, span: Span, ladders: int) -> RankTables:
    """Return the tables of the span's entries."""
    if not ladders:
        return RankTables.none(span.words)
    low, high = np.searchsorted(ranked.chunk, (span.chunk, span.chunk + 1))
    event = ranked.event[low:high] - np.int32(span.first)
    return RankTables.of(ranked.ladder[low:high], ranked.rank[low:high], event, ladders, span.words)
