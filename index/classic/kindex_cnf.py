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

from index.arrays import Arrays, Int64s, UInt16s, group
from index.block.vocabulary import ALWAYS
from index.classic import answers as held
from index.classic.answers import NO_THRESHOLD
from index.classic.clauses import Clause
from index.classic.counters import CANDIDATES, SKIPPED_BY_LIST
from index.classic.cursors import Cursors, gather, open_lists, skip
from index.classic.disjunctions import Cnf, conjunction, read_cnfs
from index.classic.event_matcher import EventMatcher, Run
from index.classic.keys import EventKeys, number_keys
from index.classic.literals import LiteralReader
from index.classic.owners import Owners, offer_owners
from index.classic.postings import NO_SLOT, Postings, post
from index.classic.pruning import bound_lists, falls_short, missing
from index.classic.ranges import Method
from index.engine import Parts
from index.event_block import EventBlock
from index.kernel import inlined, kernel
from index.slices import starts_of
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
        return table.arrays | arrays | cnfs.arrays(number) | _disjunctions(ordered) | bounds

    def open(self, parts: Parts) -> KIndexCnfMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return KIndexCnfMatcher(parts, self._prune)


def _plain(disjunction: Clause) -> bool:
    return not any(literal.negated or literal.literal == ALWAYS for literal in disjunction)


def _disjunctions(cnfs: Sequence[Cnf]) -> Arrays:
    """Return the parts of `Disjunctions`."""
    literals = [sum(map(len, cnf)) for cnf in cnfs]
    exclusions = [sum(literal.negated or literal.literal == ALWAYS for literal in own) for cnf in cnfs for own in cnf]
    return {
        "literal_start": starts_of(literals, len(literals)),
        "literal_disjunction": np.array([i for cnf in cnfs for i, own in enumerate(cnf) for _ in own], np.uint16),
        "disjunction_start": starts_of(map(len, cnfs), len(cnfs)),
        "exclusions": np.array(exclusions, np.uint16),
    }


class KIndexCnfMatcher(EventMatcher):
    """A segment's arrays and the memory to match with; its counters know no sizes skipped."""

    def __init__(self, parts: Parts, prune: bool) -> None:
        super().__init__(parts)
        self._postings = group(Postings, parts)
        self._owners = group(Owners, parts)
        self._disjunctions = group(Disjunctions, parts)
        self._most_points = int(parts["most_points"][0])
        self._slots = int(np.diff(self._disjunctions.literal_start).max(initial=0))
        most = int(np.diff(self._disjunctions.disjunction_start).max(initial=0))
        self._memory = Verification(*(np.zeros(n, np.int64) for n in (most, most, self._slots, self._slots)))
        self._prune = prune

    def prepared(self, block: EventBlock, view: EventKeys) -> Run:
        """See `index.classic.event_matcher.EventMatcher.prepared`."""
        cursors = Cursors.of(self._postings, view, self._slots)
        return lambda first: _match(
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
            self.answers,
            self.counts,
        )


@kernel
def _match(event, top, view, postings, disjunctions, owners, points, prune, cursors, memory, answers, counts):  # type: ignore[no-untyped-def]
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
            _match_size(
                size, view.weight, postings, disjunctions, owners, points, bounded, cursors, memory, answers, counts
            )
        held.finish(answers, event)
        event += 1
    return event


@kernel
def _match_size(size, event_weight, postings, disjunctions, owners, points, bounded, cursors, memory, answers, counts):  # type: ignore[no-untyped-def]
    """Offer the satisfied expressions of one size; ``points`` is the highest priority of the segment."""
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
            _count(n, pivot, event_weight, postings, disjunctions, cursors, memory)
            total = _score(pivot, disjunctions, memory)
            if total != UNSATISFIED:
                offer_owners(pivot, total, owners, answers)
            n = skip(n, pivot + 1, postings.entry, cursors, counts)


@kernel
def _count(n, expression, event_weight, postings, disjunctions, cursors, memory):  # type: ignore[no-untyped-def]
    """Fill the counters and best scores of an expression's disjunctions from its entries in the lists."""
    first, stop = disjunctions.disjunction_start[expression], disjunctions.disjunction_start[expression + 1]
    for i in range(first, stop):
        memory.counter[i - first] = -np.int64(disjunctions.exclusions[i])
        memory.best[i - first] = UNSATISFIED
    base = disjunctions.literal_start[expression]
    cursors.stamp[0] += 1
    stamp, found = cursors.stamp[0], 0
    for i in range(n):
        if cursors.current[i] >> 1 != expression:
            break
        one = cursors.which[i]
        at = cursors.at[one]
        slot = postings.slot[at]
        if slot == NO_SLOT:
            continue
        again = cursors.seen[slot] == stamp
        cursors.seen[slot] = stamp
        if not cursors.current[i] & 1:
            memory.counter[disjunctions.literal_disjunction[base + slot]] += 0 if again else 1
            continue
        if not again:
            memory.points[slot] = 0
            memory.held[found] = slot
            found += 1
        weight = event_weight[cursors.source[one]]
        if len(postings.weight):
            weight *= postings.weight[at]
        memory.points[slot] += np.int64(np.rint(weight * SCORE_SCALE))
    for i in range(found):
        slot = memory.held[i]
        of = disjunctions.literal_disjunction[base + slot]
        memory.best[of] = max(memory.best[of], memory.points[slot])


@inlined
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
