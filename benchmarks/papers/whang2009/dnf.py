"""Figures 14 to 17: the DNF algorithm, Le Subscribe, SIFT and SCAN over DNFs of several kinds."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.papers import contracts
from benchmarks.papers.figure import Claim, Figure, Line, Published
from benchmarks.papers.reasons import against_counting, against_propagation, by_x, each, reading, verifying
from benchmarks.papers.sweep import Point, Swept, ratios, sized, span, sweep
from benchmarks.papers.whang2009.setting import DNF_ENGINES, MS, PAPER, dnf_count, event_count, marks, shares
from benchmarks.workloads.ads import ATTRIBUTES
from index.engines import ENGINES


def figure_14() -> Figure:
    """Selectivity impact."""
    count = dnf_count()
    found: list[Point] = []

    def points() -> Iterator[Point]:
        for months in (12, 6, 4, 3, 2, 1):
            ads = contracts.dnf(months=months)
            found[:] = [Point(months, ads.subscriptions(count), ads.events(event_count()))]
            yield found[0]

    swept = sweep(DNF_ENGINES, points())
    share = shares(swept, count)
    lines = [Line(line.name, [share[x] for x in line.x], line.y) for line in swept.lines]
    dnf, sift, subscribe = (swept.of(name) for name in ("kindex-dnf", "counting", "propagation"))
    growth, other = dnf.y[-1] / dnf.y[0], subscribe.y[-1] / subscribe.y[0]
    above = ratios(sift, dnf)
    return Figure(
        PAPER,
        14,
        f"selectivity impact, {count:,} DNF BEs",
        "match probability (%)",
        MS,
        lines,
        [
            Claim(
                "SIFT takes 11.2 to 20.9 times as long as the DNF algorithm.",
                f"{span(above)} times as long.",
                min(above) > 4,
                f"With 12 months, {against_counting(swept, 12, 11.2)}",
            ),
            Claim(
                "With the match probability the DNF algorithm's time grows less than Le Subscribe's.",
                f"times {growth:.1f} against {other:.1f}.",
                growth < other,
                f"With one month, {against_propagation(swept, 1)}",
            ),
            Claim(
                "At the lowest match probability Le Subscribe is faster than the DNF algorithm.",
                f"{subscribe.y[0]:.3g} ms against {dnf.y[0]:.3g} ms.",
                subscribe.y[0] < dnf.y[0],
                f"With 12 months, {against_propagation(swept, 12)}",
            ),
        ],
        marks("SIFT / DNF 11.2 to 20.9", next(x for x in lines if x.name == "kindex-dnf"), 11.2, 20.9, "section 7.1"),
        setting={
            "workload": contracts.dnf_statistics(found[0].subscriptions[:20_000], found[0].events),
            "match probability by months": share,
        },
    )


def figure_15() -> Figure:
    """High dimension impact."""
    count = dnf_count()

    def points() -> Iterator[Point]:
        for dimension in (20, 50, 100, 300, ATTRIBUTES):
            ads = contracts.dnf(dimension=dimension)
            yield Point(dimension, ads.subscriptions(count), ads.events(event_count()))

    swept = sweep(DNF_ENGINES, points())
    dnf, subscribe = swept.of("kindex-dnf"), swept.of("propagation")
    indexed = {x: swept.at("kindex-dnf", x).indexed for x in dnf.x}
    entries = {x: swept.at("kindex-dnf", x).work["entries"] for x in dnf.x}
    return Figure(
        PAPER,
        15,
        f"dimension impact, {count:,} DNF BEs",
        "number of attribute names",
        MS,
        swept.lines,
        [
            Claim(
                "The DNF algorithm gets faster with fewer dimensions, since fewer conjunctions are distinct.",
                f"{dnf.y[0]:.3g} ms with {dnf.x[0]:g} names, {dnf.y[-1]:.3g} ms with {dnf.x[-1]:g}.",
                dnf.y[0] < dnf.y[-1],
                f"Distinct conjunctions by names: {by_x(indexed)}; entries of an event's lists: {by_x(entries)}. What "
                "is saved by equal conjunctions is less than what is added by the entries of the few names, which "
                f"every event has: with the fewest {reading(swept, 'kindex-dnf', dnf.x[0])}, with the most "
                f"{reading(swept, 'kindex-dnf', dnf.x[-1])}.",
            ),
            Claim(
                "Le Subscribe runs slightly slower with fewer dimensions.",
                f"{subscribe.y[0]:.3g} ms with the fewest, {subscribe.y[-1]:.3g} ms with the most.",
                subscribe.y[0] > subscribe.y[-1],
                _clusters(swept, subscribe.x),
            ),
        ],
        log_x=True,
        setting={"match probability": shares(swept, count), "distinct conjunctions": indexed},
    )


def _clusters(swept: Swept, xs: list[float]) -> str:
    found = [
        verifying(swept, "propagation", x, "conjunctions", swept.at("propagation", x).indexed)
        for x in xs[:: len(xs) - 1]
    ]
    return f"With the fewest names {found[0]}; with the most {found[1]}."


def figure_16() -> Figure:
    """BE size impact."""
    count = dnf_count()

    def points() -> Iterator[Point]:
        for exponent, size in contracts.EXPONENTS.items():
            ads = contracts.dnf(exponent=exponent)
            yield Point(size, ads.subscriptions(count), ads.events(event_count()))

    swept = sweep(DNF_ENGINES, points())
    small, large = min(contracts.EXPONENTS.values()), max(contracts.EXPONENTS.values())
    growth = {line.name: line.y[-1] / line.y[0] for line in swept.lines}
    published = {"kindex-dnf": 1.9, "propagation": 4.3, "counting": 2.1}

    def grown(name: str, counter: str) -> float:
        return swept.at(name, large).work[counter] / swept.at(name, small).work[counter]

    def why(name: str) -> str:
        counter = "candidates" if name == "propagation" else "read"
        what = "conjunctions it verifies" if name == "propagation" else "entries it reads"
        first, last = swept.at(name, small), swept.at(name, large)
        return (
            f"The {what} grow {grown(name, counter):.2f} times, the distinct conjunctions "
            f"{last.indexed / first.indexed:.2f} times, the price of each from {each(first, counter):.0f} to "
            f"{each(last, counter):.0f} ns; the paper does not say what makes its figure another."
        )

    return Figure(
        PAPER,
        16,
        f"DNF size impact, {count:,} DNF BEs",
        "average DNF size",
        MS,
        swept.lines,
        [
            Claim(
                f"As the size grows 2.19 times, `{name}` takes {times} times as long.",
                f"{growth[name]:.1f} times.",
                0.75 < growth[name] / times < 1.33,
                why(name),
            )
            for name, times in published.items()
        ],
        [
            Published(f"{name}, times {times}", large, first * times, first * times, "section 7.1")
            for name, times in published.items()
            for first in (swept.of(name).y[0],)
        ],
        setting={"match probability": shares(swept, count)},
    )


def figure_17() -> Figure:
    """DNF scalability."""
    whole = sized(100_000, 1_000_000)
    sizes = [part * (whole // 5) for part in range(1, 6)]
    ads = contracts.dnf()
    everyone, events = ads.subscriptions(sizes[-1]), ads.events(event_count())
    engines = DNF_ENGINES | {"scan": ENGINES["scan"]}
    swept = sweep(engines, (Point(size, everyone[:size], events) for size in sizes))
    dnf, last = swept.of("kindex-dnf"), sizes[-1]
    sift, subscribe, scan = (ratios(swept.of(name), dnf) for name in ("counting", "propagation", "scan"))
    return Figure(
        PAPER,
        17,
        "DNF scalability",
        "number of DNF BEs",
        MS,
        swept.lines,
        [
            Claim(
                "Le Subscribe takes 1.58 to 2.97 times as long as the DNF algorithm.",
                f"{span(subscribe)} times.",
                min(subscribe) > 1.0,
                f"With {last:,} DNFs, {against_propagation(swept, last)}",
            ),
            Claim(
                "SIFT takes 11.2 to 20.5 times as long as the DNF algorithm.",
                f"{span(sift)} times.",
                min(sift) > 4,
                f"With {last:,} DNFs, {against_counting(swept, last, 11.2)}",
            ),
            Claim(
                "SCAN takes up to two orders of magnitude longer.",
                f"{span(scan)} times.",
                max(scan) > 10,
                f"With {last:,} DNFs, {verifying(swept, 'scan', last, 'DNFs', last)}: trees are words of one "
                f"array, and end at their first false literal; {reading(swept, 'kindex-dnf', last)}.",
            ),
        ],
        marks("SIFT / DNF 11.2 to 20.5", dnf, 11.2, 20.5, "section 7.1")
        + marks("Le Subscribe / DNF 1.58 to 2.97", dnf, 1.58, 2.97, "section 7.1"),
        setting={"match probability": shares(swept)},
    )
