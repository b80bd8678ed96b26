"""Scan: every operator tree is evaluated for every event.

Fontoura et al., "Efficiently Evaluating Complex Boolean Expressions" (SIGMOD 2010), section 5.2. Time for an event is
in proportion to the number of trees and, at worst, of their literals, whatever matches; memory to that of the
literals. It expresses all trees of mode ``all``, but no value tests (patterns, ``within``).
"""

from __future__ import annotations

import numpy as np

from index.arrays import Arrays, Int32s, Int64s, group
from index.classic import tree_scan_kernel as kernels
from index.classic.counters import CANDIDATES
from index.classic.keys import EventKeys
from index.classic.tree_engine import Plantation, TreeEngine
from index.classic.tree_matcher import TreeMatcher
from index.classic.tree_scan_kernel import LiteralArrays
from index.engine import Parts


class TreeScan(TreeEngine):
    """The engine ``tree-scan``."""

    name = "tree-scan"
    keeps_all = True

    def arrays(self, plants: Plantation) -> Arrays:
        """See `index.classic.tree_engine.TreeEngine.arrays`."""
        return plants.arrays() | plants.literal_arrays()

    def open(self, parts: Parts) -> TreeScanMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return TreeScanMatcher(parts)


class TreeScanMatcher(TreeMatcher):
    """Evaluates all operator trees."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._scanner = Scanner(self)
        first = np.searchsorted(self.annotations.annotation_tree, np.arange(self.count + 1))
        self._first_annotation: Int64s = first.astype(np.int64)
        self._everyone: Int32s = np.arange(self.count, dtype=np.int32)

    def find(self, view: EventKeys, event: int, found: Int32s) -> int:
        """See `index.classic.tree_matcher.TreeMatcher.find`."""
        self.counts[CANDIDATES] += self.count
        n = self._scanner.scan(view, event, self._everyone, found)
        self._scanner.mark_true(found[:n], self._first_annotation)
        return n


class Scanner:
    """Evaluates operator trees of a matcher's segment, with memory for one event at a time."""

    def __init__(self, matcher: TreeMatcher) -> None:
        self._matcher = matcher
        self._literals = group(LiteralArrays, matcher.parts)
        self._held: Int64s = np.zeros(matcher.keys.count, np.int64)
        self._ends: Int64s = np.zeros(int(matcher.parts["tree_depth"][0]) + 1, np.int64)

    def scan(self, view: EventKeys, event: int, candidates: Int32s, found: Int32s) -> int:
        """Write the living true trees among the candidates, in their order; return their number."""
        matcher = self._matcher
        kernels.hold(event, view.start, view.key, self._held, matcher.epoch)
        memory = (self._held, matcher.epoch, matcher.frames, self._ends)
        count: int = kernels.scan(
            candidates, matcher.is_dead, matcher.trees, matcher.annotations, self._literals, *memory, found
        )
        return count

    def mark_true(self, found: Int32s, first: Int64s) -> None:
        """Stamp the true annotations of trees found that score; tree t's annotations begin at ``first[t]``."""
        matcher = self._matcher
        scores = matcher.trees.tree_scores
        kernels.mark_true(
            found, scores, first, matcher.annotations, self._literals, self._held, matcher.epoch, matcher.true_at
        )
