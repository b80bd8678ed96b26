"""The engine ``scan``: every subscription is evaluated for every event.

Method: SCAN of Whang et al., "Indexing Boolean Expressions" (PVLDB 2009), section 7: operator trees, parsed beforehand,
are evaluated one by one by the semantics of the operators. An AND ends at its first false argument, an OR at its first
true one. With a top, the best are kept.

Complexity: O(literals of all subscriptions) an event. Memory: 4 bytes a word of the trees, 12 a key of a distinct leaf.

Expresses: every tree of lists of values, presence and ranges, of any size and depth. Cannot express: value tests, the
modes relaxed and threshold.
"""

from __future__ import annotations

from index.classic import answers as held
from index.classic.counters import CANDIDATES
from index.classic.event_matcher import Run
from index.classic.keys import EventKeys
from index.classic.program_engine import ProgramEngine, ProgramMatcher
from index.classic.programs import holds, mark, score
from index.engine import Parts
from index.event_block import EventBlock
from index.kernel import kernel


class Scan(ProgramEngine):
    """See the module."""

    name = "scan"

    def open(self, parts: Parts) -> ScanMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return ScanMatcher(parts)


class ScanMatcher(ProgramMatcher):
    """Evaluates all programs."""

    def prepared(self, block: EventBlock, view: EventKeys) -> Run:
        """See `index.classic.event_matcher.EventMatcher.prepared`."""
        self.frames.stamp[:] = 0
        return lambda first: _match(
            first, block.top, view, self.programs, self.points, self.frames, self.answers, self.counts
        )


@kernel
def _match(event, top, view, programs, points, frames, answers, counts):  # type: ignore[no-untyped-def]
    """Match events until the answers have no room for one more; return the first that is left."""
    while event < len(top) and held.room(answers):
        held.begin(answers, top[event])
        mark(event, view, event + 1, frames)
        counts[CANDIDATES] += len(points)
        for subscription in range(len(points)):
            if not answers.is_dead[subscription] and holds(subscription, event + 1, programs, frames):
                total = points[subscription] + score(subscription, event + 1, programs, frames)
                held.offer(answers, subscription, total)
        held.finish(answers, event)
        event += 1
    return event
