"""The engine ``kindex-cnf``: the CNF algorithm over posting lists by size, and its ranking with pruning.

Method: Whang et al., "Indexing Boolean Expressions" (PVLDB 2009), section 4, algorithm 2, and section 5, CNF ranking.
The size of an expression is how many of its disjunctions hold no exclusion: each of them needs a list of its own.
Expressions found in enough lists are verified by a counter for each disjunction, which begins at minus the number of
its exclusions and is raised by each that is violated; a disjunction is satisfied by a plain literal, or when its
counter stays below 0. With a top, the first pruning of ``kindex-dnf`` applies; the second does not, since more
disjunctions than the size counts may score.

Complexity: O(|S| · |C| · P) an event, |S| keys of the event, |C| expressions, P literals in each. Memory: 6 bytes an
entry, 14 with weights, 2 a literal and a disjunction.

Expresses: ANDs of ORs of lists of values, presence and ranges, weak and strong exclusions among them; ORs over ANDs
where no leaf of theirs scores, within the limits of `index.classic.disjunctions`. Cannot express: other ORs over ANDs,
value tests, the modes relaxed and threshold.

Beyond the paper: several values of an attribute, so that a literal may hold or be violated several times and counts
once; several literals over one key; weights that may be negative, priorities.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from index.block.vocabulary import ALWAYS
from index.classic import answers as held
from index.classic.answers import NO_THRESHOLD, Answers
from index.classic.arrays import Arrays, Int64s, UInt16s, group
from index.classic.cursors import Cursors, gather, open_lists, skip
from index.classic.disjunctions import Cnf, conjunction, read_cnfs
from index.classic.keys import KeyReader, number_keys
from index.classic.literals import LiteralReader, Posted
from index.classic.owners import Owners, offer_owners
from index.classic.postings import NO_SLOT, Postings, post
from index.classic.pruning import CANDIDATES, SKIPPED_BY_LIST, Counters, list_sum, missing
from index.classic.ranges import Method
from index.engine import Matches, Parts
from index.event_block import EventBlock
from schemas.records import Subscription
from schemas.values import SCORE_SCALE

UNSATISFIED = np.iinfo(np.int64).min


class Disjunctions(NamedTuple):
    """The disjunctions of the expressions.

    Attributes
    ----------
    literal_start, literal_disjunction
        int64 [expressions + 1], uint16: the disjunction of each literal, by slot.
    disjunction_start, exclusions
        int64 [expressions + 1], uint16: how many exclusions a disjunction holds; one that is always true holds one that
        is never violated.
    """

    literal_start: Int64s
    literal_disjunction: UInt16s
    disjunction_start: Int64s
    exclusions: UInt16s


class Verification(NamedTuple):
    """Memory to verify one candidate.

    Attributes
    ----------
    counter, best
        int64 [most disjunctions]: the paper's counter, and the highest score among the literals that hold.
    points
        int64 [most literals]: the score of a literal.
    held
        int64 [most literals]: the slots of plain literals that hold.
    """

    counter: Int64s
    best: Int64s
    points: Int64s
    held: Int64s


class KIndexCnf:
    """See the module.

    Parameters
    ----------
    prune
        Whether bounds are used; the answers are the same.
    ranges
        How range predicates become keys: `index.classic.ranges`.
    """

    name = "kindex-cnf"

    def __init__(self, prune: bool = True, ranges: Method = "hierarchy") -> None:
        self._prune = prune
        self._ranges: Method = ranges

    def check(self, subscription: Subscription) -> None:
        """See `index.engine.SelectiveEngine.check`."""
        conjunction(self.name, LiteralReader(self.name), subscription)

    def build(self, subscriptions: Sequence[Subscription]) -> Parts:
        """Build a segment's arrays; see `index.engine.Engine.build`."""
        reader = LiteralReader(self.name)
        cnfs = read_cnfs(self.name, reader, subscriptions)
        table = number_keys(reader.vocabulary, self._ranges)
        distinct = list(cnfs.distinct)
        literals = [list(chain.from_iterable(cnf)) for cnf in distinct]
        size = np.array([sum(map(_plain, cnf)) for cnf in distinct], np.int64)
        slot = np.fromiter((slot for own in literals for slot in range(len(own))), np.int64)
        arrays, number = post(table, literals, size, slot)
        ordered = [distinct[i] for i in np.argsort(number).tolist()]
        points = np.array(cnfs.points, np.int64)[np.array(cnfs.owner, np.int64)].max(initial=NO_THRESHOLD)
        bounds = {"most_points": np.array([points], np.int64)}
        return table.arrays | arrays | cnfs.owners(number) | _disjunctions(ordered) | bounds

    def open(self, parts: Parts) -> KIndexCnfMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return KIndexCnfMatcher(parts, self._prune)


def _plain(disjunction: Sequence[Posted]) -> bool:
    return not any(literal.negated or literal.literal == ALWAYS for literal in disjunction)


def _disjunctions(cnfs: Sequence[Cnf]) -> Arrays:
    """Return the parts of `Disjunctions`."""
    literals = [sum(map(len, cnf)) for cnf in cnfs]
    exclusions = [sum(literal.negated or literal.literal == ALWAYS for literal in own) for cnf in cnfs for own in cnf]
    return {
        "literal_start": np.append(0, np.cumsum(np.array(literals, np.int64))),
        "literal_disjunction": np.array([i for cnf in cnfs for i, own in enumerate(cnf) for _ in own], np.uint16),
        "disjunction_start": np.append(0, np.cumsum(np.array([len(cnf) for cnf in cnfs], np.int64))),
        "exclusions": np.array(exclusions, np.uint16),
    }


