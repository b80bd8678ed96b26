"""The block engine with its events matched in an order that nothing but a seed decides: no answer may hang on it."""

from __future__ import annotations

import numpy as np

from index.block.arrangement import Standing
from index.block.engine import BlockEngine
from index.block.layout import Int64s
from index.block.masks import Marks
from index.block.matcher import BlockMatcher
from index.engine import Parts


class ShuffledEngine(BlockEngine):
    """The engine; even a block of one chunk is matched in an order of its own."""

    def open(self, parts: Parts) -> BlockMatcher:
        """See `BlockEngine.open`."""
        matcher = super().open(parts)
        matcher._translator._arrangement = _Shuffle()  # type: ignore[assignment]
        return matcher


class _Shuffle:
    """Stands in for an arrangement."""

    def order(self, marks: Marks, standing: Standing, size: int) -> Int64s:
        events = len(marks.offsets) - 1
        return np.random.default_rng(events + size).permutation(events)
