"""The engine ``kindex-dnf``: the conjunction algorithm over posting lists by size, and its ranking with pruning.

Method: Whang et al., "Indexing Boolean Expressions" (PVLDB 2009), section 3, algorithm 1, and section 5, DNF ranking.
The lists of an event's keys are walked size by size, from the largest; within a size only conjunctions that stand in as
many lists as they have literals are looked at, all before them are skipped. With a top, a conjunction is skipped when
the bounds of the lists that may hold it sum to less than the lowest score held, and a whole size when the bounds of its
best lists do.

Complexity: O(log |S| · |C| · P) an event, |S| keys of the event, |C| conjunctions, P literals in each; in practice the
entries of few lists. Memory: 6 bytes an entry, 14 with weights.

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
import numpy.typing as npt
from numba import njit

from index.classic import answers as held
from index.classic.answers import NO_THRESHOLD, Answers
from index.classic.arrays import Arrays, Int32s, Int64s, group, read_only
from index.classic.conjunctions import disjunction, read_conjunctions
from index.classic.cursors import Cursors, distinct, gather, open_lists, skip
from index.classic.keys import KeyReader, number_keys
from index.classic.literals import LiteralReader
from index.classic.owners import Owners, offer_owners
from index.classic.postings import Postings, build_postings
from index.classic.pruning import (
    CANDIDATES,
    SKIPPED_BY_LIST,
    SKIPPED_SIZES,
    Counters,
    best_sum,
    list_sum,
    missing,
)
from index.classic.ranges import Method
from index.engine import Matches, Parts
from index.event_block import EventBlock
from schemas.records import Subscription
from schemas.values import SCORE_SCALE


class KIndexDnf:
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
        self._prune = prune
        self._ranges: Method = ranges

    def check(self, subscription: Subscription) -> None:
        """See `index.engine.SelectiveEngine.check`."""
        disjunction(self.name, LiteralReader(self.name), subscription)

    def build(self, subscriptions: Sequence[Subscription]) -> Parts:
        """Build a segment's arrays; see `index.engine.Engine.build`."""
        reader = LiteralReader(self.name)
        conjunctions = read_conjunctions(self.name, reader, subscriptions)
        table = number_keys(reader.vocabulary, self._ranges)
        arrays, number = build_postings(table, list(conjunctions.distinct))
        owners = conjunctions.owners(number)
        return table.arrays | arrays | owners | {"size_points": _size_points(arrays["size"], owners)}

    def open(self, parts: Parts) -> KIndexDnfMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return KIndexDnfMatcher(parts, self._prune)


def _size_points(size: Int32s, owners: Arrays) -> Int64s:
    """Return the highest priority among the owners of the conjunctions of each size."""
    points = np.full(int(size.max(initial=0)) + 1, NO_THRESHOLD)
    conjunction = np.repeat(np.arange(len(size)), np.diff(owners["owner_start"]))
    np.maximum.at(points, size[conjunction], owners["owner_points"][owners["owner"]])
    return points


class KIndexDnfMatcher:
    """A segment's arrays and the memory to match with."""

    def __init__(self, parts: Parts, prune: bool) -> None:
        self._keys = KeyReader(parts)
        self._postings = group(Postings, parts)
        self._owners = group(Owners, parts)
        self._size_points = read_only(parts, "size_points")
        self._answers = Answers.of(self.count)
        self._prune = prune
        self._counts = np.zeros(len(Counters._fields), np.int64)
        self._attribute = read_only(parts, "key_attribute")

    @property
    def count(self) -> int:
        """The number of subscriptions, dead ones included."""
        return len(self._owners.owner_points)

    @property
    def counters(self) -> Counters:
        """What has been done since the segment was opened."""
        return Counters(*self._counts.tolist())

    def match(self, block: EventBlock, dead: npt.NDArray[np.uint32] | None = None) -> Matches:
        """Match every event of the block; see `index.engine.Matcher.match`."""
        view = self._keys.view(block)
        cursors = Cursors.of(self._postings, view)
        sums = np.zeros(len(cursors.bucket), np.int64)
        self._answers.bury(dead)
        return self._answers.gathered(
            block.size,
            lambda first: _match(
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
                self._answers,
                self._counts,
            ),
        )


@njit(cache=True, nogil=True)
def _match(event, top, view, attribute, postings, owners, size_points, prune, cursors, sums, answers, counts):  # type: ignore[no-untyped-def]
    """Match events until the answers have no room for one more; return the first that is left."""
    while event < len(top) and held.room(answers):
        held.begin(answers, top[event])
        gather(view.start[event], view.start[event + 1], view.key, postings, cursors)
        for size in range(len(cursors.bucket) - 3, -1, -1):
            lists = cursors.bucket[size + 1] - cursors.bucket[size]
            if lists == 0 or lists < size:
                continue
            least = held.threshold(answers) if prune else NO_THRESHOLD
            enough = missing(least, size_points[size])
            if least > NO_THRESHOLD and best_sum(size, view, attribute, postings, cursors, sums) < enough:
                counts[SKIPPED_SIZES] += 1
                continue
            _match_size(size, view, postings, owners, size_points, prune, cursors, answers, counts)
        held.finish(answers, event)
        event += 1
    return event


@njit(cache=True, nogil=True)
def _match_size(size, view, postings, owners, size_points, prune, cursors, answers, counts):  # type: ignore[no-untyped-def]
    """Offer the satisfied conjunctions of one size, `index.classic.cursors.satisfied` with bounds."""
    wanted = max(size, 1)
    n = open_lists(cursors.bucket[size], cursors.bucket[size + 1], postings, cursors)
    while n >= wanted:
        pivot = cursors.current[wanted - 1] >> 1
        least = held.threshold(answers) if prune else NO_THRESHOLD
        enough = missing(least, size_points[size])
        if least > NO_THRESHOLD and list_sum(n, pivot, view.weight, postings, cursors) < enough:
            counts[SKIPPED_BY_LIST] += 1
            n = skip(n, pivot + 1, postings.entry, cursors)
        elif cursors.current[0] >> 1 != pivot:
            n = skip(n, pivot, postings.entry, cursors)
        else:
            counts[CANDIDATES] += 1
            if cursors.current[0] & 1 and distinct(n, postings.slot, cursors) >= size:
                points = score(n, view.weight, postings, cursors) if size else 0
                offer_owners(pivot, points, owners, answers)
            n = skip(n, pivot + 1, postings.entry, cursors)


@njit(cache=True, nogil=True)
def score(n, event_weight, postings, cursors):  # type: ignore[no-untyped-def]
    """Return the score of the first list's conjunction, in units of 1 / SCORE_SCALE, each term rounded half to even."""
    total = np.int64(0)
    code = cursors.current[0]
    for i in range(n):
        if cursors.current[i] != code:
            break
        one = cursors.which[i]
        weight = event_weight[cursors.source[one]]
        if len(postings.weight):
            weight *= postings.weight[cursors.at[one]]
        total += np.int64(np.rint(weight * SCORE_SCALE))
    return total
