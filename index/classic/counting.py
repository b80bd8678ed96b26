"""The engine ``counting``: an inverted list that counts the satisfied literals of every conjunction it meets.

Method: the counting of SIFT (Yan and Garcia-Molina, "Index structures for selective dissemination of information under
the Boolean model", TODS 1994), extended to exclusions and lists of values as in Whang et al., "Indexing Boolean
Expressions" (PVLDB 2009), section 7. All posting lists of the event's keys are scanned; an entry raises the count of
its conjunction, an exclusion lowers it for good, and conjunctions whose count reaches their size are satisfied. With a
top, the best are kept, but nothing is left out of the scan.

Complexity: O(entries of the event's lists + conjunctions of exclusions alone) an event. Memory: the storage of
`index.classic.postings`, and 16 bytes a conjunction to count in.

Expresses, and cannot express, what ``kindex-dnf`` does (`index.classic.kindex_dnf`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from index.classic import answers as held
from index.classic.answers import Answers
from index.classic.arrays import Int32s, Int64s, group, read_only
from index.classic.conjunctions import disjunction, read_conjunctions
from index.classic.keys import KeyReader, number_keys
from index.classic.literals import LiteralReader
from index.classic.owners import Owners, offer_owners
from index.classic.postings import Postings, build_postings
from index.classic.ranges import Method
from index.engine import Matches, Parts
from index.event_block import EventBlock
from schemas.records import Subscription
from schemas.values import SCORE_SCALE

VIOLATED = -(2**30)
"""The count of a conjunction with a violated exclusion: no number of literals brings it back to 0."""


class Counts(NamedTuple):
    """What is counted of one event; zero between events.

    Attributes
    ----------
    literals
        int32 [conjunctions], how many hold.
    points
        int64 [conjunctions], the score so far, in units of 1 / SCORE_SCALE.
    touched
        int32 [conjunctions], those of which some hold or some exclusion is violated.
    first_slot
        int64 [conjunctions + 1]: literal s of conjunction c is ``first_slot[c] + s`` of ``seen``.
    seen
        int64 [literals], the stamp of the attribute of an event that a literal was last counted for.
    state
        int64 [2]: how many are touched, the stamp last used.
    """

    literals: Int32s
    points: Int64s
    touched: Int32s
    first_slot: Int64s
    seen: Int64s
    state: Int64s

    @classmethod
    def of(cls, size: Int32s) -> Counts:
        """Return memory for conjunctions of these sizes."""
        first = np.append(0, np.cumsum(size, dtype=np.int64))
        n = len(size)
        return cls(
            np.zeros(n, np.int32),
            np.zeros(n, np.int64),
            np.zeros(n, np.int32),
            first,
            np.zeros(first[-1], np.int64),
            np.zeros(2, np.int64),
        )


class Counting:
    """See the module.

    Parameters
    ----------
    ranges
        How range predicates become keys: `index.classic.ranges`.
    """

    name = "counting"

    def __init__(self, ranges: Method = "hierarchy") -> None:
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
        return table.arrays | arrays | conjunctions.owners(number)

    def open(self, parts: Parts) -> CountingMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return CountingMatcher(parts)


class CountingMatcher:
    """A segment's arrays and the memory to match with."""

    def __init__(self, parts: Parts) -> None:
        self._keys = KeyReader(parts)
        self._postings = group(Postings, parts)
        self._owners = group(Owners, parts)
        self._size = read_only(parts, "size")
        self._counts = Counts.of(self._size)
        self._answers = Answers.of(self.count)

    @property
    def count(self) -> int:
        """The number of subscriptions, dead ones included."""
        return len(self._owners.owner_points)

    def match(self, block: EventBlock, dead: npt.NDArray[np.uint32] | None = None) -> Matches:
        """Match every event of the block; see `index.engine.Matcher.match`."""
        view = self._keys.view(block)
        self._answers.bury(dead)
        return self._answers.gathered(
            block.size,
            lambda first: _match(
                first,
                block.top,
                view,
                self._keys.attribute,
                self._postings,
                self._size,
                self._owners,
                self._counts,
                self._answers,
            ),
        )


