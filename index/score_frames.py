"""Memory for scoring a program of connectives: the AND or OR at work in each frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.arrays import Int64s, UInt8s


class Frames(NamedTuple):
    """Connectives at work, by depth, each [deepest program + 1].

    Attributes
    ----------
    conjunction, truth
        uint8: whether it is an AND, and its truth so far.
    total
        int64: its score so far.
    """

    conjunction: UInt8s
    truth: UInt8s
    total: Int64s

    @classmethod
    def of(cls, depth: int) -> Frames:
        """Return frames for programs of this depth."""
        return cls(np.zeros(depth + 1, np.uint8), np.zeros(depth + 1, np.uint8), np.zeros(depth + 1, np.int64))
