"""Sizes of a run, and the sweep that every figure is: workloads by x, engines by name, one line for each engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.papers.figure import Line
from benchmarks.papers.measure import Timed, build, match
from index.engine import Engine
from schemas.errors import Refused
from schemas.records import Event, Subscription

FULL = os.environ.get("FULL") == "1"
"""Whether the papers' own sizes are run."""


SHRINK = int(os.environ.get("SHRINK", "1"))
"""What sizes are divided by, to try the commands out."""


def sized(usual: int, full: int) -> int:
    """Return the size of this run."""
    return max(10, (full if FULL else usual) // SHRINK)


class Point(NamedTuple):
    """One workload of a sweep; ``x`` is its place on the axis."""

    x: float
    subscriptions: Sequence[Subscription]
    events: Sequence[Event]


class Swept(NamedTuple):
    """What a sweep found.

    Attributes
    ----------
    lines
        Milliseconds an event, by engine.
    matches
        By x, matches an event.
    refused
        Sentences about engines that took no part in a point.
    """

    lines: list[Line]
    matches: dict[float, float]
    refused: list[str]

    def of(self, name: str) -> Line:
        """Return an engine's line."""
        return next(line for line in self.lines if line.name == name)


def sweep(engines: Mapping[str, Callable[[], Engine]], points: Iterable[Point], top: int = 0) -> Swept:
    """Time every engine at every point; segments live one at a time.

    All engines must find as many matches, else the figure would compare different things.
    """
    found: dict[str, Line] = {name: Line(name, [], []) for name in engines}
    matches: dict[float, float] = {}
    refused: list[str] = []
    for point in points:
        for name, make in engines.items():
            timed = _timed(make(), point, top)
            if isinstance(timed, str):
                refused.append(f"{name} at {point.x:g}: {timed}")
                continue
            if matches.setdefault(point.x, timed.matches) != timed.matches:
                raise AssertionError(f"{name} finds {timed.matches} matches an event, others {matches[point.x]}")
            found[name].x.append(point.x)
            found[name].y.append(timed.ms)
            print(f"  x = {point.x:g}, {name}: {timed.ms:.4g} ms an event, {timed.matches:g} matches", flush=True)
    return Swept(list(found.values()), matches, refused)


def _timed(engine: Engine, point: Point, top: int) -> Timed | str:
    try:
        built = build(engine, point.subscriptions)
    except Refused as refusal:
        return refusal.message
    return match(built.matcher, point.events, top)


def ratios(upper: Line, lower: Line) -> list[float]:
    """Return by how much one line lies above another, where both have a point."""
    below = dict(zip(lower.x, lower.y, strict=True))
    return [y / below[x] for x, y in zip(upper.x, upper.y, strict=True) if x in below]


def span(values: Sequence[float]) -> str:
    """Return the extent of some ratios."""
    return f"{min(values):.2f} to {max(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}"
