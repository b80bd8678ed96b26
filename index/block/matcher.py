"""Matches a block against one segment: chunk by chunk, mark the rows, test the records, rank the matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from index.arrays import group, read_only
from index.block import entries, masks, top, walk
from index.block.answers import Part, Rows, written
from index.block.collected import Collected
from index.block.held import Held
from index.block.layout import Int32s, Int64s, PostingArrays, RowArrays, ScoreArrays, Sizes
from index.block.masks import Chunk
from index.block.ordering import arranged
from index.block.owner_lists import Owners
from index.block.ranking import HEAP_MOST, RANK_LIMIT, Best
from index.block.records import spread
from index.block.scene import Scene
from index.block.spans import CHOSEN, Span, Words, fitting, spans
from index.block.translate import Translator, View
from index.block.workspace import Memory, Workspace
from index.dead_marks import DeadMarks
from index.engine import Parts, TooManyMatches
from index.event_block import EventBlock
from index.floors import NO_FLOOR
from index.matches import Matches, MatchRows

_LONG_MASKS = 1 << 25
"""Bytes that the masks of all rows may have where chunks may be long; more would not stay in the cache."""

_EVERYONE = np.full(CHOSEN[-1], ~np.uint64(0))
"""The mask of all events that there may be."""


class Marked(NamedTuple):
    """A chunk whose rows are set: the chunk, how many rows were touched, and the memory for its W."""

    chunk: Chunk
    touched: int
    memory: Memory


class BlockMatcher:
    """A segment's arrays and the memory to match with.

    Parameters
    ----------
    parts
        What `index.block.builder.build_parts` made.
    words
        W for all blocks; None chooses by the number of events.

    Attributes
    ----------
    postings
        The segment's posting lists.
    """

    is_bounded: Literal[True] = True

    def __init__(self, parts: Parts, words: Words | None = None) -> None:
        # Segments of formats 1 and 2 do not know which attributes can sum up; any may. Before format 4 none had lists,
        # before format 5 any record may score by any attribute, and as much as it likes.
        attributes, records = len(parts["attribute_tags"]), len(parts["record_head"])
        known: Parts = {
            "attribute_sums": np.ones(attributes, np.uint8),
            "attribute_limit": np.full(attributes, np.inf),
            "group_marks": np.full(len(parts["group_second"]), -1, np.int16).view(np.uint16),
            "record_marks": np.full(records, -1, np.int16).view(np.uint16),
            "owner_list_start": np.zeros(1, np.int64),
            "owner_list": np.zeros(0, np.int32),
            **parts,
        }
        parts = {name: read_only(known, name) for name in known}
        self._sizes = Sizes(*parts["sizes"].tolist())
        self._rows = group(RowArrays, parts)
        self.postings = group(PostingArrays, parts)
        self._scores = group(ScoreArrays, parts)
        self._translator = Translator(parts)
        self._memory = Workspace(self._sizes, self._rows, self.postings, attributes, self._translator.ladders)
        self._owners = Owners.of(self.postings, self._memory.is_dead)
        self._words = words
        self._dead_marks = DeadMarks(self._memory.is_dead)
        self._room: int | None = None
        self._expected = 0

    @property
    def count(self) -> int:
        """The number of subscriptions, dead ones included."""
        return self._sizes.subscriptions

    def match(
        self,
        block: EventBlock,
        dead: npt.NDArray[np.uint32] | None = None,
        most: int | None = None,
        floor: Int64s | None = None,
    ) -> Matches:
        """Match every event of the block; see `index.engine.BoundedMatcher.match`."""
        self._dead_marks.bury(dead)
        self._room = None if most is None or block.size < 2 else most
        few = (block.top > 0) & (block.top <= RANK_LIMIT)
        if few.all() or not few.any():
            return self._match(block, bool(few.all()), floor)
        # events that want the best are matched apart from those that want all
        found = []
        for rows in (np.flatnonzero(few), np.flatnonzero(~few)):
            known = None if floor is None else floor[rows]
            part = self._match(block.take(rows), bool(few[rows[0]]), known).rows()
            found.append(part._replace(event=rows[part.event].astype(np.int32)))
        both = MatchRows.joined(found)
        return both.take(np.argsort(both.event, kind="stable")).matches(block.size)

    def listings(self, block: EventBlock) -> Iterator[tuple[Int64s, Marked, int]]:
        """Yield each chunk's events with how many groups are listed for each of its tiers, all events being alive."""
        view, cut = self._view(block)
        for span in cut:
            marked = self._mark(view, span)
            for tier in range(len(self.postings.tier_bound)):
                yield view.order.event[span.first : span.stop], marked, self._pick(marked, span, tier)
            self._memory.end(marked.chunk, marked.touched)

    def _view(self, block: EventBlock) -> tuple[View, list[Span]]:
        view = self._translator.view(block, [64 * words for words in self._widths(block.size)])
        return view, spans(view.order.cuts.tolist(), self._words)

    def _widths(self, events: int) -> Sequence[Words]:
        """Return the W from which to choose for a block of so many events."""
        if self._words is not None:
            return (self._words,)
        if events <= 64 * CHOSEN[1]:
            return (fitting(events),)
        return CHOSEN[1:] if self._memory.mask_bytes(CHOSEN[-1]) <= _LONG_MASKS else CHOSEN[1:-1]

    def _match(self, block: EventBlock, few: bool, floor: Int64s | None) -> Matches:
        view, cut = self._view(block)
        parts: list[Part]
        if few:
            wanted = block.top[view.order.event]
            lowest = np.full(block.size, NO_FLOOR) if floor is None else floor[view.order.event]
            best = [self._best(view, span, wanted, lowest) for span in cut]
            if wanted.max(initial=0) <= HEAP_MOST:
                parts = [Held(span.first, held) for span, held in zip(cut, best, strict=True)]
            else:
                runs = [held.runs(span.first) for span, held in zip(cut, best, strict=True)]
                parts = [Rows(arranged(self.count, runs), 0, block.size)]
        else:
            parts = [part for span in cut for part in self._all(view, span)]
        found = written(parts, view.order)
        if few or not (block.top > 0).any():
            return found
        rows = found.rows()
        limits, rank = block.top[rows.event], np.arange(len(found)) - found.begin[rows.event]
        return rows.take((limits == 0) | (rank < limits)).matches(block.size)

    def _mark(self, view: View, span: Span, filtered: bool = True) -> Marked:
        """Begin a chunk: set its rows, its filters and, where events have weights or several values, their weights.

        Filters refuse records while all are to be tested. Where bounds leave few, to set them would take longer than
        what they spare: unless a chunk is ``filtered`` they refuse nothing, and masks are asked instead.
        """
        memory = self._memory.memory(span.words)
        chunk = self._memory.begin(view.ranked, span)
        direct = masks.scatter(
            span.first,
            span.stop,
            view.order.event,
            view.marks,
            chunk.masks,
            chunk.stamp,
            chunk.epoch,
            self._memory.touched,
        )
        touched = masks.wake_ins(self._memory.touched, direct, chunk, self._rows)
        if self._translator.ladders:
            touched = masks.wake_ranges(self._memory.touched, touched, chunk, self._rows)
        # read in this order their postings lie one behind the other, as far as all are read
        self._memory.touched[:touched].sort()
        memory.filters[: span.stop - span.first] = 0 if filtered else _EVERYONE[0]
        if filtered:
            spread(memory.filters, chunk.masks, self._memory.touched, touched)
        else:
            memory = memory._replace(exact=False)
        if not view.entries.plain[span.first : span.stop].all():
            entries.weigh(span.first, span.stop - span.first, view.entries, self.postings.row_attribute, memory.weight)
        return Marked(chunk, touched, memory)

    def _pick(self, marked: Marked, span: Span, tier: int, listed: int = 0) -> int:
        """List the groups of a tier that any event reaches, behind those that are listed; return how many are then."""
        chunk, memory = marked.chunk, marked.memory
        groups = walk.pick_tier(
            (0,) * span.words,
            self._memory.touched,
            marked.touched,
            self._memory.visited,
            tier,
            _EVERYONE[: span.words],
            chunk.masks,
            chunk.epoch,
            self.postings,
            memory.live_group,
            memory.live_row,
            listed,
        )
        return int(groups)

    def _scene(self, view: View, span: Span, marked: Marked) -> Scene:
        arrays = self._rows, self.postings, self._scores
        return Scene(span.first, marked.chunk, *arrays, view.entries, marked.memory)

    def _all(self, view: View, span: Span) -> list[Part]:
        """Return all matches of a span."""
        marked, found = self._mark(view, span), self._memory.found(span.words)
        plain = view.entries.plain[span.first : span.stop]
        collected = Collected(span.first, plain, span.words, self._owners, self._dead_marks.some, self._expected)
        scene = self._scene(view, span, marked)
        groups = 0
        for tier in range(len(self.postings.tier_bound)):
            groups = self._pick(marked, span, tier, groups)
        # one call for all tiers: to hand over so many arrays takes as long as hundreds of records
        cursor = np.array([0, -1, 0])
        while cursor[0] < groups:
            into = collected.room(found)
            n = walk.walk((0,) * span.words, scene, groups, cursor, into)
            if n:
                counted = collected.tally(n, into)
                self._use_room(counted.all, marked)
                collected.add(n, counted, into, found, scene)
        self._memory.end(marked.chunk, marked.touched)
        # the next chunk likely has about as many; to copy them into longer arrays takes a twentieth of all its time
        self._expected = collected.hits + collected.hits // 8
        return collected.parts()

    def _best(self, view: View, span: Span, wanted: Int32s, floor: Int64s) -> Best:
        """Return the best matches of a span, as many as each event wants, of those that score as much as its floor."""
        marked = self._mark(view, span, filtered=bool((floor[span.first : span.stop] == NO_FLOOR).any()))
        best = Best.of(wanted[span.first : span.stop], self.count)
        top.find(
            (0,) * span.words,
            self._scene(view, span, marked),
            floor[span.first : span.stop],
            self._memory.touched,
            marked.touched,
            self._memory.visited,
            np.zeros(span.words, np.uint64),
            best,
        )
        self._use_room(int(best.size.sum()), marked)
        self._memory.end(marked.chunk, marked.touched)
        return best

    def _use_room(self, matches: int, marked: Marked) -> None:
        """Count a chunk's matches; when the call has more than it may, end the chunk and raise `TooManyMatches`."""
        if self._room is not None:
            self._room -= matches
            if self._room < 0:
                self._memory.end(marked.chunk, marked.touched)
                raise TooManyMatches
