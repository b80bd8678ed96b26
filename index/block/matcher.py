"""Matches a block against one segment: chunk by chunk, mark the rows, walk the postings, score and rank the hits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from index.block import kernels, masks, ranking, scoring
from index.block.layout import PostingArrays, RowArrays, ScoreArrays, Sizes, group, read_only
from index.block.masks import Chunk
from index.block.ranking import Heaps, distinct, ordered
from index.block.translate import Translator, View
from index.block.workspace import Workspace
from index.engine import Matches, Parts
from index.event_block import EventBlock

Words = Literal[1, 2, 4, 8]
"""W: how many 64-bit words a mask has."""

_WORDS: tuple[Words, ...] = (1, 2, 4, 8)


class Span(NamedTuple):
    """The block's ``chunk``-th chunk: events ``first`` to ``stop``, matched together with masks of ``words`` words."""

    chunk: int
    first: int
    stop: int
    words: Words


def spans(events: int, words: Words | None = None) -> list[Span]:
    """Cut a block into spans as long as ``words`` allows (None: as the number of events suggests)."""
    step = 64 * (words or _fitting(events))
    cuts = [(first, min(first + step, events)) for first in range(0, events, step)]
    return [Span(i, first, stop, words or _fitting(stop - first)) for i, (first, stop) in enumerate(cuts)]


def _fitting(events: int) -> Words:
    return next((words for words in _WORDS if 64 * words >= events), _WORDS[-1])


class BlockMatcher:
    """A segment's arrays and the memory to match with.

    Parameters
    ----------
    parts
        What `index.block.builder.build_parts` made.
    words
        W for all blocks; None chooses by the number of events.
    """

    def __init__(self, parts: Parts, words: Words | None = None) -> None:
        parts = {name: read_only(parts, name) for name in parts}
        self._sizes = Sizes(*parts["sizes"].tolist())
        self._rows = group(RowArrays, parts)
        self._postings = group(PostingArrays, parts)
        self._scores = group(ScoreArrays, parts)
        self._translator = Translator(parts)
        self._memory = Workspace(self._sizes, self._rows, self._postings)
        self._words = words
        self._dead: npt.NDArray[np.uint32] | None = None

    @property
    def count(self) -> int:
        """The number of subscriptions, dead ones included."""
        return self._sizes.subscriptions

    def match(self, block: EventBlock, dead: npt.NDArray[np.uint32] | None = None) -> Matches:
        """Match every event of the block; see `index.engine.Matcher.match`."""
        self._bury(dead)
        cut = spans(block.size, self._words)
        view = self._translator.view(block, cut[0].stop if cut else 1)
        return Matches.joined([self._match(view, span, block) for span in cut])

    def candidates(self, block: EventBlock) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the (event, ordinal) pairs that the access sets let through, before any program runs.

        They are a superset of the matches; a pair appears once for each of its clauses.
        """
        self._bury(None)
        unverified = self._postings._replace(program_start=np.zeros_like(self._postings.program_start))
        unverified.program_start.flags.writeable = False
        cut = spans(block.size, self._words)
        view = self._translator.view(block, cut[0].stop if cut else 1)
        hits = self._memory.hits
        found = [
            (hits.event[:n].copy(), self._postings.clause_owner[hits.clause[:n]])
            for span in cut
            for _, n in self._hits(view, span, block, unverified)
        ]
        none = np.zeros(0, np.int32)
        return np.concatenate([none, *(e for e, _ in found)]), np.concatenate([none, *(o for _, o in found)])

    def _match(self, view: View, span: Span, block: EventBlock) -> Matches:
        """Match one span; hits of events that want few go to heaps, the others are gathered."""
        memory, owners, several = self._memory, self._postings.clause_owner, self._scores.owner_several
        hits, kept = memory.hits, memory.kept
        heaps = Heaps.of(block.top[span.first : span.stop], self.count)
        gathered = []
        for chunk, n in self._hits(view, span, block, self._postings):
            scoring.score(
                span.first,
                chunk,
                self._rows,
                owners,
                self._scores,
                view.entries,
                memory.frames,
                hits.event,
                hits.clause,
                n,
                hits.points,
            )
            written = ranking.keep(span.first, hits.event, hits.clause, hits.points, n, owners, several, heaps, *kept)
            gathered.append(kept.take(np.arange(written)))
        found = distinct(Matches.joined(gathered), several)
        return ordered(Matches.joined([found, heaps.held(span.first)]), block.top)

    def _hits(self, view: View, span: Span, block: EventBlock, postings: PostingArrays) -> Iterator[tuple[Chunk, int]]:
        """Yield, buffer by buffer, how many hits stand in ``self._memory.hits``."""
        memory, hits = self._memory, self._memory.hits
        chunk = memory.begin(view.ranked, span, self._translator.ladders)
        direct = masks.scatter(
            span.first,
            span.stop,
            block.offsets,
            block.term,
            view.term_row,
            view.exists_row,
            chunk.masks,
            chunk.stamp,
            chunk.epoch,
            memory.touched,
        )
        awake = masks.wake_ins(memory.touched, direct, chunk, self._rows)
        awake = masks.wake_ranges(memory.touched, awake, chunk, self._rows)
        items = kernels.plan(memory.touched, awake, postings, memory.visited, chunk.epoch, memory.work)
        cursor = np.array([0, memory.work.start[0] if items else 0])
        while cursor[0] < items:
            n = kernels.walk(
                (0,) * span.words,
                span.first,
                chunk,
                self._rows,
                postings,
                memory.work,
                items,
                cursor,
                memory.scratch(span.words),
                memory.is_dead,
                hits.event,
                hits.clause,
            )
            yield chunk, n
        memory.end(chunk, direct)

    def _bury(self, dead: npt.NDArray[np.uint32] | None) -> None:
        """Mark the dead; a reader gives one array for as long as its version lasts, so this is seldom work."""
        if dead is not self._dead:
            self._memory.is_dead[:] = 0
            if dead is not None:
                self._memory.is_dead[dead] = 1
            self._dead = dead
