"""Cutting a task's answers into pieces: each has a bound of rows, and one of bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

ROWS_AT_ONCE = 20_000
"""Rows of a piece: their ids, labels and values are held as objects."""

BYTES_AT_ONCE = 8_000_000
"""Bytes of a piece, unless one row has more. Arrow's binary columns end at two gigabytes, which notifications with the
bodies of their events would soon have."""


def pieces(sizes: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield where pieces of rows of these sizes begin and end, in order."""
    ends = np.cumsum(sizes)
    start = done = 0
    while start < len(ends):
        fitting = int(np.searchsorted(ends, done + BYTES_AT_ONCE, side="right"))
        stop = min(max(fitting, start + 1), start + ROWS_AT_ONCE, len(ends))
        yield start, stop
        start, done = stop, int(ends[stop - 1])
