"""Figures 7 to 9: the size of expanded trees, and all algorithms at depths 1 and 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from math import prod

from benchmarks.papers.exchange import Exchange, statistics
from benchmarks.papers.figure import Claim, Figure, Line, Published
from benchmarks.papers.fontoura2010.setting import EXPANDED, MS, NATURAL, PAPER, count, event_count
from benchmarks.papers.reasons import each
from benchmarks.papers.sweep import Point, Swept, ratios, span, sweep
from index.block.engine import BlockEngine
from index.classic.dewey import Dewey
from index.classic.interval import Interval
from index.classic.tree_conjunction_scan import ConjunctionScan
from index.classic.tree_expansion import DnfExpansion
from index.classic.tree_scan import TreeScan
from index.engine import Engine
from schemas.expression import And, Expression, In

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


def figure_07() -> Figure:
    """Average size of a DNF-expanded BE, by depth."""
    depths = (1, 2, 3)
    sizes = []
    for depth in depths:
        expanded = [_expanded(s.expression) for s in Exchange(depth).subscriptions(20)]
        sizes.append(sum(4 * literals + 4 * count for count, literals in expanded) / len(expanded) / 1000)
    growth = [b / a for a, b in pairwise(sizes)]
    published = EXPANDED[2] / EXPANDED[1]
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
                f"From depth 1 to 2 the memory of DNF expansion grows from {EXPANDED[1]} to {EXPANDED[2]} MB "
                f"(table 2), {published:.1f} times.",
                f"{growth[0]:.1f} times.",
                4 < growth[0] < 40,
                "The sizes of conjunctions are not printed, and longer ones make the growth steeper.",
            ),
        ],
        [Published("table 2, times 9.1", 2, sizes[0] * published, sizes[0] * published, "table 2")],
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
def _by_algorithm() -> tuple[Swept, dict[str, object]]:
    """Return the lines of figures 8 and 9, and their setting."""

    def points() -> Iterator[Point]:
        for depth in (1, 2):
            trees = Exchange(depth)
            yield Point(depth, trees.subscriptions(count()), trees.events(event_count()))

    swept = sweep(FAST | SCANS, points())
    setting: dict[str, object] = {
        "workload": statistics(Exchange(2).subscriptions(2000)),
        "match share (%)": {x: round(100 * n / count(), 2) for x, n in swept.matches.items()},
        "stated (%)": NATURAL,
        "refused": swept.refused,
    }
    return swept, setting


def figure_08() -> Figure:
    """All algorithms, depths 1 and 2."""
    swept, setting = _by_algorithm()
    above = [r for scan in SCANS for r in ratios(swept.of(scan), swept.of("interval"))]
    scan, interval = swept.at("tree-scan", 2), swept.at("interval", 2)
    return Figure(
        PAPER,
        8,
        f"all algorithms, {count():,} BEs",
        "depth",
        MS,
        swept.lines,
        [
            Claim(
                "Scan and Scan with conjunction match take orders of magnitude longer than the other algorithms.",
                f"{span(above)} times as long as Interval.",
                min(above) > 10,
                f"At depth 2 {100 * scan.matches / count():.0f} % of all trees match. Scan visits each tree once, "
                f"{each(scan, 'candidates'):.0f} ns each over flat arrays; Interval reads {interval.work['read']:,.0f} "
                f"entries of posting lists and evaluates {interval.work['candidates']:,.0f} places of true "
                f"conjunctions, {interval.work['candidates'] / count():.1f} a tree, for the same answer: "
                f"{1e6 * interval.ms / count():.0f} ns a tree. A scan ten times as slow would pay "
                f"{1e7 * interval.ms / count():,.0f} ns.",
            )
        ],
        setting=setting,
    )


def figure_09() -> Figure:
    """DNF expansion, Dewey and Interval, depths 1 and 2."""
    swept, setting = _by_algorithm()
    above = ratios(swept.of("dnf-expansion"), swept.of("interval"))
    expanded, interval = swept.at("dnf-expansion", 1), swept.at("interval", 1)
    return Figure(
        PAPER,
        9,
        f"DNF expansion, Dewey and Interval, {count():,} BEs",
        "depth",
        MS,
        [swept.of(name) for name in FAST],
        [
            Claim(
                "At depth 1 DNF expansion is as good as Dewey and Interval.",
                f"{above[0]:.2f} times as long as Interval.",
                above[0] < 1.3,
                f"At depth 1 a tree is an AND of conjunctions, so expansion indexes whole trees, {expanded.indexed:,} "
                f"distinct ones of {count():,}, and reads {expanded.work['read']:,.0f} entries an event; Interval "
                f"indexes their parts, of which many are alike, and reads {interval.work['read']:,.0f}.",
            ),
            Claim(
                "At depth 2 DNF expansion does not scale.",
                f"{above[-1]:.2f} times as long as Interval.",
                above[-1] > 2,
                f"It reads {swept.at('dnf-expansion', 2).work['read']:,.0f} entries an event, Interval "
                f"{swept.at('interval', 2).work['read']:,.0f}.",
            ),
        ],
        setting=setting,
    )
