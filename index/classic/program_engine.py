"""The frame of the engines that evaluate operator trees: what they take, and how a segment begins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from index.arrays import Arrays, group, read_only
from index.classic.event_matcher import EventMatcher
from index.classic.keys import KeyTable, number_keys
from index.classic.programs import Frames, ProgramBuilder, Programs
from index.classic.ranges import Method
from index.engine import Matcher, Parts
from schemas.records import Subscription
from schemas.values import score_term


class ProgramEngine(ABC):
    """An engine over operator trees.

    Parameters
    ----------
    ranges
        How range predicates become keys: `index.classic.ranges`.
    """

    name: ClassVar[str]

    def __init__(self, ranges: Method = "hierarchy") -> None:
        self._ranges: Method = ranges

    def check(self, subscription: Subscription) -> None:
        """See `index.engine.SelectiveEngine.check`."""
        ProgramBuilder(self.name).add(subscription)

    def build(self, subscriptions: Sequence[Subscription]) -> Parts:
        """Build a segment's arrays; see `index.engine.Engine.build`."""
        builder = ProgramBuilder(self.name)
        programs = [builder.add(subscription) for subscription in subscriptions]
        table = number_keys(builder.reader.vocabulary, self._ranges)
        points = np.array([score_term(1.0, s.priority) for s in subscriptions], np.int64)
        arrays = builder.arrays(table)
        return table.arrays | arrays | self.postings(programs, table, arrays) | {"owner_points": points}

    def postings(self, programs: Sequence[Sequence[int]], table: KeyTable, arrays: Arrays) -> Arrays:
        """Return parts that tell which programs are to be evaluated; without any, all are."""
        return {}

    @abstractmethod
    def open(self, parts: Parts) -> Matcher:
        """Wrap a segment's arrays; nothing is copied."""


class ProgramMatcher(EventMatcher):
    """A segment of operator trees and the memory to evaluate them.

    Attributes
    ----------
    programs, points, frames
        The trees, the subscriptions' priorities, and the memory.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.programs = group(Programs, parts)
        self.points = read_only(parts, "owner_points")
        self.frames = Frames.of(int(parts["program_depth"][0]), self.keys.count)
