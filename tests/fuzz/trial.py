"""One population against one block of events: the block engine in all its ways, held to the reference."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from index.block.engine import BlockEngine
from index.block.matcher import BlockMatcher
from index.block.reached import candidates
from index.block.spans import Words
from index.byte_rows import ByteRows
from index.engine import Parts
from index.event_block import EventBlock
from index.floors import Floors
from index.found import combine
from index.matches import MatchRows
from index.oracle import match_subscription
from schemas.records import Event, Subscription
from tests.fuzz.reference import Reference
from tests.shuffled import ShuffledEngine

WIDTHS: tuple[Words | None, ...] = (*get_args(Words), None)
"""Those of the masks; None is what the number of events suggests."""

SAMPLE = 40
"""Pairs of a trial that the oracle itself is asked for."""

FEW = (1, 1, 2, 3, 7)
"""Events of the blocks that are matched after the large ones."""


@dataclass
class Counts:
    """What a run has done.

    Attributes
    ----------
    pairs
        (subscription, event) pairs, each counted once, however often it was matched.
    matches
        Those of them that match.
    compared
        Answers of the engine, of one population to one block, that were compared with the reference's.
    rows
        Matches in those answers.
    sampled
        Pairs for which the reference was compared with the oracle.
    """

    trials: int = 0
    pairs: int = 0
    matches: int = 0
    compared: int = 0
    rows: int = 0
    sampled: int = 0


def _engine(words: Words | None) -> BlockEngine:
    """Return the engine of a width; one of them matches events in another order than theirs."""
    return ShuffledEngine(words) if words == 2 else BlockEngine(words)


class Difference(NamedTuple):
    """An answer that is not the reference's: what was asked, and a pair on which the two differ."""

    what: str
    event: int
    ordinal: int
    found: int | None
    expected: int | None

    def __str__(self) -> str:
        said = ["no match" if points is None else f"a match of {points} units" for points in self[3:]]
        return f"{self.what}: subscription {self.ordinal}, event {self.event}: found {said[0]}, expected {said[1]}"


class Table(NamedTuple):
    """The reference's answers, [subscriptions, events]."""

    holds: npt.NDArray[np.bool_]
    points: npt.NDArray[np.int64]

    def rows(self, order: Sequence[int], dead: Sequence[int], top: npt.NDArray[np.int32]) -> MatchRows:
        """Return the matches of the events in this order, the dead left out, each event's best ``top`` (0: all)."""
        alive = self.holds[:, order].copy()
        alive[dead] = False
        event, ordinal = np.nonzero(alive.T)
        score = self.points[ordinal, np.asarray(order, np.int64)[event]]
        sort = np.lexsort((ordinal, -score, event))
        event, ordinal, score = event[sort], ordinal[sort], score[sort]
        rank = np.arange(len(event)) - np.searchsorted(event, event)
        kept = (top[event] == 0) | (rank < top[event])
        return MatchRows(event[kept].astype(np.int32), ordinal[kept].astype(np.int32), score[kept])


def compare(
    population: Sequence[Subscription], events: Sequence[Event], seed: int, counts: Counts
) -> Difference | None:
    """Return the first difference between the engine and the reference, or between that and the oracle."""
    reference = Reference(events)
    answers = [reference.answer(subscription) for subscription in population]
    shape = (len(population), len(events))
    table = Table(
        np.array([answer.holds for answer in answers], np.bool_).reshape(shape),
        np.array([answer.points for answer in answers], np.int64).reshape(shape),
    )
    trial = _Trial(population, events, table, random.Random(seed), counts)
    counts.trials += 1
    counts.pairs += len(population) * len(events)
    counts.matches += int(table.holds.sum())
    return next(trial.differences(), None)


