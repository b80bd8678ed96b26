"""Interval matching of trees: a tree is true when true leaves' intervals cover its whole line without overlap.

Fontoura et al., "Efficiently Evaluating Complex Boolean Expressions" (SIGMOD 2010), section 4. Time for an event is
that of the K-index, plus n log n for the n places of true conjunctions, plus two probes for each of them (theorem 5);
matched trees whose score is not constant cost their size once more. A label is two integers at any depth. It
expresses all trees of mode ``all``, but no value tests (patterns, ``within``).
"""

from __future__ import annotations

import numpy as np

from index.arrays import Arrays, Int32s, Int64s, group
from index.classic.interval_kernel import IntervalArrays, true_trees
from index.classic.interval_labels import interval_labels
from index.classic.keys import EventKeys
from index.classic.tree_engine import Plantation, TreeEngine
from index.classic.tree_index import IndexedTreeMatcher, index_arrays
from index.engine import Parts


class Interval(TreeEngine):
    """The engine ``interval``."""

    name = "interval"

    def arrays(self, plants: Plantation) -> Arrays:
        """See `index.classic.tree_engine.TreeEngine.arrays`."""
        return index_arrays(plants) | interval_labels(plants.trees)

    def open(self, parts: Parts) -> IntervalMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return IntervalMatcher(parts)


class IntervalMatcher(IndexedTreeMatcher):
    """Evaluates true leaves by their intervals."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._intervals = group(IntervalArrays, self.parts)
        most = int(self._intervals.tree_leaves.max(initial=0))
        self._matched: Int64s = np.zeros(most + 1, np.int64)
        self._marks: Int64s = np.zeros(1, np.int64)

    def true_trees(self, view: EventKeys, event: int, annotations: Int32s, found: Int32s) -> int:
        """See `index.classic.tree_index.IndexedTreeMatcher.true_trees`."""
        count: int = true_trees(
            annotations,
            self.annotations.annotation_tree,
            self.is_dead,
            self._intervals,
            self._matched,
            self._marks,
            found,
        )
        return count
