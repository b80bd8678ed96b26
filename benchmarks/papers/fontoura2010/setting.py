"""What the figures of this paper share: sizes, the numbers of its tables, lines of phases, and claims about memory."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.papers.figure import Claim, Line, Panel, Published
from benchmarks.papers.phases import Phases
from benchmarks.papers.sweep import sized

PAPER = "fontoura2010"
MS = "running time (ms an event)"
NATURAL: dict[float, float] = {1: 22.85, 2: 57.97, 3: 10.97, 4: 49.23}
"""Match share by depth, table 3, in percent."""
MEMORY: dict[float, float] = {1: 9.5, 2: 18, 3: 35, 4: 70}
"""Memory of Dewey and Interval by depth, table 2, in MB."""
EXPANDED = {1: 55, 2: 501}
"""Memory of DNF expansion by depth, table 2, in MB."""
BES = {10: 1.1, 20: 2.0, 50: 4.7, 100: 9.1, 150: 14}
"""Memory of Dewey and Interval by thousands of BEs, table 4, in MB."""

Found = Mapping[tuple[str, float], Phases]
"""By engine and place on the axis, what was found."""


def count() -> int:
    """Return how many BEs there are."""
    return sized(20_000, 200_000)


def event_count() -> int:
    """Return how many events there are."""
    return sized(100, 2000)


def own(found: Found, name: str) -> dict[float, Phases]:
    """Return an engine's phases by place on the axis."""
    return {x: phases for (of, x), phases in found.items() if of == name}


def total_lines(found: Found) -> list[Line]:
    """Return the total time of both algorithms, and what they share."""
    lines = [
        _line(f"{name}, total", {x: p.total for x, p in own(found, name).items()}) for name in ("dewey", "interval")
    ]
    shared = {x: p.lookup + p.sorting for x, p in own(found, "interval").items()}
    return [*lines, _line("index and sorting", shared)]


def evaluation_lines(found: Found) -> list[Line]:
    """Return the time of the evaluation alone of both algorithms."""
    return [_line(name, {x: p.evaluation for x, p in own(found, name).items()}) for name in ("dewey", "interval")]


def _line(name: str, values: Mapping[float, float]) -> Line:
    return Line(name, list(values), list(values.values()))


def labels(found: Found, x: float) -> str:
    """Return what the two algorithms have to evaluate at one place, in words."""
    dewey, interval = found["dewey", x], found["interval", x]
    return (
        f"{interval.places:,.0f} places of true conjunctions an event are evaluated, by Dewey at "
        f"{1e6 * dewey.evaluation / max(dewey.places, 1.0):.0f} ns each, by Interval at "
        f"{1e6 * interval.evaluation / max(interval.places, 1.0):.0f} ns"
    )


def memory(found: Found, published: Mapping[float, float], table: str) -> tuple[Claim, Panel]:
    """Compare the growth of the segments with that of a published table, by place on the axis, in MB."""
    lines = [_line(name, {x: p.size / 1e6 for x, p in own(found, name).items()}) for name in ("dewey", "interval")]
    ours = lines[1].y[-1] / lines[1].y[0]
    values = list(published.values())
    theirs = values[-1] / values[0]
    # in the paper's unit, at our sizes: the published growth, from our first point on
    scale = lines[1].y[0] / values[0]
    marks = [
        Published(f"{table}, in our first point's unit", x, value * scale, value * scale, table)
        for x, value in published.items()
    ]
    claim = Claim(
        f"Memory grows from {values[0]} to {values[-1]} MB, {theirs:.1f} times ({table}).",
        f"{', '.join(f'{size:.1f}' for size in lines[1].y)} MB, {ours:.1f} times.",
        0.5 < ours / theirs < 2,
        f"A segment holds dictionaries too, {lines[1].y[0]:.1f} MB in all at the first point.",
    )
    return claim, Panel("memory (MB)", lines, marks)
