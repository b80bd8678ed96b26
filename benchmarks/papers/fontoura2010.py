"""Figures 7 to 14 of Fontoura et al., "Efficiently Evaluating Complex Boolean Expressions", SIGMOD 2010, section 5.

Trees are matched as they are written: the paper's trees have conjunctions side by side below an AND, which the normal
form would join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from math import prod

from benchmarks.papers.exchange import Exchange, statistics
from benchmarks.papers.figure import Claim, Figure, Line
from benchmarks.papers.phases import Phases, phases
from benchmarks.papers.sweep import Point, ratios, sized, span, sweep
from index.block.engine import BlockEngine
from index.classic.dewey import Dewey
from index.classic.interval import Interval
from index.classic.tree_conjunction_scan import ConjunctionScan
from index.classic.tree_expansion import DnfExpansion
from index.classic.tree_scan import TreeScan
from index.engine import Engine
from schemas.expression import And, Expression, In

PAPER = "fontoura2010"
MS = "running time (ms an event)"
NATURAL = {1: 22.85, 2: 57.97, 3: 10.97, 4: 49.23}
"""Match share by depth, table 3, in percent."""
MEMORY = {1: 9.5, 2: 18, 3: 35, 4: 70}
"""Memory of Dewey and Interval by depth, table 2, in MB."""
BES = {10: 1.1, 20: 2.0, 50: 4.7, 100: 9.1, 150: 14}
"""Memory of Dewey and Interval by thousands of BEs, table 4, in MB."""

FAST: dict[str, Callable[[], Engine]] = {
    "block": BlockEngine,
    "interval": lambda: Interval(as_written=True),
    "dewey": lambda: Dewey(as_written=True),
    "dnf-expansion": DnfExpansion,
}
SCANS: dict[str, Callable[[], Engine]] = {
    "conjunction-scan": lambda: ConjunctionScan(as_written=True),
    "tree-scan": lambda: TreeScan(as_written=True),
}


def _count() -> int:
    return sized(10_000, 200_000)


def _events() -> int:
    return sized(100, 2000)


def figure_07() -> Figure:
    """Average size of a DNF-expanded BE, by depth."""
    depths = (1, 2, 3)
    sizes = []
    for depth in depths:
        expanded = [_expanded(s.expression) for s in Exchange(depth).subscriptions(20)]
        sizes.append(sum(4 * literals + 4 * count for count, literals in expanded) / len(expanded) / 1000)
    growth = [b / a for a, b in pairwise(sizes)]
    return Figure(
        PAPER,
        7,
        "average size of a DNF-expanded BE, 20 trees a depth",
        "depth",
        "size (KB; 4 bytes a literal and a conjunction)",
        [Line("expanded", [float(d) for d in depths], sizes)],
        [
            Claim(
                "The size grows exponentially with the depth.",
                f"times {growth[0]:.1f}, then times {growth[1]:.1f}.",
                min(growth) > 2,
                "An odd depth ends in ANDs, which make conjunctions longer, but not more of them.",
            ),
            Claim(
                "From depth 1 to 2 the memory of DNF expansion grows from 55 to 501 MB (table 2), 9.1 times.",
                f"{growth[0]:.1f} times.",
                4 < growth[0] < 40,
            ),
        ],
    )


def _expanded(node: Expression) -> tuple[int, int]:
    """Return how many conjunctions a tree has when multiplied out, and how many literals they have together."""
    if isinstance(node, In):
        return 1, 1
    parts = [_expanded(arg) for arg in node.args]  # type: ignore[union-attr]
    if not isinstance(node, And):
        return sum(count for count, _ in parts), sum(literals for _, literals in parts)
    count = prod(count for count, _ in parts)
    return count, sum(literals * count // own for own, literals in parts)


@cache
def _by_algorithm() -> tuple[list[Line], dict[float, float], list[str], str]:
    """Return the lines of figures 8 and 9, match shares, refusals, and the workload's statistics."""

    def points() -> Iterator[Point]:
        for depth in (1, 2):
            trees = Exchange(depth)
            yield Point(depth, trees.subscriptions(_count()), trees.events(_events()))

    swept = sweep(FAST | SCANS, points())
    found = statistics(Exchange(2).subscriptions(2000))
    shares = {x: round(100 * n / _count(), 2) for x, n in swept.matches.items()}
    return swept.lines, shares, swept.refused, found


def figure_08() -> Figure:
    """All algorithms, depths 1 and 2."""
    lines, shares, refused, found = _by_algorithm()
    by = {line.name: line for line in lines}
    above = [r for scan in SCANS for r in ratios(by[scan], by["interval"])]
    return Figure(
        PAPER,
        8,
        f"all algorithms, {_count():,} BEs",
        "depth",
        MS,
        lines,
        [
            Claim(
                "Scan and Scan with conjunction match take orders of magnitude longer than the other algorithms.",
                f"{span(above)} times as long as Interval.",
                min(above) > 10,
                "Between a tenth and two thirds of all trees match here, as in table 3, so any algorithm touches most "
                "trees; and our scans run over flat arrays, where the paper's walk trees of objects.",
            )
        ],
        setting={"workload": found, "match share (%)": shares, "stated (%)": NATURAL, "refused": refused},
    )


