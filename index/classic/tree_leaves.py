"""The leaves by which trees score, in columns: an ``in`` with its weights is one leaf wherever it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from index.arrays import Arrays, Float64s, Int32s, Int64s
from index.classic.keys import KeyTable
from index.classic.literals import Posted
from index.slices import starts_of


class LeafArrays(NamedTuple):
    """Leaves that score.

    Attributes
    ----------
    leaf_start, leaf_key, leaf_weight
        int64 [leaves + 1], int32, float64: a leaf's keys, ascending, and their weights.
    """

    leaf_start: Int64s
    leaf_key: Int32s
    leaf_weight: Float64s


class LeafTable:
    """Numbers leaves in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[Posted, int] = {}

    def numbers(self, leaves: Iterable[Posted]) -> list[int]:
        """Return the leaves' numbers."""
        known = self._numbers
        return [known.setdefault(leaf, len(known)) for leaf in leaves]

    def arrays(self, table: KeyTable) -> Arrays:
        """Return the parts of `LeafArrays`."""
        keys = [table.keys(leaf.literal >> 1) for leaf in self._numbers]
        start = starts_of(map(len, keys), len(keys))
        weights = [weight for leaf in self._numbers for weight in leaf.weights or ()]
        return {
            "leaf_start": start,
            "leaf_key": np.concatenate([np.zeros(0, np.int32), *keys]),
            "leaf_weight": np.array(weights, np.float64),
        }
