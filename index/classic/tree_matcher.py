"""What the matchers of trees have in common: event by event, find the true trees, score them, keep the best."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from index.arrays import Int32s, Int64s, UInt8s, group, read_only
from index.classic.counters import Counters
from index.classic.keys import EventKeys, KeyReader
from index.classic.tree_layout import AnnotationArrays, ProgramArrays
from index.classic.tree_leaves import LeafArrays
from index.classic.tree_scoring import score_trees
from index.dead_marks import DeadMarks
from index.engine import Parts
from index.event_block import EventBlock
from index.matches import Matches, MatchRows
from index.score_frames import Frames


class TreeMatcher(ABC):
    """A segment of trees.

    Parameters
    ----------
    parts
        What `index.classic.tree_engine.TreeEngine.build` made.
    """

    def __init__(self, parts: Parts) -> None:
        parts = {name: read_only(parts, name) for name in parts}
        self.parts = parts
        self.keys = KeyReader(parts)
        self.annotations = group(AnnotationArrays, parts)
        self.trees = group(ProgramArrays, parts)
        self._leaves = group(LeafArrays, parts)
        self.frames = Frames.of(int(parts["tree_depth"][0]))
        self._found: Int32s = np.empty(self.count, np.int32)
        self._points: Int64s = np.empty(self.count, np.int64)
        self.is_dead: UInt8s = np.zeros(self.count, np.uint8)
        self._dead_marks = DeadMarks(self.is_dead)
        self.true_at: Int64s = np.zeros(len(self.annotations.annotation_tree), np.int64)
        self.epoch = 0
        self.counts: Int64s = np.zeros(len(Counters._fields), np.int64)

    @property
    def counters(self) -> Counters:
        """What has been done since the segment was opened."""
        return Counters(*self.counts.tolist())

    @property
    def count(self) -> int:
        """The number of subscriptions, dead ones included."""
        return len(self.trees.tree_points)

    @abstractmethod
    def find(self, view: EventKeys, event: int, found: Int32s) -> int:
        """Write the living trees that are true for the event, ascending; return their number.

        ``self.epoch`` is new for each event; ``self.true_at`` of every true annotation of a tree found that scores is
        set to it.
        """

    def match(self, block: EventBlock, dead: npt.NDArray[np.uint32] | None = None) -> Matches:
        """Match every event of the block; see `index.engine.Matcher.match`."""
        self._dead_marks.bury(dead)
        view = self.keys.view(block)
        found = [self._match(view, event, top) for event, top in enumerate(block.top.tolist())]
        return MatchRows.joined(found).matches(block.size)

    def _match(self, view: EventKeys, event: int, top: int) -> MatchRows:
        self.epoch += 1
        n = self.find(view, event, self._found)
        score_trees(
            event,
            self._found,
            n,
            self.trees,
            self._leaves,
            view,
            self.true_at,
            self.epoch,
            self.frames,
            self._points,
        )
        points = self._points[:n]
        # trees are ascending, so a stable order by score puts equal scores in the order of ordinals
        order = np.argsort(-points, kind="stable")[: top or None]
        return MatchRows(np.full(len(order), event, np.int32), self._found[order], points[order])