@dataclass
class _Trial:
    population: Sequence[Subscription]
    events: Sequence[Event]
    table: Table
    chance: random.Random
    counts: Counts

    def differences(self) -> Iterator[Difference]:
        """Yield what differs, one way of asking after the other."""
        yield from self._sample()
        parts = BlockEngine().build(self.population)
        for words in WIDTHS:
            yield from self._whole(parts, words)
        yield from self._few(parts)
        yield from self._candidates(parts, self.chance.choice(WIDTHS))
        yield from self._segments(self.chance.choice(WIDTHS))

    def _sample(self) -> Iterator[Difference]:
        """The reference against the oracle."""
        for _ in range(SAMPLE if self.population else 0):
            ordinal, e = self.chance.randrange(len(self.population)), self.chance.randrange(len(self.events))
            said = int(self.table.points[ordinal, e]) if self.table.holds[ordinal, e] else None
            expected = match_subscription(self.population[ordinal], self.events[e])
            self.counts.sampled += 1
            if said != expected:
                yield Difference("the reference, not the engine", e, ordinal, said, expected)

    def _whole(self, parts: Parts, words: Words | None) -> Iterator[Difference]:
        """One segment: all matches, then each event's best; one matcher, each time other dead and another order."""
        matcher = _engine(words).open(parts)
        for limited in (False, True, False):
            order, block = self._block(limited)
            dead = self._dead(len(self.population))
            found = matcher.match(block, np.array(dead, np.uint32) if dead else None).rows()
            what = f"W = {words}, {'the best' if limited else 'all'}, dead {dead}"
            yield from self._compared(what, order, found, self.table.rows(order, dead, block.top))

    def _few(self, parts: Parts) -> Iterator[Difference]:
        """Blocks of one event and of a few, which are tested one by one where a block of many is by masks."""
        matcher = _engine(self.chance.choice(WIDTHS)).open(parts)
        for size in FEW:
            order, block = self._block(self.chance.random() < 0.5, size)
            found = matcher.match(block).rows()
            yield from self._compared(f"{len(order)} events alone", order, found, self.table.rows(order, [], block.top))

    def _candidates(self, parts: Parts, words: Words | None) -> Iterator[Difference]:
        """Whatever matches must be among the candidates."""
        matcher: BlockMatcher = _engine(words).open(parts)
        event, ordinal = candidates(matcher, EventBlock.from_events(self.events))
        missing = self.table.holds.copy()
        missing[ordinal, event] = False
        self.counts.compared += 1
        for o, e in np.argwhere(missing)[:1].tolist():
            yield Difference(f"candidates, W = {words}", e, o, None, int(self.table.points[o, e]))

    def _segments(self, words: Words | None) -> Iterator[Difference]:
        """Several segments, each with dead of its own and the floor of those before it, and their answers merged."""
        count = self.chance.choice((2, 3, 5))
        place = [self.chance.randrange(count) for _ in self.population]
        order, block = self._block(limited=self.chance.random() < 0.5)
        members = [[o for o, at in enumerate(place) if at == segment] for segment in range(count)]
        buried = [self._dead(len(own)) for own in members]
        engine = BlockEngine(words)
        matches, ids, floors = [], [], Floors(block.top)
        for own, dead in zip(members, buried, strict=True):
            matcher = engine.open(engine.build([self.population[o] for o in own]))
            matches.append(matcher.match(block, np.array(dead, np.uint32) if dead else None, None, floors.points))
            floors.learn(matches[-1])
            ids.append(ByteRows.of([self.population[o].id.encode() for o in own]))
        merged = combine(block.top, matches, ids)
        ordinals = [members[s][o] for s, o in zip(merged.segment.tolist(), merged.subscription.tolist(), strict=True)]
        found = MatchRows(merged.event, np.array(ordinals, np.int32), merged.score)
        gone = [own[o] for own, dead in zip(members, buried, strict=True) for o in dead]
        what = f"{count} segments, W = {words}, top {'given' if block.top.any() else 'none'}"
        yield from self._compared(what, order, found, self.table.rows(order, gone, block.top))

    def _block(self, limited: bool, size: int | None = None) -> tuple[list[int], EventBlock]:
        """Return events in a random order, at most ``size`` of them, as a block; ``limited`` leaves them their ``top``.

        Else all of them want all their matches.
        """
        order = list(range(len(self.events)))
        self.chance.shuffle(order)
        order = order[:size]  # all of them where no size is given
        block = EventBlock.from_events([self.events[e] for e in order])
        if not limited:
            block.top[:] = 0
        return order, block

    def _dead(self, count: int) -> list[int]:
        share = self.chance.choice((0.0, 0.0, 0.1, 0.6))
        return [ordinal for ordinal in range(count) if self.chance.random() < share]

    def _compared(self, what: str, order: Sequence[int], found: MatchRows, expected: MatchRows) -> Iterator[Difference]:
        self.counts.compared += 1
        self.counts.rows += len(found.event)
        if all(np.array_equal(found[column], expected[column]) for column in range(3)):
            return
        sides = [
            {(e, o): points for e, o, points in zip(*(column.tolist() for column in side), strict=True)}
            for side in (found, expected)
        ]
        pairs = [pair for pair in sides[0].keys() | sides[1].keys() if sides[0].get(pair) != sides[1].get(pair)]
        if not pairs:
            yield Difference(f"{what}: the same matches in another order, or one of them twice", 0, 0, None, None)
            return
        e, ordinal = min(pairs)
        yield Difference(what, order[e], ordinal, sides[0].get((e, ordinal)), sides[1].get((e, ordinal)))
