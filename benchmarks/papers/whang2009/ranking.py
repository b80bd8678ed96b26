"""Figure 19: the ranking algorithms, all matches against the best five."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.papers import contracts
from benchmarks.papers.figure import Claim, Figure, Line, Published
from benchmarks.papers.reasons import each
from benchmarks.papers.sweep import Point, Swept, ratios, sweep
from benchmarks.papers.whang2009.setting import MS, PAPER, cnf_count, dnf_count, event_count, shares
from index.engines import ENGINES

BEST = 5
MONTHS = (12, 6, 3, 2, 1)


def figure_19() -> Figure:
    """Ranking algorithms."""
    counts = {"kindex-dnf": dnf_count(), "kindex-cnf": cnf_count()}
    swept = {name: sweep({name: ENGINES[name]}, _points(name, count), (0, BEST)) for name, count in counts.items()}
    share = {name: shares(swept[name], count) for name, count in counts.items()}
    lines = {
        (name, top): Line(line.name, [share[name][x] for x in line.x], line.y)
        for name in counts
        for top in (0, BEST)
        for line in (swept[name].of(name, top),)
    }
    gain = {name: [r - 1 for r in ratios(swept[name].of(name), swept[name].of(name, BEST))] for name in counts}
    return Figure(
        PAPER,
        19,
        f"ranking, {counts['kindex-dnf']:,} DNF and {counts['kindex-cnf']:,} CNF BEs, best {BEST}",
        "match probability (%)",
        MS,
        list(lines.values()),
        [
            Claim(
                "DNF ranking is 19 % slower at the lowest match probability and 11 % faster at the highest.",
                f"{100 * gain['kindex-dnf'][0]:+.0f} % and {100 * gain['kindex-dnf'][-1]:+.0f} % faster.",
                gain["kindex-dnf"][0] < 0 < gain["kindex-dnf"][-1],
                f"{_pruned(swept['kindex-dnf'], 'kindex-dnf', 12)} {_pruned(swept['kindex-dnf'], 'kindex-dnf', 1)}",
            ),
            Claim(
                "CNF ranking is 35 to 45 % faster than the CNF algorithm, more so with more matches.",
                f"{100 * min(gain['kindex-cnf']):+.0f} to {100 * max(gain['kindex-cnf']):+.0f} %.",
                min(gain["kindex-cnf"]) > 0 and gain["kindex-cnf"][-1] >= gain["kindex-cnf"][0],
                f"{_pruned(swept['kindex-cnf'], 'kindex-cnf', 12)} {_pruned(swept['kindex-cnf'], 'kindex-cnf', 1)}",
            ),
        ],
        _marks(lines["kindex-dnf", 0], {0: 1.19, -1: 1 / 1.11}, "DNF ranking, +19 % and -11 %")
        + _marks(lines["kindex-cnf", 0], {0: 1 / 1.35, -1: 1 / 1.45}, "CNF ranking, -35 % and -45 %"),
        setting={"match probability": share},
    )


def _points(name: str, count: int) -> Iterator[Point]:
    for months in MONTHS:
        plain = contracts.dnf(months=months)
        events = contracts.weighted_events(plain.events(event_count()))
        shape = plain.subscriptions(count) if name == "kindex-dnf" else contracts.cnf(plain.subscriptions(count))
        yield Point(months, contracts.weighted(shape, events), events)


def _marks(line: Line, factors: dict[int, float], name: str) -> list[Published]:
    """Return published times of the ranking, as ratios to our line without it."""
    return [
        Published(name, line.x[i], line.y[i] * factor, line.y[i] * factor, "section 7.3")
        for i, factor in factors.items()
    ]


def _pruned(swept: Swept, name: str, months: float) -> str:
    """Say what the ranking reads and skips, beside the algorithm without it."""
    every, best = swept.at(name, months), swept.at(name, months, BEST)
    sizes = f", {best.work['skipped_sizes']:.1f} sizes" if name == "kindex-dnf" else ""
    return (
        f"With {months:g} months the ranking reads {100 * best.work['read'] / max(every.work['read'], 1.0):.0f} % of "
        f"the {every.work['read']:,.0f} entries that the algorithm without it reads, verifies "
        f"{best.work['candidates']:,.0f} instead of {every.work['candidates']:,.0f}, and skips "
        f"{best.work['skipped_by_list']:,.0f} pivots{sizes}, at {each(best, 'read'):.0f} instead of "
        f"{each(every, 'read'):.0f} ns an entry read."
    )
