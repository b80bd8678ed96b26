"""Dewey matching of trees: true leaves, sorted by their Dewey labels, are evaluated bottom-up without the tree.

Fontoura et al., "Efficiently Evaluating Complex Boolean Expressions" (SIGMOD 2010), section 3. Time for an event is
that of the K-index, plus n log n for the n places of true conjunctions, plus the sum of their labels' lengths
(theorem 2); matched trees whose score is not constant cost their size once more. A label takes an integer for each
level, so memory grows with the depth. It expresses all trees of mode ``all``, but no value tests (patterns,
``within``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from index.classic.arrays import Int32s, group
from index.classic.dewey_kernel import LabelArrays, OpenNodes, true_trees
from index.classic.dewey_labels import dewey_labels
from index.classic.keys import EventKeys
from index.classic.tree_engine import plant
from index.classic.tree_forms import TreeReader
from index.classic.tree_index import IndexedTreeMatcher, index_arrays
from index.engine import Parts
from schemas.records import Subscription


class Dewey:
    """The engine ``dewey``.

    Parameters
    ----------
    as_written
        See `index.classic.tree_forms.TreeReader`.
    """

    name = "dewey"

    def __init__(self, as_written: bool = False) -> None:
        self._as_written = as_written

    def check(self, subscription: Subscription) -> None:
        """See `index.engine.SelectiveEngine.check`."""
        TreeReader(self.name, self._as_written).read(subscription)

    def build(self, subscriptions: Sequence[Subscription]) -> Parts:
        """Build a segment's arrays; see `index.engine.Engine.build`."""
        plants = plant(self.name, subscriptions, keep_all=False, as_written=self._as_written)
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
