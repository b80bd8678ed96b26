"""The first of the two steps of the tree engines: the K-index finds the true conjunctions, the annotations say where.

"Efficiently Evaluating Complex Boolean Expressions" (Fontoura et al., SIGMOD 2010), section 2.1 and figure 1, over
the posting storage of Whang et al., `index.classic.postings`. A conjunction of exclusions alone has size 0 and stands
in the list Z, so that what a NOT leaves, the weak ``not_in``, is found as any other conjunction.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from index.arrays import Arrays, Int32s, group
from index.classic.counters import CANDIDATES
from index.classic.cursors import Cursors, satisfied
from index.classic.keys import EventKeys
from index.classic.literals import Posted
from index.classic.postings import Postings, build_postings
from index.classic.tree_engine import Plantation
from index.classic.tree_layout import PlaceArrays
from index.classic.tree_matcher import TreeMatcher
from index.engine import Parts
from index.kernel import kernel


def index_arrays(plants: Plantation, with_literals: bool = False) -> Arrays:
    """Return the parts of a segment: what `Plantation.arrays` returns, and the K-index.

    Conjunctions take the numbers that the K-index gives them. Weights are left to the trees.

    Parameters
    ----------
    plants
        The trees.
    with_literals
        Whether `Plantation.literal_arrays` belongs to the parts.
    """
    posted = [[Posted(literal, None) for literal in literals] for literals in plants.forest.conjunctions]
    postings, number = build_postings(plants.table, posted)
    arrays = plants.arrays() | (plants.literal_arrays(np.argsort(number)) if with_literals else {})
    conjunction = number[arrays["annotation_conjunction"]]
    place = np.argsort(conjunction, kind="stable")
    none = np.zeros(0)
    return (
        arrays
        | postings
        | {
            "weight": none,
            "list_high": none,
            "list_low": none,
            "annotation_conjunction": conjunction,
            "place_start": np.searchsorted(conjunction[place], np.arange(len(number) + 1)).astype(np.int64),
            "place": place.astype(np.int32),
        }
    )


class IndexedTreeMatcher(TreeMatcher):
    """Finds candidates by the K-index."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._postings = group(Postings, self.parts)
        self._places = group(PlaceArrays, self.parts)
        self._view: EventKeys | None = None
        self._cursors: Cursors | None = None
        self._conjunctions: Int32s = np.empty(len(self.parts["size"]), np.int32)
        self._annotations: Int32s = np.empty(len(self._places.place), np.int32)

    def find(self, view: EventKeys, event: int, found: Int32s) -> int:
        """See `index.classic.tree_matcher.TreeMatcher.find`."""
        annotations = self.true_annotations(self.true_conjunctions(view, event))
        return self.true_trees(view, event, annotations, found)

    def true_conjunctions(self, view: EventKeys, event: int) -> Int32s:
        """Return the conjunctions that are true for the event."""
        if self._view is not view or self._cursors is None:
            self._view, self._cursors = view, Cursors.of(self._postings, view)
        n = satisfied(event, view, self._postings, self._cursors, self.counts, self._conjunctions)
        return self._conjunctions[:n]

    def true_annotations(self, conjunctions: Int32s) -> Int32s:
        """Return where the conjunctions stand, sorted by tree and label."""
        n = gather_places(conjunctions, self._places, self.true_at, self.epoch, self._annotations)
        self.counts[CANDIDATES] += n
        found = self._annotations[:n]
        found.sort()
        return found

    @abstractmethod
    def true_trees(self, view: EventKeys, event: int, annotations: Int32s, found: Int32s) -> int:
        """Write the living trees that true annotations make true, ascending; return their number."""


@kernel
def gather_places(conjunctions, places, true_at, epoch, out):  # type: ignore[no-untyped-def]
    """Write and stamp the annotations of the conjunctions; return their number."""
    n = 0
    for conjunction in conjunctions:
        for i in range(places.place_start[conjunction], places.place_start[conjunction + 1]):
            annotation = places.place[i]
            out[n] = annotation
            true_at[annotation] = epoch
            n += 1
    return n
