"""What the figures of this paper share: sizes, engines, names, and published ratios as marks."""

from __future__ import annotations

from benchmarks.papers.figure import Line, Published
from benchmarks.papers.sweep import Swept, sized
from index.engines import ENGINES

PAPER = "whang2009"
MS = "matching time (ms an event)"
DNF_ENGINES = {name: ENGINES[name] for name in ("block", "kindex-dnf", "propagation", "counting")}


def dnf_count() -> int:
    """Return how many DNFs there are."""
    return sized(60_000, 1_000_000)


def cnf_count() -> int:
    """Return how many CNFs the ranking is measured over."""
    return sized(24_000, 400_000)


def event_count() -> int:
    """Return how many events there are."""
    return sized(100, 1000)


def shares(swept: Swept, count: int | None = None) -> dict[float, float]:
    """Return by x what share of the subscriptions matches an event, in percent; without a count x is their number."""
    return {x: round(100 * found / (count or x), 2) for x, found in swept.matches.items()}


def marks(name: str, base: Line, low: float, high: float, source: str) -> list[Published]:
    """Return a published ratio to the line as marks over it."""
    return [Published(name, x, y * low, y * high, source) for x, y in zip(base.x, base.y, strict=True)]
