"""Builds an engine's segment and times it over events: milliseconds an event, bytes a subscription, build time.

Times are of the thread's CPU, which on an idle machine is the wall's, since engines use one thread, and which other
work on the machine lengthens little.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from index.classic.event_matcher import EventMatcher
from index.classic.tree_matcher import TreeMatcher
from index.engine import Engine, Matcher
from index.event_block import EventBlock
from index.uncollected import no_garbage_collection
from schemas.records import Event, Subscription

AT_LEAST = 1.5
"""Seconds of CPU that passes go on for, whatever their number: the fastest of many is what others disturbed least."""
ENOUGH = 20.0
"""Seconds after which a measurement is not repeated."""


class Built(NamedTuple):
    """A segment in memory.

    Attributes
    ----------
    matcher
        Ready to match.
    seconds
        How long ``build`` took.
    size
        Bytes of the segment's arrays.
    indexed
        Distinct conjunctions or expressions in posting lists; 0 for an engine without.
    """

    matcher: Matcher
    seconds: float
    size: int
    indexed: int


class Timed(NamedTuple):
    """A pass over events.

    Attributes
    ----------
    ms
        Milliseconds an event, the fastest of at least three passes.
    matches
        Matches an event.
    """

    ms: float
    matches: float


def build(engine: Engine, subscriptions: Sequence[Subscription]) -> Built:
    """Build and open a segment."""
    with no_garbage_collection():
        begin = time.thread_time()
        parts = engine.build(subscriptions)
        seconds = time.thread_time() - begin
    size = sum(part.nbytes for part in parts.values())
    indexed = len(parts["owner_start"]) - 1 if "owner_start" in parts else 0
    return Built(engine.open(parts), seconds, size, indexed)


def match(matcher: Matcher, events: Sequence[Event], top: int = 0, passes: int = 3) -> Timed:
    """Time a matcher over a block of the events, in at least so many passes.

    One event goes before, so that nothing is compiled while it counts.
    """
    matcher.match(EventBlock.from_events(events[:1], top))
    fastest, found, spent = math.inf, 0, 0.0
    done = 0
    while done < passes or spent < AT_LEAST:
        block = EventBlock.from_events(events, top)
        begin = time.thread_time()
        found = len(matcher.match(block))
        passed = time.thread_time() - begin
        fastest, spent, done = min(fastest, passed), spent + passed, done + 1
        if spent > ENOUGH:
            break
    return Timed(1000 * fastest / len(events), found / len(events))


def work(matcher: Matcher, events: Sequence[Event], top: int = 0) -> dict[str, float]:
    """Return what a matcher counts of its work, an event; nothing for one that does not count."""
    if not isinstance(matcher, EventMatcher | TreeMatcher):
        return {}
    before = matcher.counters
    matcher.match(EventBlock.from_events(events, top))
    counted = zip(before, matcher.counters, strict=True)
    return dict(zip(before._fields, ((after - first) / len(events) for first, after in counted), strict=True))
