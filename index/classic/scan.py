"""The engine ``scan``: every subscription is evaluated for every event.

Method: SCAN of Whang et al., "Indexing Boolean Expressions" (PVLDB 2009), section 7: operator trees, parsed beforehand,
are evaluated one by one by the semantics of the operators. An AND ends at its first false argument, an OR at its first
true one. With a top, the best are kept.

Complexity: O(literals of all subscriptions) an event. Memory: 4 bytes a word of the trees, 12 a key of a distinct leaf.

Expresses: every tree of lists of values, presence and ranges, of any size and depth. Cannot express: value tests, the
modes relaxed and threshold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from index.classic import answers as held
from index.classic.answers import Answers
from index.classic.arrays import group, read_only
from index.classic.keys import KeyReader, number_keys
from index.classic.programs import Frames, ProgramBuilder, Programs, holds, mark, score
from index.classic.ranges import Method
from index.engine import Matches, Parts
from index.event_block import EventBlock
from schemas.records import Subscription
from schemas.values import score_term


class Scan:
    """See the module.

    Parameters
    ----------
    ranges
        How range predicates become keys: `index.classic.ranges`.
    """

    name = "scan"

    def __init__(self, ranges: Method = "hierarchy") -> None:
        self._ranges: Method = ranges

    def check(self, subscription: Subscription) -> None:
        """See `index.engine.SelectiveEngine.check`."""
        ProgramBuilder(self.name).add(subscription)

    def build(self, subscriptions: Sequence[Subscription]) -> Parts:
        """Build a segment's arrays; see `index.engine.Engine.build`."""
        builder = ProgramBuilder(self.name)
        for subscription in subscriptions:
            builder.add(subscription)
        table = number_keys(builder.reader.vocabulary, self._ranges)
        points = np.array([score_term(1.0, s.priority) for s in subscriptions], np.int64)
        return table.arrays | builder.arrays(table) | {"owner_points": points}

    def open(self, parts: Parts) -> ScanMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return ScanMatcher(parts)


class ScanMatcher:
    """A segment's arrays and the memory to match with."""

    def __init__(self, parts: Parts) -> None:
        self._keys = KeyReader(parts)
        self._programs = group(Programs, parts)
        self._points = read_only(parts, "owner_points")
        self._frames = Frames.of(int(parts["program_depth"][0]), self._keys.count)
        self._answers = Answers.of(self.count)

    @property
    def count(self) -> int:
        """The number of subscriptions, dead ones included."""
        return len(self._points)

    def match(self, block: EventBlock, dead: npt.NDArray[np.uint32] | None = None) -> Matches:
        """Match every event of the block; see `index.engine.Matcher.match`."""
        view = self._keys.view(block)
        self._frames.stamp[:] = 0
        self._answers.bury(dead)
        return self._answers.gathered(
            block.size,
            lambda first: _match(first, block.top, view, self._programs, self._points, self._frames, self._answers),
        )


@njit(cache=True, nogil=True)
def _match(event, top, view, programs, points, frames, answers):  # type: ignore[no-untyped-def]
    """Match events until the answers have no room for one more; return the first that is left."""
    while event < len(top) and held.room(answers):
        held.begin(answers, top[event])
        mark(event, view, event + 1, frames)
        for subscription in range(len(points)):
            if not answers.is_dead[subscription] and holds(subscription, event + 1, programs, frames):
                total = points[subscription] + score(subscription, event + 1, programs, frames)
                held.offer(answers, subscription, total)
        held.finish(answers, event)
        event += 1
    return event