@njit(cache=True, nogil=True)
def _match(event, top, view, attribute, postings, size, owners, counts, answers):  # type: ignore[no-untyped-def]
    """Match events until the answers have no room for one more; return the first that is left."""
    while event < len(top) and held.room(answers):
        held.begin(answers, top[event])
        # without weights a conjunction scores 1 for each literal, which a plain event meets by one value
        even = len(postings.weight) == 0 and view.plain[event]
        i, stop = view.start[event], view.start[event + 1]
        while i < stop:
            j = i + 1
            while j < stop and attribute[view.key[j]] == attribute[view.key[i]]:
                j += 1
            if even and j == i + 1:
                _count(view.key[i], postings, counts)
            else:
                counts.state[1] += 1
                for k in range(i, j):
                    _count_and_score(view.key[k], view.weight[k], postings, counts)
            i = j
        _offer_excluded(postings, counts, owners, answers)
        _offer_counted(even, size, counts, owners, answers)
        held.finish(answers, event)
        event += 1
    return event


@njit(cache=True, nogil=True)
def _count(key, postings, counts):  # type: ignore[no-untyped-def]
    """Count the entries of a key that is alone with its attribute: each is another literal."""
    start, stop = postings.list_start[postings.key_list[key]], postings.list_start[postings.key_list[key + 1]]
    touched = counts.state[0]
    for i in range(start, stop):
        code = postings.entry[i]
        conjunction = code >> 1
        if counts.literals[conjunction] == 0:
            counts.touched[touched] = conjunction
            touched += 1
        counts.literals[conjunction] = counts.literals[conjunction] + 1 if code & 1 else VIOLATED
    counts.state[0] = touched


@njit(cache=True, nogil=True)
def _count_and_score(key, event_weight, postings, counts):  # type: ignore[no-untyped-def]
    """Count the entries of one of an attribute's keys: a literal that holds through several counts once."""
    start, stop = postings.list_start[postings.key_list[key]], postings.list_start[postings.key_list[key + 1]]
    for i in range(start, stop):
        code = postings.entry[i]
        conjunction = code >> 1
        if counts.literals[conjunction] == 0:
            counts.touched[counts.state[0]] = conjunction
            counts.state[0] += 1
        if not code & 1:
            counts.literals[conjunction] = VIOLATED
            continue
        weight = event_weight * postings.weight[i] if len(postings.weight) else event_weight
        counts.points[conjunction] += np.int64(np.rint(weight * SCORE_SCALE))
        slot = counts.first_slot[conjunction] + postings.slot[i]
        if counts.seen[slot] != counts.state[1]:
            counts.seen[slot] = counts.state[1]
            counts.literals[conjunction] += 1


@njit(cache=True, nogil=True)
def _offer_excluded(postings, counts, owners, answers):  # type: ignore[no-untyped-def]
    """Offer the conjunctions of exclusions alone, list Z, none of which is violated."""
    zero = len(postings.key_list) - 2
    start, stop = postings.list_start[postings.key_list[zero]], postings.list_start[postings.key_list[zero + 1]]
    for i in range(start, stop):
        conjunction = postings.entry[i] >> 1
        if counts.literals[conjunction] == 0:
            offer_owners(conjunction, np.int64(0), owners, answers)


@njit(cache=True, nogil=True)
def _offer_counted(even, size, counts, owners, answers):  # type: ignore[no-untyped-def]
    """Offer the conjunctions whose count has reached their size, and forget all counts."""
    for i in range(counts.state[0]):
        conjunction = counts.touched[i]
        if counts.literals[conjunction] == size[conjunction]:
            points = np.int64(size[conjunction]) * SCORE_SCALE if even else counts.points[conjunction]
            offer_owners(conjunction, points, owners, answers)
        counts.literals[conjunction] = 0
        counts.points[conjunction] = 0
    counts.state[0] = 0
