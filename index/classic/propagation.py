"""The engine ``propagation``: conjunctions in clusters, by the one literal that is least often true.

Method: the Propagation algorithm of Le Subscribe (Fabret et al., "Filtering algorithms and implementation for very fast
publish/subscribe systems", SIGMOD 2001), as Whang et al., "Indexing Boolean Expressions" (PVLDB 2009), section 7,
extend it to exclusions and lists of values. A first phase finds the distinct predicates that the event satisfies and
notes them in a table; a second one goes through the clusters of the satisfied access predicates, and verifies each
conjunction by its pointers into the table, each with a bit that tells exclusions, rarest first.

The access predicate is chosen by cost. A conjunction under access predicate p costs one verification in the share of
events in which p holds, so the choices are independent, and the cheapest for each conjunction is the optimum over all.
Shares are estimated from the subscriptions alone (`index.block.frequencies`), or counted in a sample of events.

Complexity: O(entries of the event's keys + conjunctions under satisfied access predicates + conjunctions of exclusions
alone) an event. Memory: 4 bytes a key of a distinct predicate, 4 bytes a literal of a distinct conjunction.

Expresses, and cannot express, what ``kindex-dnf`` does (`index.classic.kindex_dnf`). Clusters by several literals, the
other algorithms of Le Subscribe, are not built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from index.arrays import Arrays, Float64s, Int32s, Int64s, group
from index.block.frequencies import Frequencies
from index.block.ladders import Ladders
from index.block.vocabulary import Inside, Vocabulary
from index.classic import answers as held
from index.classic.clauses import Clause
from index.classic.counters import CANDIDATES, ENTRIES, READ
from index.classic.dnf_engine import DnfEngine
from index.classic.event_matcher import EventMatcher, Run
from index.classic.keys import EventKeys, KeyReader, KeyTable
from index.classic.owners import Owners, offer_owners
from index.classic.ranges import Method
from index.engine import Parts
from index.event_block import EventBlock
from index.kernel import inlined, kernel
from index.slices import places_of, starts_of
from schemas.values import SCORE_SCALE


class Clusters(NamedTuple):
    """The arrays of the two phases; conjunctions are numbered cluster by cluster.

    Attributes
    ----------
    predicate_start, predicate
        int64 [keys + 1], int32: the predicates that hold when an event has the key.
    cluster_start
        int64 [predicates + 2]: the conjunctions under predicate p; the last cluster is of exclusions alone.
    pointer_start, pointer
        int64 [conjunctions + 1], int32: predicate << 1 | excluded for all literals but the access predicate.
    leaf_start, leaf_key, leaf_weight
        int64 [conjunctions + 1], int32, float64: the keys by which a conjunction scores, a key as often as literals do.
    """

    predicate_start: Int64s
    predicate: Int32s
    cluster_start: Int64s
    pointer_start: Int64s
    pointer: Int32s
    leaf_start: Int64s
    leaf_key: Int32s
    leaf_weight: Float64s


class Table(NamedTuple):
    """What an event satisfies.

    Attributes
    ----------
    held_by
        int64 [predicates]: the event, counted from 1, that last satisfied it.
    satisfied
        int32 [predicates]: the predicates that the event satisfies.
    had_by, weight
        int64, float64 [keys]: the event that last had the key, and its weight of it.
    """

    held_by: Int64s
    satisfied: Int32s
    had_by: Int64s
    weight: Float64s


class Propagation(DnfEngine):
    """See the module.

    Parameters
    ----------
    sample
        Events by which to judge how often predicates hold; None takes an estimate. It decides how fast, never what.
    ranges
        How range predicates become keys: `index.classic.ranges`.
    """

    name = "propagation"

    def __init__(self, sample: EventBlock | None = None, ranges: Method = "hierarchy") -> None:
        super().__init__(ranges)
        self._sample = sample

    def arrays(self, vocabulary: Vocabulary, table: KeyTable, conjunctions: Sequence[Clause]) -> tuple[Arrays, Int32s]:
        """See `index.classic.dnf_engine.DnfEngine.arrays`."""
        share = _estimated(vocabulary) if self._sample is None else _counted(table, self._sample)
        return _clusters(table, conjunctions, share)

    def open(self, parts: Parts) -> PropagationMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return PropagationMatcher(parts)


def _estimated(vocabulary: Vocabulary) -> Float64s:
    predicates = list(vocabulary.predicates)
    frequencies = Frequencies(vocabulary, Ladders(p for p in predicates if isinstance(p, Inside)))
    return np.array([frequencies.of(predicate) for predicate in predicates])


def _counted(table: KeyTable, sample: EventBlock) -> Float64s:
    """Return the share of the sample's events in which each predicate holds."""
    view = KeyReader(table.arrays).view(sample)
    start, predicate = _by_key(table)
    lengths = np.diff(start)[view.key]
    place = places_of(start[view.key], lengths)
    event = np.repeat(np.repeat(np.arange(sample.size), np.diff(view.start)), lengths)
    pairs = np.unique(event.astype(np.int64) << 32 | predicate[place])
    return np.bincount(pairs & (2**32 - 1), minlength=len(table.start) - 1) / max(sample.size, 1)


