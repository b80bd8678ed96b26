"""The block engine behind the contract of `index.engine`, and its warm-up; `README.md` tells how it works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from index.block.builder import build_parts
from index.block.matcher import BlockMatcher, Words
from index.engine import Parts
from index.event_block import EventBlock
from index.observed.statistics import EventStatistics
from schemas.expression import And, Contains, Exists, Expression, In, Not, Or, Range, Within
from schemas.records import Event, Subscription


class BlockEngine:
    """The default engine.

    Parameters
    ----------
    words
        W for all blocks; None chooses by the number of events.
    """

    name = "block"
    uses_statistics: Literal[True] = True

    def __init__(self, words: Words | None = None) -> None:
        self._words = words

    def build(self, subscriptions: Sequence[Subscription], statistics: EventStatistics | None = None) -> Parts:
        """Build a segment's arrays; see `index.engine.EstimatingEngine.build`."""
        return build_parts(subscriptions, statistics)

    def open(self, parts: Parts) -> BlockMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return BlockMatcher(parts, self._words)


def warm_up() -> None:
    """Compile every kernel for the Ws that are chosen, or load it from the disk, before worker processes fork."""
    filter_ = And((Or((In("a", (1, 2), (0.5, 1.0)), And((Exists("b"), Range("a", gt=0))))), Not(Range("b", le="x"))))
    engine = BlockEngine()
    tests = And((Contains("b", "y"), Not(Within("b", ("x",)))))
    filters: tuple[Expression, ...] = (filter_, Or((In("b", ("x",)), filter_)), tests)
    matcher = engine.open(engine.build([Subscription(f"{i}", expression) for i, expression in enumerate(filters)]))
    for events in (64, 512):
        block = EventBlock.from_events([Event({"a": (1,), "b": ("x", "y")}, top=i % 2) for i in range(events)])
        matcher.match(block, np.zeros(1, np.uint32))
