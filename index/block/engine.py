"""The block engine behind the contract of `index.engine`; `README.md` tells how it works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from index.block.builder import build_parts
from index.block.matcher import BlockMatcher
from index.block.spans import Words
from index.engine import Parts
from index.observed.statistics import EventStatistics
from schemas.records import Subscription


class BlockEngine:
    """The default engine.

    Parameters
    ----------
    words
        W for all blocks; None chooses by the number of events.
    """

    name = "block"
    uses_statistics: Literal[True] = True

    def __init__(self, words: Words | None = None) -> None:
        self._words = words

    def build(self, subscriptions: Sequence[Subscription], statistics: EventStatistics | None = None) -> Parts:
        """Build a segment's arrays; see `index.engine.EstimatingEngine.build`."""
        return build_parts(subscriptions, statistics)

    def open(self, parts: Parts) -> BlockMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return BlockMatcher(parts, self._words)
