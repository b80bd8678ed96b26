"""The engine ``kindex-dnf``: the conjunction algorithm over posting lists by size, and its ranking with pruning.

Method: Whang et al., "Indexing Boolean Expressions" (PVLDB 2009), section 3, algorithm 1, and section 5, DNF ranking.
The lists of an event's keys are walked size by size, from the largest; within a size only conjunctions that stand in as
many lists as they have literals are looked at, all before them are skipped. With a top, a conjunction is skipped when
the bounds of the lists that may hold it sum to less than the lowest score held, and a whole size when the bounds of its
best lists do.

Complexity: O(|S| · |C| · P) an event, |S| keys of the event, |C| conjunctions, P literals in each; in practice the
entries of few lists. The paper has log |S| with a heap; here a list that has moved steps to its place among the others,
which it mostly finds after a few. Memory: 6 bytes an entry, 14 with weights.

Expresses: every tree of lists of values, presence and ranges within the limits of `index.classic.conjunctions`. A
strong exclusion is the key of presence and a weak exclusion, which is what the paper's default value NULL comes to, but
adds nothing to events. Cannot express: value tests, the modes relaxed and threshold, trees that grow too large
multiplied out.

Beyond the paper: several values of an attribute and several literals over one key (`index.classic.postings`), weights
that may be negative, priorities. The paper's bound of a size is the sum of its K best lists; here it is that of the
lists of its K best attributes, which is the same for events with one value each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from index.arrays import Arrays, Int32s, Int64s, group, read_only
from index.block.vocabulary import Vocabulary
from index.classic import answers as held
from index.classic.answers import NO_THRESHOLD
from index.classic.clauses import Clause
from index.classic.counters import CANDIDATES, SKIPPED_BY_LIST, SKIPPED_SIZES
from index.classic.cursors import Cursors, distinct, gather, open_lists, skip
from index.classic.dnf_engine import DnfEngine
from index.classic.event_matcher import EventMatcher, Run
from index.classic.keys import EventKeys, KeyTable
from index.classic.owners import Owners, offer_owners
from index.classic.postings import Postings, build_postings
from index.classic.pruning import best_sum, bound_lists, falls_short, missing
from index.classic.ranges import Method
from index.engine import Parts
from index.event_block import EventBlock
from index.kernel import inlined, kernel
from schemas.values import SCORE_SCALE


class KIndexDnf(DnfEngine):
    """See the module.

    Parameters
    ----------
    prune
        Whether bounds are used; the answers are the same.
    ranges
        How range predicates become keys: `index.classic.ranges`.
    """

    name = "kindex-dnf"

    def __init__(self, prune: bool = True, ranges: Method = "hierarchy") -> None:
        super().__init__(ranges)
        self._prune = prune

    def arrays(self, vocabulary: Vocabulary, table: KeyTable, conjunctions: Sequence[Clause]) -> tuple[Arrays, Int32s]:
        """See `index.classic.dnf_engine.DnfEngine.arrays`."""
        return build_postings(table, conjunctions)

    def bounds(self, arrays: Arrays, owners: Arrays) -> Arrays:
        """See `index.classic.dnf_engine.DnfEngine.bounds`."""
        return {"size_points": _size_points(arrays["size"], owners)}

    def open(self, parts: Parts) -> KIndexDnfMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return KIndexDnfMatcher(parts, self._prune)


def _size_points(size: Int32s, owners: Arrays) -> Int64s:
    """Return the highest priority among the owners of the conjunctions of each size."""
    points = np.full(int(size.max(initial=0)) + 1, NO_THRESHOLD)
    conjunction = np.repeat(np.arange(len(size)), np.diff(owners["owner_start"]))
    np.maximum.at(points, size[conjunction], owners["owner_points"][owners["owner"]])
    return points


class KIndexDnfMatcher(EventMatcher):
    """A segment's arrays and the memory to match with."""

    def __init__(self, parts: Parts, prune: bool) -> None:
        super().__init__(parts)
        self._postings = group(Postings, parts)
        self._owners = group(Owners, parts)
        self._size_points = read_only(parts, "size_points")
        self._attribute = read_only(parts, "key_attribute")
        self._prune = prune

    def prepared(self, block: EventBlock, view: EventKeys) -> Run:
        """See `index.classic.event_matcher.EventMatcher.prepared`."""
        cursors = Cursors.of(self._postings, view)
        sums = np.zeros(len(cursors.bucket), np.int64)
        return lambda first: _match(
            first,
            block.top,
            view,
            self._attribute,
            self._postings,
            self._owners,
            self._size_points,
            self._prune,
            cursors,
            sums,
            self.answers,
            self.counts,
        )


@kernel
def _match(event, top, view, attribute, postings, owners, size_points, prune, cursors, sums, answers, counts):  # type: ignore[no-untyped-def]
    """Match events until the answers have no room for one more; return the first that is left."""
    while event < len(top) and held.room(answers):
        held.begin(answers, top[event])
        gather(view.start[event], view.start[event + 1], view.key, postings, cursors)
        bounded = prune and top[event] > 0
        for size in range(len(cursors.bucket) - 3, -1, -1):
            low, high = cursors.bucket[size], cursors.bucket[size + 1]
            if low == high or high - low < size:
                continue
            if bounded:
                bound_lists(low, high, view.weight, postings, cursors)
                enough = missing(held.threshold(answers), size_points[size])
                if enough > NO_THRESHOLD and best_sum(size, view, attribute, cursors, sums) < enough:
                    counts[SKIPPED_SIZES] += 1
                    continue
            _match_size(size, view.weight, postings, owners, size_points[size], bounded, cursors, answers, counts)
        held.finish(answers, event)
        event += 1
    return event


@kernel
def _match_size(size, event_weight, postings, owners, points, bounded, cursors, answers, counts):  # type: ignore[no-untyped-def]
    """Offer the satisfied conjunctions of one size, `index.classic.cursors.satisfied` with bounds.

    ``points`` is the highest priority among their owners.
    """
    wanted = max(size, 1)
    n = open_lists(cursors.bucket[size], cursors.bucket[size + 1], postings, cursors, counts)
    while n >= wanted:
        pivot = cursors.current[wanted - 1] >> 1
        least = held.threshold(answers) if bounded else NO_THRESHOLD
        if least > NO_THRESHOLD and falls_short(n, pivot, missing(least, points), cursors):
            counts[SKIPPED_BY_LIST] += 1
            n = skip(n, pivot + 1, postings.entry, cursors, counts)
        elif cursors.current[0] >> 1 != pivot:
            n = skip(n, pivot, postings.entry, cursors, counts)
        else:
            counts[CANDIDATES] += 1
            if cursors.current[0] & 1 and distinct(n, postings.slot, cursors) >= size:
                total = score(n, event_weight, postings, cursors) if size else 0
                offer_owners(pivot, total, owners, answers)
            n = skip(n, pivot + 1, postings.entry, cursors, counts)


@inlined
def score(n, event_weight, postings, cursors):  # type: ignore[no-untyped-def]
    """Return the score of the first list's conjunction, in units of 1 / SCORE_SCALE, each term rounded half to even."""
    total = np.int64(0)
    entry = cursors.current[0]
    for i in range(n):
        if cursors.current[i] != entry:
            break
        one = cursors.which[i]
        weight = event_weight[cursors.source[one]]
        if len(postings.weight):
            weight *= postings.weight[cursors.at[one]]
        total += np.int64(np.rint(weight * SCORE_SCALE))
    return total
