"""The frame of the matchers that take one event at a time: a block is translated, a kernel offers answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from index.arrays import Int64s
from index.classic.answers import Answers
from index.classic.counters import Counters
from index.classic.keys import EventKeys, KeyReader
from index.dead_marks import DeadMarks
from index.engine import Parts
from index.event_block import EventBlock
from index.matches import Matches

Run = Callable[[int], int]
"""Matches the events from a first one on until the answers have no room; returns the first that is left."""


class EventMatcher(ABC):
    """A segment's arrays and the memory to match with.

    Parameters
    ----------
    parts
        The segment's parts; ``owner_points`` has an element a subscription.

    Attributes
    ----------
    keys
        Translates blocks.
    answers
        What kernels offer subscriptions to.
    counts
        int64, the fields of `index.classic.counters.Counters`.
    """

    def __init__(self, parts: Parts) -> None:
        self.keys = KeyReader(parts)
        self.answers = Answers.of(len(parts["owner_points"]))
        self._dead_marks = DeadMarks(self.answers.is_dead)
        self.counts: Int64s = np.zeros(len(Counters._fields), np.int64)

    @property
    def count(self) -> int:
        """The number of subscriptions, dead ones included."""
        return len(self.answers.place)

    @property
    def counters(self) -> Counters:
        """What has been done since the segment was opened."""
        return Counters(*self.counts.tolist())

    def match(self, block: EventBlock, dead: npt.NDArray[np.uint32] | None = None) -> Matches:
        """Match every event of the block; see `index.engine.Matcher.match`."""
        self._dead_marks.bury(dead)
        return self.answers.gathered(block.size, self.prepared(block, self.keys.view(block)))

    @abstractmethod
    def prepared(self, block: EventBlock, view: EventKeys) -> Run:
        """Return the kernel over the block's events, with all that it needs."""
