"""Scan with conjunction match: the operator trees are evaluated that have a true conjunction by the K-index.

Fontoura et al., "Efficiently Evaluating Complex Boolean Expressions" (SIGMOD 2010), section 5.2. Time for an event is
that of the K-index, plus n log n for the n places of true conjunctions, plus the sizes of the trees they stand in;
memory is that of the index and of all operator trees. It expresses all trees of mode ``all``, but no value tests
(patterns, ``within``).
"""

from __future__ import annotations

import numpy as np

from index.arrays import Arrays, Int32s
from index.classic.keys import EventKeys
from index.classic.tree_engine import Plantation, TreeEngine
from index.classic.tree_index import IndexedTreeMatcher, index_arrays
from index.classic.tree_scan import Scanner
from index.classic.tree_scan_kernel import distinct_trees
from index.engine import Parts


class ConjunctionScan(TreeEngine):
    """The engine ``conjunction-scan``."""

    name = "conjunction-scan"
    keeps_all = True

    def arrays(self, plants: Plantation) -> Arrays:
        """See `index.classic.tree_engine.TreeEngine.arrays`."""
        return index_arrays(plants, with_literals=True)

    def open(self, parts: Parts) -> ConjunctionScanMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return ConjunctionScanMatcher(parts)


class ConjunctionScanMatcher(IndexedTreeMatcher):
    """Evaluates the operator trees that have a true conjunction."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._scanner = Scanner(self)
        self._candidates: Int32s = np.empty(self.count, np.int32)

    def true_trees(self, view: EventKeys, event: int, annotations: Int32s, found: Int32s) -> int:
        """See `index.classic.tree_index.IndexedTreeMatcher.true_trees`."""
        n = distinct_trees(annotations, self.annotations.annotation_tree, self._candidates)
        return self._scanner.scan(view, event, self._candidates[:n], found)
