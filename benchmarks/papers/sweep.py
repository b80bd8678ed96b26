"""Runs engines over a sweep of workloads, and compares their lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.compare.engines import WrongAnswer
from benchmarks.papers.figure import Line
from benchmarks.papers.measure import build, match, work
from index.engine import Engine
from schemas.errors import Refused
from schemas.records import Event, Subscription

FULL = os.environ.get("FULL") == "1"
"""Whether the papers' own sizes are run."""


def _shrink(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not int(text):
        raise SystemExit(f"SHRINK={text} is not a whole number, at least 1, by which sizes could be divided")
    return int(text)


SHRINK = _shrink(os.environ.get("SHRINK", "1"))
"""What sizes are divided by, to try the commands out."""


def sized(usual: int, full: int) -> int:
    """Return the size of this run."""
    return max(10, (full if FULL else usual) // SHRINK)


class Point(NamedTuple):
    """One workload of a sweep; ``x`` is its place on the axis."""

    x: float
    subscriptions: Sequence[Subscription]
    events: Sequence[Event]


class Measured(NamedTuple):
    """What an engine did at a point.

    Attributes
    ----------
    ms, matches
        Milliseconds and matches an event.
    work
        The engine's counters, an event: `index.classic.counters.Counters` by name; empty for one that does not count.
    indexed
        Distinct conjunctions or expressions in its posting lists, 0 for an engine without.
    """

    ms: float
    matches: float
    work: dict[str, float]
    indexed: int


class Swept(NamedTuple):
    """What a sweep found.

    Attributes
    ----------
    found
        By engine and top, what was found at each x.
    refused
        Sentences about engines that took no part in a point.
    """

    found: dict[tuple[str, int], dict[float, Measured]]
    refused: list[str]

    def of(self, name: str, top: int = 0) -> Line:
        """Return an engine's line."""
        own = self.found[name, top]
        called = f"{name}, best {top}" if top else name
        return Line(called, list(own), [measured.ms for measured in own.values()])

    @property
    def lines(self) -> list[Line]:
        """The lines of all engines."""
        return [self.of(*key) for key in self.found]

    @property
    def matches(self) -> dict[float, float]:
        """By x, matches an event, which all engines agree on."""
        return {x: m.matches for (_, top), own in self.found.items() if not top for x, m in own.items()}

    def at(self, name: str, x: float, top: int = 0) -> Measured:
        """Return what an engine did at a point."""
        return self.found[name, top][x]


def sweep(engines: Mapping[str, Callable[[], Engine]], points: Iterable[Point], tops: Sequence[int] = (0,)) -> Swept:
    """Time every engine at every point, for each ``top``; segments live one at a time.

    All engines must find as many matches, else the figure would compare different things.
    """
    swept = Swept({(name, top): {} for name in engines for top in tops}, [])
    for point in points:
        for name, make in engines.items():
            try:
                built = build(make(), point.subscriptions)
            except Refused as refusal:
                swept.refused.append(f"{name} at {point.x:g}: {refusal.message}")
                continue
            for top in tops:
                timed = match(built.matcher, point.events, top)
                agreed = [own[point.x].matches for (_, t), own in swept.found.items() if t == top and point.x in own]
                if agreed and agreed[0] != timed.matches:
                    raise WrongAnswer(f"{name} finds {timed.matches} matches an event, others {agreed[0]}")
                done = work(built.matcher, point.events, top)
                swept.found[name, top][point.x] = Measured(timed.ms, timed.matches, done, built.indexed)
                found = f"{timed.ms:.4g} ms an event, {timed.matches:g} matches"
                print(f"  x = {point.x:g}, top {top}, {name}: {found}", flush=True)
    return swept


def ratios(upper: Line, lower: Line) -> list[float]:
    """Return by how much one line lies above another, where both have a point."""
    below = dict(zip(lower.x, lower.y, strict=True))
    return [y / below[x] for x, y in zip(upper.x, upper.y, strict=True) if x in below]


def span(values: Sequence[float]) -> str:
    """Return the extent of some ratios."""
    return f"{min(values):.2f} to {max(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}"
