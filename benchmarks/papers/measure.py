"""Builds an engine's segment and times it over events: milliseconds an event, bytes a subscription, build time.

Times are of the process's CPU, which on an idle machine is the wall's, since engines use one core, and which other work
on the machine lengthens little.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from index.engine import Engine, Matcher
from index.event_block import EventBlock
from schemas.records import Event, Subscription

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
    """

    matcher: Matcher
    seconds: float
    size: int


class Timed(NamedTuple):
    """A pass over events.

    Attributes
    ----------
    ms
        Milliseconds an event, the fastest of up to three passes.
    matches
        Matches an event.
    """

    ms: float
    matches: float


def build(engine: Engine, subscriptions: Sequence[Subscription]) -> Built:
    """Build and open a segment; the collector rests meanwhile, which would walk all subscriptions again and again."""
    gc.disable()
    begin = time.process_time()
    parts = engine.build(subscriptions)
    seconds = time.process_time() - begin
    gc.enable()
    return Built(engine.open(parts), seconds, sum(part.nbytes for part in parts.values()))


def match(matcher: Matcher, events: Sequence[Event], top: int = 0, passes: int = 3) -> Timed:
    """Time a matcher over a block of the events; one event goes before, so that nothing is compiled while it counts."""
    matcher.match(EventBlock.from_events(events[:1], top))
    fastest, found, spent = math.inf, 0, 0.0
    for _ in range(passes):
        block = EventBlock.from_events(events, top)
        begin = time.process_time()
        found = len(matcher.match(block).event)
        passed = time.process_time() - begin
        fastest, spent = min(fastest, passed), spent + passed
        if spent > ENOUGH:
            break
    return Timed(1000 * fastest / len(events), found / len(events))
