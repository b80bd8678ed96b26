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

from index.arrays import Arrays, Int32s, Int64s, group, read_only
from index.block.vocabulary import Vocabulary
from index.classic import answers as held
from index.classic.clauses import Clause
from index.classic.counters import CANDIDATES, ENTRIES, READ
from index.classic.dnf_engine import DnfEngine
from index.classic.event_matcher import EventMatcher, Run
from index.classic.keys import EventKeys, KeyTable
from index.classic.owners import Owners, offer_owners
from index.classic.postings import Postings, build_postings
from index.engine import Parts
from index.event_block import EventBlock
from index.kernel import inlined, kernel
from index.slices import starts_of
from schemas.values import SCORE_SCALE

VIOLATED = -(2**30)
"""The count of a conjunction with a violated exclusion: no number of literals brings it back to 0."""


class Tally(NamedTuple):
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
    def of(cls, size: Int32s) -> Tally:
        """Return memory for conjunctions of these sizes."""
        first = starts_of(size, len(size))
        n = len(size)
        return cls(
            np.zeros(n, np.int32),
            np.zeros(n, np.int64),
            np.zeros(n, np.int32),
            first,
            np.zeros(first[-1], np.int64),
            np.zeros(2, np.int64),
        )


class Counting(DnfEngine):
    """See the module."""

    name = "counting"

    def arrays(self, vocabulary: Vocabulary, table: KeyTable, conjunctions: Sequence[Clause]) -> tuple[Arrays, Int32s]:
        """See `index.classic.dnf_engine.DnfEngine.arrays`."""
        return build_postings(table, conjunctions)

    def open(self, parts: Parts) -> CountingMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return CountingMatcher(parts)


class CountingMatcher(EventMatcher):
    """A segment's arrays and the memory to match with."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._postings = group(Postings, parts)
        self._owners = group(Owners, parts)
        self._size = read_only(parts, "size")
        self._tally = Tally.of(self._size)

    def prepared(self, block: EventBlock, view: EventKeys) -> Run:
        """See `index.classic.event_matcher.EventMatcher.prepared`."""
        return lambda first: _match(
            first,
            block.top,
            view,
            self.keys.attribute,
            self._postings,
            self._size,
            self._owners,
            self._tally,
            self.answers,
            self.counts,
        )


@kernel
def _match(event, top, view, attribute, postings, size, owners, tally, answers, counts):  # type: ignore[no-untyped-def]
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
            for k in range(i, j):
                counts[ENTRIES] += _entries(view.key[k], postings)
            if even and j == i + 1:
                _count(view.key[i], postings, tally)
            else:
                tally.state[1] += 1
                for k in range(i, j):
                    _count_and_score(view.key[k], view.weight[k], postings, tally)
            i = j
        counts[CANDIDATES] += tally.state[0]
        _offer_excluded(postings, tally, owners, answers)
        _offer_counted(even, size, tally, owners, answers)
        held.finish(answers, event)
        event += 1
    counts[READ] = counts[ENTRIES]
    return event


@inlined
def _entries(key, postings):  # type: ignore[no-untyped-def]
    """Return how many entries the lists of a key have."""
    return postings.list_start[postings.key_list[key + 1]] - postings.list_start[postings.key_list[key]]


@kernel
def _count(key, postings, tally):  # type: ignore[no-untyped-def]
    """Count the entries of a key that is alone with its attribute: each is another literal."""
    start, stop = postings.list_start[postings.key_list[key]], postings.list_start[postings.key_list[key + 1]]
    touched = tally.state[0]
    for i in range(start, stop):
        code = postings.entry[i]
        conjunction = code >> 1
        if tally.literals[conjunction] == 0:
            tally.touched[touched] = conjunction
            touched += 1
        tally.literals[conjunction] = tally.literals[conjunction] + 1 if code & 1 else VIOLATED
    tally.state[0] = touched


@kernel
def _count_and_score(key, event_weight, postings, tally):  # type: ignore[no-untyped-def]
    """Count the entries of one of an attribute's keys: a literal that holds through several tally once."""
    start, stop = postings.list_start[postings.key_list[key]], postings.list_start[postings.key_list[key + 1]]
    for i in range(start, stop):
        code = postings.entry[i]
        conjunction = code >> 1
        if tally.literals[conjunction] == 0:
            tally.touched[tally.state[0]] = conjunction
            tally.state[0] += 1
        if not code & 1:
            tally.literals[conjunction] = VIOLATED
            continue
        weight = event_weight * postings.weight[i] if len(postings.weight) else event_weight
        tally.points[conjunction] += np.int64(np.rint(weight * SCORE_SCALE))
        slot = tally.first_slot[conjunction] + postings.slot[i]
        if tally.seen[slot] != tally.state[1]:
            tally.seen[slot] = tally.state[1]
            tally.literals[conjunction] += 1


@kernel
def _offer_excluded(postings, tally, owners, answers):  # type: ignore[no-untyped-def]
    """Offer the conjunctions of exclusions alone, list Z, none of which is violated."""
    zero = len(postings.key_list) - 2
    start, stop = postings.list_start[postings.key_list[zero]], postings.list_start[postings.key_list[zero + 1]]
    for i in range(start, stop):
        conjunction = postings.entry[i] >> 1
        if tally.literals[conjunction] == 0:
            offer_owners(conjunction, np.int64(0), owners, answers)


@kernel
def _offer_counted(even, size, tally, owners, answers):  # type: ignore[no-untyped-def]
    """Offer the conjunctions whose count has reached their size, and forget all tally."""
    for i in range(tally.state[0]):
        conjunction = tally.touched[i]
        if tally.literals[conjunction] == size[conjunction]:
            points = np.int64(size[conjunction]) * SCORE_SCALE if even else tally.points[conjunction]
            offer_owners(conjunction, points, owners, answers)
        tally.literals[conjunction] = 0
        tally.points[conjunction] = 0
    tally.state[0] = 0
