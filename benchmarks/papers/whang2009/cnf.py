"""Figure 18: the CNF algorithm, PSCAN and SCAN over CNFs."""

from __future__ import annotations

from benchmarks.papers import contracts
from benchmarks.papers.figure import Claim, Figure
from benchmarks.papers.reasons import reading, verifying
from benchmarks.papers.sweep import Point, ratios, sized, span, sweep
from benchmarks.papers.whang2009.setting import MS, PAPER, event_count, marks, shares
from index.engines import ENGINES

MONTHS = 7
"""Months of the workload: the match probability nearest to the paper's 5.16 %."""


def figure_18() -> Figure:
    """CNF scalability."""
    whole = sized(100_000, 1_000_000)
    sizes = [part * (whole // 5) for part in range(1, 6)]
    ads = contracts.dnf(months=MONTHS)
    everyone, events = contracts.cnf(ads.subscriptions(sizes[-1])), ads.events(event_count())
    engines = {name: ENGINES[name] for name in ("block", "kindex-cnf", "pscan", "scan")}
    swept = sweep(engines, (Point(size, everyone[:size], events) for size in sizes))
    cnf, last = swept.of("kindex-cnf"), sizes[-1]
    pscan, scan = ratios(swept.of("pscan"), cnf), ratios(swept.of("scan"), cnf)
    verified = swept.at("kindex-cnf", last).work["candidates"]
    why = (
        f"With {last:,} CNFs, {reading(swept, 'kindex-cnf', last)}, and it verifies {verified:,.0f} CNFs "
        f"({100 * verified / last:.0f} %) by their counters, each of which looks at all lists that hold the CNF."
    )
    return Figure(
        PAPER,
        18,
        "CNF scalability",
        "number of CNF BEs",
        MS,
        swept.lines,
        [
            Claim(
                "PSCAN takes 1.9 to 2.6 times as long as the CNF algorithm.",
                f"{span(pscan)} times.",
                min(pscan) > 1.5,
                f"{why} {verifying(swept, 'pscan', last, 'CNFs', last)}.",
            ),
            Claim(
                "SCAN takes 10.5 to 12.7 times as long as the CNF algorithm.",
                f"{span(scan)} times.",
                min(scan) > 4,
                f"{why} {verifying(swept, 'scan', last, 'CNFs', last)}, since a flat tree ends at its first false "
                "disjunction.",
            ),
        ],
        marks("SCAN / CNF 10.5 to 12.7", cnf, 10.5, 12.7, "section 7.2")
        + marks("PSCAN / CNF 1.9 to 2.6", cnf, 1.9, 2.6, "section 7.2"),
        setting={"workload": contracts.cnf_statistics(everyone[:20_000]), "match probability": shares(swept)},
    )