def figure_09() -> Figure:
    """DNF expansion, Dewey and Interval, depths 1 and 2."""
    lines, shares, refused, found = _by_algorithm()
    by = {line.name: line for line in lines if line.name not in SCANS}
    above = ratios(by["dnf-expansion"], by["interval"])
    return Figure(
        PAPER,
        9,
        f"DNF expansion, Dewey and Interval, {_count():,} BEs",
        "depth",
        MS,
        list(by.values()),
        [
            Claim(
                "At depth 1 DNF expansion is as good as Dewey and Interval.",
                f"{above[0]:.2f} times as long as Interval.",
                above[0] < 1.3,
                "Its conjunctions are whole trees, of which few are alike.",
            ),
            Claim(
                "At depth 2 DNF expansion does not scale.",
                f"{above[-1]:.2f} times as long as Interval.",
                above[-1] > 2,
                "The K-index skips most of the conjunctions that multiplying out makes.",
            ),
        ],
        setting={"workload": found, "match share (%)": shares, "stated (%)": NATURAL, "refused": refused},
    )


@cache
def _by_depth() -> dict[tuple[str, int], Phases]:
    found = {}
    for depth in NATURAL:
        trees = Exchange(depth)
        subscriptions, events = trees.subscriptions(_count()), trees.events(_events())
        for name in ("dewey", "interval"):
            found[name, depth] = phases(name, subscriptions, events)
            print(f"  depth {depth}, {name}: {found[name, depth]}", flush=True)
    return found


@cache
def _by_number() -> dict[tuple[str, int], Phases]:
    trees = Exchange(2, never=0.1)
    numbers = [sized(100 * thousands, 1000 * thousands) for thousands in BES]
    everyone = trees.subscriptions(numbers[-1])
    events = trees.events(_events())
    found = {}
    for count in numbers:
        for name in ("dewey", "interval"):
            found[name, count] = phases(name, everyone[:count], events)
            print(f"  {count:,} BEs, {name}: {found[name, count]}", flush=True)
    return found


def _total_lines(found: dict[tuple[str, int], Phases]) -> list[Line]:
    lines = []
    for name in ("dewey", "interval"):
        own = {x: p for (of, x), p in found.items() if of == name}
        lines.append(Line(f"{name}, total", [float(x) for x in own], [p.total for p in own.values()]))
    own = {x: p for (of, x), p in found.items() if of == "interval"}
    lines.append(Line("index and sorting", [float(x) for x in own], [p.lookup + p.sorting for p in own.values()]))
    return lines


def _evaluation_lines(found: dict[tuple[str, int], Phases]) -> list[Line]:
    lines = []
    for name in ("dewey", "interval"):
        own = {x: p for (of, x), p in found.items() if of == name}
        lines.append(Line(name, [float(x) for x in own], [p.evaluation for p in own.values()]))
    return lines


def _memory(found: dict[tuple[str, int], Phases], published: dict[int, float]) -> Claim:
    """Compare the growth of the segments with that of the published table."""
    sizes = [p.size / 1e6 for (name, _), p in found.items() if name == "interval"]
    ours, theirs = sizes[-1] / sizes[0], list(published.values())[-1] / next(iter(published.values()))
    return Claim(
        f"Memory grows from {next(iter(published.values()))} to {list(published.values())[-1]} MB, {theirs:.1f} times.",
        f"{', '.join(f'{size:.1f}' for size in sizes)} MB, {ours:.1f} times.",
        0.5 < ours / theirs < 2,
        "Fixed costs weigh more in small segments.",
    )


def figure_10() -> Figure:
    """Total time by depth."""
    found = _by_depth()
    dewey, interval, shared = lines = _total_lines(found)
    part = [s / t for s, t in zip(shared.y, interval.y, strict=True)]
    return Figure(
        PAPER,
        10,
        f"total running time, {_count():,} BEs",
        "depth",
        MS,
        lines,
        [
            Claim(
                "Index evaluation and sorting are most of the time, and Interval is the faster one.",
                f"{100 * min(part):.0f} to {100 * max(part):.0f} % of Interval's time; Dewey takes "
                f"{span(ratios(dewey, interval))} times as long as Interval.",
                min(part) > 0.4 and sum(dewey.y) > sum(interval.y),
                "Runs on a shared machine differ by more than the two algorithms do.",
            ),
            _memory(found, MEMORY),
        ],
        setting=_shares(found, _count()),
    )


