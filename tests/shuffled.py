"""The block engine, events matched in an order and in chunks that a seed decides: no answer may hang on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from index.block.arrangement import Order, Standing
from index.block.engine import BlockEngine
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

    def order(self, marks: Marks, standing: Standing, sizes: Sequence[int]) -> Order:
        events, size = len(marks.offsets) - 1, sizes[0]
        rng = np.random.default_rng(events + size)
        cuts = [0]
        while cuts[-1] < events:
            cuts.append(min(events, cuts[-1] + int(rng.integers(1, size, endpoint=True))))
        return Order(rng.permutation(events), np.array(cuts), True)
