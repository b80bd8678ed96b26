"""Vectorised random draws that the generators share: one stream a purpose, distinct draws a row, weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from schemas.values import SCORE_SCALE

Int64s = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Return a generator of its own for a purpose, so that more subscriptions do not change the events."""
    return np.random.default_rng([seed, *purpose.encode()])


def popularity(count: int) -> Doubles:
    """Return probabilities proportional to 1 / rank."""
    share = 1.0 / np.arange(1, count + 1)
    return np.asarray(share / share.sum())


def draw(rng: np.random.Generator, probability: Doubles, shape: tuple[int, ...]) -> Int64s:
    """Draw indices by their probabilities, with replacement."""
    cumulated = np.cumsum(probability)
    cumulated[-1] = 1.0
    return np.searchsorted(cumulated, rng.random(shape), side="right")


def first_distinct(drawn: npt.NDArray[Any], wanted: Int64s) -> Bools:
    """Return a mask of each row's first ``wanted`` distinct entries; fewer where a row does not have as many."""
    order = np.argsort(drawn, axis=1, kind="stable")
    ordered = np.take_along_axis(drawn, order, axis=1)
    repeated = np.zeros(drawn.shape, np.bool_)
    repeated[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    first = np.empty(drawn.shape, np.bool_)
    np.put_along_axis(first, order, ~repeated, axis=1)
    taken: Bools = first & (np.cumsum(first, axis=1) <= wanted[:, None])
    return taken


def weights(rng: np.random.Generator, kind: str, count: int) -> Doubles:
    """Return positive multiples of 1 / SCORE_SCALE: ``uniform`` in (0, 1], or ``zipf``, one of 1 / 1 to 1 / 100."""
    raw = rng.random(count) if kind == "uniform" else 1.0 / rng.integers(1, 101, count)
    return np.asarray(np.maximum(np.rint(raw * SCORE_SCALE), 1.0) / SCORE_SCALE, np.float64)


def starts(lengths: npt.NDArray[Any]) -> Int64s:
    """Return where slices of these lengths begin when they stand one after the other, and where the last ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
