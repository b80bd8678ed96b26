"""Splits the time of the Dewey and Interval engines into the phases that their paper tells apart."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.papers.measure import build
from index.classic.dewey import Dewey
from index.classic.interval import Interval
from index.classic.tree_index import IndexedTreeMatcher
from index.event_block import EventBlock
from schemas.records import Event, Subscription

PASSES = 5

ENGINES: dict[str, Callable[[], Dewey | Interval]] = {
    "dewey": lambda: Dewey(as_written=True),
    "interval": lambda: Interval(as_written=True),
}


class Phases(NamedTuple):
    """Milliseconds an event, and what was found.

    Attributes
    ----------
    lookup
        The K-index: which conjunctions are true.
    sorting
        Where they stand, sorted by tree and label.
    evaluation
        Which trees they make true.
    total
        All of it, with the translation of events and the order of the answer.
    matches
        Matches an event.
    size
        Bytes of the segment's arrays.
    places
        Places of true conjunctions, an event.
    """

    lookup: float
    sorting: float
    evaluation: float
    total: float
    matches: float
    size: int
    places: float


def phases(name: str, subscriptions: Sequence[Subscription], events: Sequence[Event]) -> Phases:
    """Time an engine's phases over the events, the fastest of several passes for each."""
    built = build(ENGINES[name](), subscriptions)
    matcher = built.matcher
    assert isinstance(matcher, IndexedTreeMatcher)
    matcher.match(EventBlock.from_events(events[:1]))
    return Phases(*map(min, zip(*(_pass(matcher, events, built.size) for _ in range(PASSES)), strict=True)))


def _pass(matcher: IndexedTreeMatcher, events: Sequence[Event], size: int) -> Phases:
    spent = dict.fromkeys(("true_conjunctions", "true_annotations", "true_trees"), 0.0)
    for step in spent:
        setattr(matcher, step, _timed(getattr(matcher, step), step, spent))
    block, before = EventBlock.from_events(events), matcher.counters.candidates
    begin = time.thread_time()
    found = matcher.match(block)
    total = time.thread_time() - begin
    for step in spent:
        delattr(matcher, step)
    ms = [1000 * seconds / len(events) for seconds in (*spent.values(), total)]
    places = (matcher.counters.candidates - before) / len(events)
    return Phases(ms[0], ms[1], ms[2], ms[3], len(found) / len(events), size, places)


def _timed(step: Callable[..., Any], name: str, spent: dict[str, float]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        begin = time.thread_time()
        result = step(*args)
        spent[name] += time.thread_time() - begin
        return result

    return run
