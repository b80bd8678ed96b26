"""Measures the block engine on one workload at one size: build, bytes, every top, every W, one event alone, phases."""

from __future__ import annotations

import cProfile
import pstats
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from benchmarks.timing import Stopwatch, fastest
from index.block.engine import BlockEngine
from index.block.matcher import BlockMatcher
from index.block.reached import Touched, touched
from index.block.spans import Words
from index.engine import Parts
from index.event_block import EventBlock
from index.uncollected import no_garbage_collection
from schemas.records import Event, Subscription

TOPS = (0, 10, 100)
"""How many matches events want; 0 means all."""

CHUNK = 512
"""The fewest events of a block."""

BLOCK = 4096
"""Events a block, as a job has that lags a little."""

MOST_MATCHES = 200_000_000
"""No longer block of events that want all their matches has more of them, which are 0.8 GB where scores are in runs."""

ALONE = 64
"""Events of the measurement of one event alone."""


class Cost(msgspec.Struct, frozen=True):
    """Milliseconds an event: on the processor, and by the clock of a machine that others share."""

    cpu: float
    wall: float


class Timing(msgspec.Struct, frozen=True):
    """One row: masks of ``words`` words (None: as the engine chooses), ``top`` matches an event (0: all)."""

    words: int | None
    top: int
    cost: Cost


class BlockResult(msgspec.Struct, frozen=True):
    """What was measured.

    Attributes
    ----------
    build
        Seconds on the processor.
    parts
        Bytes a subscription of each of the segment's arrays; ids are none of them.
    matches
        Matches an event.
    timings, alone
        A stream of events; one event at a time, all matches.
    prepared
        All matches of blocks that another matcher has matched before, so that what a block keeps is there already.
    phases
        Milliseconds an event of the same, by the file of `index` that spent them; profiled, so their sum is a little
        more.
    touched
        Of the segment's postings, for a block.
    writing
        Filling new arrays as large as the answers of all matches, which no engine can do without.
    block
        How many events a block has where all matches are wanted; where the best are, it has `BLOCK`.
    """

    build: float
    parts: dict[str, float]
    matches: float
    timings: list[Timing]
    alone: Cost
    prepared: Cost
    phases: dict[str, float]
    writing: Cost | None = None
    touched: Touched | None = None
    block: int = CHUNK

    def cost(self, top: int, words: int | None = None) -> Cost:
        """Return what an event takes."""
        return next(t.cost for t in self.timings if t.words == words and t.top == top)

    def ms(self, top: int, words: int | None = None) -> float:
        """Return the processor's milliseconds an event."""
        return self.cost(top, words).cpu

    @property
    def bytes(self) -> float:
        """Bytes a subscription."""
        return sum(self.parts.values())


class Built(NamedTuple):
    """A segment's parts of so many subscriptions, and the seconds on the processor that building them took."""

    parts: Parts
    subscriptions: int
    seconds: float


def build_block(subscriptions: Sequence[Subscription]) -> Built:
    """Build one segment; apart from the measuring, so that the caller can let go of the subscriptions before it."""
    watch = Stopwatch()
    with no_garbage_collection():
        parts = BlockEngine().build(subscriptions)
    return Built(parts, len(subscriptions), watch.read().cpu)


def measure_block(built: Built, events: Sequence[Event], repetitions: int, seconds: float) -> BlockResult:
    """Measure a segment that has been built."""
    parts = built.parts
    timings, size = [], _block_size(BlockEngine().open(parts), events)
    for words in (None, *get_args(Words)):
        matcher = BlockEngine(words).open(parts)
        for top in TOPS:
            matcher.match(EventBlock.from_events(events[:CHUNK], top))
            span = fastest(matcher.match, _blocks(events, top, BLOCK if top else size), repetitions, seconds)
            timings.append(Timing(words, top, Cost(*span.over(len(events)))))
    matcher = BlockEngine().open(parts)
    few = events[:ALONE]
    matcher.match(EventBlock.from_events(few[:1]))
    alone = fastest(matcher.match, _blocks(few, 0, 1), repetitions, seconds)
    prepared = [make() for make in _blocks(events, 0, size)]
    found = [len(matcher.match(block)) for block in prepared]
    writing = fastest(_written, [lambda count=count: count for count in found], repetitions, seconds)  # type: ignore[misc]
    again = fastest(matcher.match, [lambda block=block: block for block in prepared], repetitions, seconds)  # type: ignore[misc]
    return BlockResult(
        built.seconds,
        {name: array.nbytes / built.subscriptions for name, array in parts.items()},
        sum(found) / len(events),
        timings,
        Cost(*alone.over(len(few))),
        Cost(*again.over(len(events))),
        _phases(matcher.match, prepared, len(events)),
        Cost(*writing.over(len(events))),
        touched(matcher, prepared[0]),
        min(size, len(events)),
    )


def _block_size(matcher: BlockMatcher, events: Sequence[Event]) -> int:
    """Return how many events to match at a time where all matches are wanted, from the first chunk."""
    found = len(matcher.match(EventBlock.from_events(events[:CHUNK])))
    size = BLOCK
    while size > CHUNK and found * size > MOST_MATCHES * CHUNK:
        size //= 2
    return size


def _written(count: int) -> npt.NDArray[np.int32]:
    """Return so many matches of nothing, all of one score."""
    return np.full(count, 1, np.int32)


def _blocks(events: Sequence[Event], top: int, size: int) -> list[Callable[[], EventBlock]]:
    """Return makers of blocks; a new block each time, since a block keeps what segments share of its translation."""
    return [
        lambda some=events[first : first + size]: EventBlock.from_events(some, top)  # type: ignore[misc]
        for first in range(0, len(events), size)
    ]


def _phases(match: Callable[[EventBlock], object], blocks: Sequence[EventBlock], events: int) -> dict[str, float]:
    """Profile one pass; a compiled function counts where it is defined, what it calls in compiled code included."""
    profile = cProfile.Profile(time.thread_time)
    for block in blocks:
        profile.enable()
        match(block)
        profile.disable()
    spent: defaultdict[str, float] = defaultdict(float)
    for (file, _, _), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if Path(file).parent.parent.name == "index" or Path(file).parent.name == "index":
            spent[Path(file).stem] += own
        else:
            for (caller, _, _), (_, _, caller_own, _) in callers.items():
                own -= caller_own
                spent[Path(caller).stem if "index" in Path(caller).parts else "numpy, others"] += caller_own
            spent["numpy, others"] += max(0.0, own)
    return {name: 1e3 * seconds / events for name, seconds in sorted(spent.items(), key=lambda pair: -pair[1])}