class KIndexCnfMatcher:
    """A segment's arrays and the memory to match with."""

    def __init__(self, parts: Parts, prune: bool) -> None:
        self._keys = KeyReader(parts)
        self._postings = group(Postings, parts)
        self._owners = group(Owners, parts)
        self._disjunctions = group(Disjunctions, parts)
        self._most_points = int(parts["most_points"][0])
        self._slots = int(np.diff(self._disjunctions.literal_start).max(initial=0))
        most = int(np.diff(self._disjunctions.disjunction_start).max(initial=0))
        self._memory = Verification(*(np.zeros(n, np.int64) for n in (most, most, self._slots, self._slots)))
        self._answers = Answers.of(self.count)
        self._prune = prune
        self._counts = np.zeros(len(Counters._fields), np.int64)

    @property
    def count(self) -> int:
        """The number of subscriptions, dead ones included."""
        return len(self._owners.owner_points)

    @property
    def counters(self) -> Counters:
        """What has been done since the segment was opened; sizes are never skipped."""
        return Counters(*self._counts.tolist())

    def match(self, block: EventBlock, dead: npt.NDArray[np.uint32] | None = None) -> Matches:
        """Match every event of the block; see `index.engine.Matcher.match`."""
        view = self._keys.view(block)
        cursors = Cursors.of(self._postings, view, self._slots)
        self._answers.bury(dead)
        return self._answers.gathered(
            block.size,
            lambda first: _match(
                first,
                block.top,
                view,
                self._postings,
                self._disjunctions,
                self._owners,
                self._most_points,
                self._prune,
                cursors,
                self._memory,
                self._answers,
                self._counts,
            ),
        )


@njit(cache=True, nogil=True)
def _match(event, top, view, postings, disjunctions, owners, most_points, prune, cursors, memory, answers, counts):  # type: ignore[no-untyped-def]
    """Match events until the answers have no room for one more; return the first that is left."""
    while event < len(top) and held.room(answers):
        held.begin(answers, top[event])
        gather(view.start[event], view.start[event + 1], view.key, postings, cursors)
        for size in range(len(cursors.bucket) - 3, -1, -1):
            wanted = max(size, 1)
            low, high = cursors.bucket[size], cursors.bucket[size + 1]
            n = open_lists(low, high, postings, cursors) if high - low >= wanted else 0
            while n >= wanted:
                pivot = cursors.current[wanted - 1] >> 1
                least = held.threshold(answers) if prune else NO_THRESHOLD
                enough = missing(least, most_points)
                if least > NO_THRESHOLD and list_sum(n, pivot, view.weight, postings, cursors) < enough:
                    counts[SKIPPED_BY_LIST] += 1
                    n = skip(n, pivot + 1, postings.entry, cursors)
                elif cursors.current[0] >> 1 != pivot:
                    n = skip(n, pivot, postings.entry, cursors)
                else:
                    counts[CANDIDATES] += 1
                    _count(n, pivot, view.weight, postings, disjunctions, cursors, memory)
                    points = _score(pivot, disjunctions, memory)
                    if points != UNSATISFIED:
                        offer_owners(pivot, points, owners, answers)
                    n = skip(n, pivot + 1, postings.entry, cursors)
        held.finish(answers, event)
        event += 1
    return event


@njit(cache=True, nogil=True)
def _count(n, expression, event_weight, postings, disjunctions, cursors, memory):  # type: ignore[no-untyped-def]
    """Fill the counters and best scores of an expression's disjunctions from its entries in the lists."""
    first, stop = disjunctions.disjunction_start[expression], disjunctions.disjunction_start[expression + 1]
    for i in range(first, stop):
        memory.counter[i - first] = -np.int64(disjunctions.exclusions[i])
        memory.best[i - first] = UNSATISFIED
    of = disjunctions.literal_disjunction[disjunctions.literal_start[expression] :]
    cursors.stamp[0] += 1
    stamp, found = cursors.stamp[0], 0
    for i in range(n):
        code = cursors.current[i]
        if code >> 1 != expression:
            break
        at = cursors.at[cursors.which[i]]
        slot = postings.slot[at]
        if slot == NO_SLOT:
            continue
        again = cursors.seen[slot] == stamp
        cursors.seen[slot] = stamp
        if not code & 1:
            memory.counter[of[slot]] += 0 if again else 1
            continue
        if not again:
            memory.points[slot] = 0
            memory.held[found] = slot
            found += 1
        weight = event_weight[cursors.source[cursors.which[i]]]
        if len(postings.weight):
            weight *= postings.weight[at]
        memory.points[slot] += np.int64(np.rint(weight * SCORE_SCALE))
    for i in range(found):
        slot = memory.held[i]
        memory.best[of[slot]] = max(memory.best[of[slot]], memory.points[slot])


@njit(cache=True, nogil=True)
def _score(expression, disjunctions, memory):  # type: ignore[no-untyped-def]
    """Return the score of an expression that has been counted, or `UNSATISFIED`."""
    total = np.int64(0)
    n = disjunctions.disjunction_start[expression + 1] - disjunctions.disjunction_start[expression]
    for i in range(n):
        best = memory.best[i]
        if memory.counter[i] < 0:
            best = max(best, np.int64(0))
        if best == UNSATISFIED:
            return np.int64(UNSATISFIED)
        total += best
    return total
