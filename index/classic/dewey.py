"""Dewey matching of trees: true leaves, sorted by their Dewey labels, are evaluated bottom-up without the tree.

Fontoura et al., "Efficiently Evaluating Complex Boolean Expressions" (SIGMOD 2010), section 3. Time for an event is
that of the K-index, plus n log n for the n places of true conjunctions, plus the sum of their labels' lengths
(theorem 2); matched trees whose score is not constant cost their size once more. A label takes an integer for each
level, so memory grows with the depth. It expresses all trees of mode ``all``, but no value tests (patterns,
``within``).
"""

from __future__ import annotations

import numpy as np

from index.arrays import Arrays, Int32s, group
from index.classic.dewey_kernel import LabelArrays, OpenNodes, true_trees
from index.classic.dewey_labels import dewey_labels
from index.classic.keys import EventKeys
from index.classic.tree_engine import Plantation, TreeEngine
from index.classic.tree_index import IndexedTreeMatcher, index_arrays
from index.engine import Parts


class Dewey(TreeEngine):
    """The engine ``dewey``."""

    name = "dewey"

    def arrays(self, plants: Plantation) -> Arrays:
        """See `index.classic.tree_engine.TreeEngine.arrays`."""
        return index_arrays(plants) | dewey_labels(plants.trees)

    def open(self, parts: Parts) -> DeweyMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return DeweyMatcher(parts)


class DeweyMatcher(IndexedTreeMatcher):
    """Evaluates true leaves by their Dewey labels."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._labels = group(LabelArrays, self.parts)
        depth = int(self.parts["label_depth"][0]) + 1
        self._nodes = OpenNodes(np.zeros(depth, np.uint8), np.zeros(depth, np.int32), np.zeros(depth, np.uint8))

    def true_trees(self, view: EventKeys, event: int, annotations: Int32s, found: Int32s) -> int:
        """See `index.classic.tree_index.IndexedTreeMatcher.true_trees`."""
        count: int = true_trees(
            annotations, self.annotations.annotation_tree, self.is_dead, self._labels, self._nodes, found
        )
        return count