def _by_key(table: KeyTable) -> tuple[Int64s, Int32s]:
    """Return the predicates of each key, as starts and predicates."""
    predicate = np.repeat(np.arange(len(table.start) - 1, dtype=np.int32), np.diff(table.start))
    order = np.argsort(table.key, kind="stable")
    return np.searchsorted(table.key[order], np.arange(table.count + 1)).astype(np.int64), predicate[order]


def _clusters(table: KeyTable, conjunctions: Sequence[Clause], share: Float64s) -> tuple[Arrays, Int32s]:
    """Return the parts of `Clusters`, and the number of each conjunction in them."""
    last = len(share)
    costs = share.tolist()
    pointers = [_rarest_first(conjunction, costs) for conjunction in conjunctions]
    access = np.array([p[0] >> 1 if p and not p[0] & 1 else last for p in pointers], np.int64)
    order = np.argsort(access, kind="stable")
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    rows = [pointers[i][1:] if access[i] < last else pointers[i] for i in order.tolist()]
    scoring = [[literal for literal in conjunctions[i] if literal.weights is not None] for i in order.tolist()]
    start, predicate = _by_key(table)
    keys = [np.concatenate([np.zeros(0, np.int32), *(table.keys(x.literal >> 1) for x in own)]) for own in scoring]
    return {
        "predicate_start": start,
        "predicate": predicate,
        "cluster_start": np.searchsorted(access[order], np.arange(last + 2)).astype(np.int64),
        "pointer_start": starts_of(map(len, rows), len(rows)),
        "pointer": np.array([word for row in rows for word in row], np.int32),
        "leaf_start": starts_of(map(len, keys), len(keys)),
        "leaf_key": np.concatenate([np.zeros(0, np.int32), *keys]),
        "leaf_weight": np.array([w for own in scoring for x in own for w in x.weights or ()], np.float64),
    }, number


def _rarest_first(conjunction: Clause, share: Sequence[float]) -> list[int]:
    """Return the literals that are not excluded, by how seldom they hold, then the excluded ones likewise."""
    distinct = {literal.literal for literal in conjunction}
    return sorted(distinct, key=lambda x: (x & 1, 1 - share[x >> 1] if x & 1 else share[x >> 1], x))


class PropagationMatcher(EventMatcher):
    """A segment's arrays and the memory to match with."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._clusters = group(Clusters, parts)
        self._owners = group(Owners, parts)
        predicates, keys = len(self._clusters.cluster_start) - 2, self.keys.count
        self._table = Table(
            np.zeros(predicates, np.int64), np.zeros(predicates, np.int32), np.zeros(keys, np.int64), np.zeros(keys)
        )

    def prepared(self, block: EventBlock, view: EventKeys) -> Run:
        """See `index.classic.event_matcher.EventMatcher.prepared`."""
        self._table.held_by[:] = 0
        self._table.had_by[:] = 0
        return lambda first: _match(
            first, block.top, view, self._clusters, self._owners, self._table, self.answers, self.counts
        )


@kernel
def _match(event, top, view, clusters, owners, table, answers, counts):  # type: ignore[no-untyped-def]
    """Match events until the answers have no room for one more; return the first that is left."""
    last = len(clusters.cluster_start) - 2
    while event < len(top) and held.room(answers):
        held.begin(answers, top[event])
        for i in range(_satisfy(event, view, clusters, table, counts)):
            counts[CANDIDATES] += _verify(table.satisfied[i], event + 1, clusters, owners, table, answers)
        counts[CANDIDATES] += _verify(last, event + 1, clusters, owners, table, answers)
        held.finish(answers, event)
        event += 1
    counts[READ] = counts[ENTRIES]
    return event


@kernel
def _satisfy(event, view, clusters, table, counts):  # type: ignore[no-untyped-def]
    """Enter the event's keys and the predicates it satisfies into the table; return the number of predicates."""
    found = 0
    for i in range(view.start[event], view.start[event + 1]):
        key = view.key[i]
        table.had_by[key], table.weight[key] = event + 1, view.weight[i]
        counts[ENTRIES] += clusters.predicate_start[key + 1] - clusters.predicate_start[key]
        for j in range(clusters.predicate_start[key], clusters.predicate_start[key + 1]):
            predicate = clusters.predicate[j]
            if table.held_by[predicate] <= event:
                table.held_by[predicate] = event + 1
                table.satisfied[found] = predicate
                found += 1
    return found


@kernel
def _verify(cluster, stamp, clusters, owners, table, answers):  # type: ignore[no-untyped-def]
    """Offer the conjunctions of a cluster whose other literals hold; return how many there are in it."""
    first, stop = clusters.cluster_start[cluster], clusters.cluster_start[cluster + 1]
    for conjunction in range(first, stop):
        true = True
        for i in range(clusters.pointer_start[conjunction], clusters.pointer_start[conjunction + 1]):
            word = clusters.pointer[i]
            if (table.held_by[word >> 1] == stamp) == ((word & 1) != 0):
                true = False
                break
        if true:
            offer_owners(conjunction, _score(conjunction, stamp, clusters, table), owners, answers)
    return stop - first


@inlined
def _score(conjunction, stamp, clusters, table):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for i in range(clusters.leaf_start[conjunction], clusters.leaf_start[conjunction + 1]):
        key = clusters.leaf_key[i]
        if table.had_by[key] == stamp:
            total += np.int64(np.rint(table.weight[key] * clusters.leaf_weight[i] * SCORE_SCALE))
    return total
