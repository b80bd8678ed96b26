"""Slices of flat arrays, as starts and lengths: where each begins, and the indices of what stands in some of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


def starts_of(lengths: Iterable[int] | npt.NDArray[np.integer], count: int) -> Int64s:
    """Return the running sum of the lengths, of which there are ``count``, from 0."""
    starts = np.zeros(count + 1, np.int64)
    known = lengths if isinstance(lengths, np.ndarray) else np.fromiter(lengths, np.int64, count)
    np.cumsum(known, out=starts[1:])
    return starts


def places_of(starts: npt.NDArray[np.integer], lengths: npt.NDArray[np.integer]) -> Int64s:
    """Return the indices of the slices that begin at ``starts`` and have these lengths, one slice after the other."""
    ends = np.cumsum(lengths, dtype=np.int64)
    places: Int64s = np.arange(int(lengths.sum())) + np.repeat(starts - (ends - lengths), lengths)
    return places