def figure_11() -> Figure:
    """Evaluation by depth."""
    found = _by_depth()
    dewey, interval = lines = _evaluation_lines(found)
    above = ratios(dewey, interval)
    return Figure(
        PAPER,
        11,
        f"expression evaluation alone, {_count():,} BEs",
        "depth",
        "evaluation (ms an event)",
        lines,
        [
            Claim(
                "Interval scales better with the depth than Dewey.",
                f"Dewey takes {', '.join(f'{r:.2f}' for r in above)} times as long, by depth.",
                above[-1] > 1 and above[-1] > above[0],
                "Labels are integers here and short, so a Dewey label costs few steps more than an interval.",
            )
        ],
        setting=_shares(found, _count()),
    )


def figure_12() -> Figure:
    """Total time by number of BEs."""
    found = _by_number()
    dewey, interval, _ = lines = _total_lines(found)
    growth = interval.y[-1] / interval.y[0]
    return Figure(
        PAPER,
        12,
        "total running time, depth 2",
        "number of BEs",
        MS,
        lines,
        [
            Claim(
                "Time grows with the number of BEs, about linearly; Interval is the faster one.",
                f"15 times as many BEs take {growth:.1f} times as long; Dewey takes {span(ratios(dewey, interval))} "
                "times as long as Interval.",
                4 < growth < 30 and sum(dewey.y) > sum(interval.y),
                "Runs on a shared machine differ by more than the two algorithms do.",
            ),
            _memory(found, BES),
        ],
        log_x=True,
        setting={"match share (%), stated 50": {x: round(100 * p.matches / x, 2) for (_, x), p in found.items()}},
    )


def figure_13() -> Figure:
    """Evaluation by number of BEs."""
    found = _by_number()
    dewey, interval = lines = _evaluation_lines(found)
    above = ratios(dewey, interval)
    return Figure(
        PAPER,
        13,
        "expression evaluation alone, depth 2",
        "number of BEs",
        "evaluation (ms an event)",
        lines,
        [
            Claim(
                "Interval scales better with the number of BEs than Dewey.",
                f"Dewey takes {', '.join(f'{r:.2f}' for r in above)} times as long, by number.",
                min(above) > 1,
                "Labels are integers here and short, so a Dewey label costs few steps more than an interval.",
            )
        ],
        log_x=True,
        setting={"match share (%), stated 50": {x: round(100 * p.matches / x, 2) for (_, x), p in found.items()}},
    )


def figure_14() -> Figure:
    """Evaluation by match share: trees that match no event take the place of others."""
    found: dict[tuple[str, float], Phases] = {}
    for never in (0.9, 0.7, 0.5, 0.25, 0.0):
        trees = Exchange(3, never=never)
        subscriptions, events = trees.subscriptions(_count()), trees.events(_events())
        for name in ("dewey", "interval"):
            measured = phases(name, subscriptions, events)
            found[name, round(100 * measured.matches / _count(), 2)] = measured
    lines = []
    for name in ("dewey", "interval"):
        own = {x: p for (of, x), p in found.items() if of == name}
        lines.append(Line(name, list(own), [p.evaluation for p in own.values()]))
    slope = [(line.y[-1] - line.y[0]) / (line.x[-1] - line.x[0]) for line in lines]
    halfway = [_halfway(line) for line in lines]
    return Figure(
        PAPER,
        14,
        f"expression evaluation alone, depth 3, {_count():,} BEs",
        "match share (%)",
        "evaluation (ms an event)",
        lines,
        [
            Claim(
                "Both scale linearly with the match share, Interval better.",
                f"{slope[0]:.3g} and {slope[1]:.3g} ms a percent; halfway the lines are {halfway[0]:.2f} and "
                f"{halfway[1]:.2f} of the way up.",
                all(0.3 < part < 0.7 for part in halfway) and slope[0] > slope[1],
                "Trees that cannot match have true conjunctions too, so what is evaluated hardly follows the matches.",
            )
        ],
        log_y=False,
    )


def _halfway(line: Line) -> float:
    """Return how far up a line is in the middle of its x, by interpolation; 0.5 for a straight one."""
    middle = (line.x[0] + line.x[-1]) / 2
    i = next(i for i in range(1, len(line.x)) if line.x[i] >= middle)
    share = (middle - line.x[i - 1]) / (line.x[i] - line.x[i - 1])
    return (line.y[i - 1] + share * (line.y[i] - line.y[i - 1]) - line.y[0]) / (line.y[-1] - line.y[0])


def _shares(found: dict[tuple[str, int], Phases], count: int) -> dict[str, dict[int, float]]:
    return {
        "match share (%)": {x: round(100 * p.matches / count, 2) for (_, x), p in found.items()},
        "stated (%)": NATURAL,
    }


FIGURES: dict[int, Callable[[], Figure]] = {
    7: figure_07,
    8: figure_08,
    9: figure_09,
    10: figure_10,
    11: figure_11,
    12: figure_12,
    13: figure_13,
    14: figure_14,
}
