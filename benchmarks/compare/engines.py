"""The engines of this project as contenders; what they rank is compared row by row, scores and order included."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.compare.contender import Outcome, Pairs, Unable
from benchmarks.timing import fastest
from index.engine import Engine, Matcher, Parts
from index.event_block import EventBlock
from index.matches import Matches
from schemas.errors import Refused, TocsinError
from schemas.records import Event, Subscription

TOP = 10
REPETITIONS = 3
SECONDS = 20.0


class WrongAnswer(TocsinError):
    """Two engines differ, so no time of this run means anything."""


class RankingCheck:
    """The matches that an engine must give, by how many are wanted."""

    def __init__(self, expected: Mapping[int, Matches]) -> None:
        self._expected = expected

    def require(self, name: str, top: int, found: Matches) -> None:
        """Raise `WrongAnswer` unless these are the same rows in the same order."""
        wanted = self._expected[top]
        same = np.array_equal(found.event, wanted.event) and np.array_equal(found.subscription, wanted.subscription)
        if not (same and np.array_equal(found.score, wanted.score)):
            raise WrongAnswer(f"{name} and the block engine differ in the matches of top {top}")


class EngineContender:
    """An engine behind the contract.

    Parameters
    ----------
    engine
        The engine.
    parts
        A segment that is built already.
    ranked
        What it must give; None for the engine that sets the mark.
    """

    def __init__(self, engine: Engine, parts: Parts | None = None, ranked: RankingCheck | None = None) -> None:
        self.name = engine.name
        self._engine = engine
        self._ranked = ranked
        self._matcher: Matcher | None = None if parts is None else engine.open(parts)

    def build(self, subscriptions: Sequence[Subscription]) -> None:
        """See `benchmarks.compare.contender.Contender`."""
        try:
            self._matcher = self._engine.open(self._engine.build(subscriptions))
        except Refused as refused:
            raise Unable(f"refuses: {refused.message}") from None

    def match(self, events: Sequence[Event]) -> Outcome:
        """See `benchmarks.compare.contender.Contender`; the answers come first, so nothing is compiled in the time."""
        for top in (TOP, 0):
            found = self.answers(events, top)
            if self._ranked is not None:
                self._ranked.require(self.name, top, found)
        match = self._opened.match
        every, best = (fastest(match, [_maker(events, top)], REPETITIONS, SECONDS) for top in (0, TOP))
        return Outcome(every.over(len(events)), best.over(len(events)), Pairs.of(found.event, found.subscription))

    def answers(self, events: Sequence[Event], top: int) -> Matches:
        """Return the matches, scores and all."""
        return self._opened.match(EventBlock.from_events(events, top))

    @property
    def _opened(self) -> Matcher:
        if self._matcher is None:
            raise TocsinError(f"{self.name} has no subscriptions yet; call build first")
        return self._matcher


def _maker(events: Sequence[Event], top: int) -> Callable[[], EventBlock]:
    return lambda: EventBlock.from_events(events, top)
