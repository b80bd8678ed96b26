"""Figures 10 and 11: Dewey and Interval by the depth of the trees."""

from __future__ import annotations

from functools import cache
from typing import Any

from benchmarks.papers.exchange import Exchange
from benchmarks.papers.figure import Claim, Figure
from benchmarks.papers.fontoura2010.setting import (
    MEMORY,
    MS,
    NATURAL,
    PAPER,
    count,
    evaluation_lines,
    event_count,
    labels,
    memory,
    own,
    total_lines,
)
from benchmarks.papers.phases import Phases, phases
from benchmarks.papers.sweep import ratios, span


@cache
def _found() -> dict[tuple[str, float], Phases]:
    found = {}
    for depth in NATURAL:
        trees = Exchange(int(depth))
        subscriptions, events = trees.subscriptions(count()), trees.events(event_count())
        for name in ("dewey", "interval"):
            found[name, depth] = phases(name, subscriptions, events)
            print(f"  depth {depth}, {name}: {found[name, depth]}", flush=True)
    return found


def _setting() -> dict[str, Any]:
    found = {x: round(100 * p.matches / count(), 2) for x, p in own(_found(), "interval").items()}
    return {"match share (%)": found, "stated (%)": NATURAL}


def figure_10() -> Figure:
    """Total time by depth."""
    found = _found()
    dewey, interval, shared = lines = total_lines(found)
    part = [s / t for s, t in zip(shared.y, interval.y, strict=True)]
    claim, panel = memory(found, MEMORY, "table 2")
    return Figure(
        PAPER,
        10,
        f"total running time, {count():,} BEs",
        "depth",
        MS,
        lines,
        [
            Claim(
                "Index evaluation and sorting are most of the time, and Interval is the faster one.",
                f"{100 * min(part):.0f} to {100 * max(part):.0f} % of Interval's time; Dewey takes "
                f"{span(ratios(dewey, interval))} times as long as Interval.",
                min(part) > 0.4 and sum(dewey.y) > sum(interval.y),
                f"At depth 4 {labels(found, 4)}.",
            ),
            claim,
        ],
        setting=_setting(),
        panel=panel,
    )


def figure_11() -> Figure:
    """Evaluation by depth."""
    found = _found()
    dewey, interval = lines = evaluation_lines(found)
    above = ratios(dewey, interval)
    return Figure(
        PAPER,
        11,
        f"expression evaluation alone, {count():,} BEs",
        "depth",
        "evaluation (ms an event)",
        lines,
        [
            Claim(
                "Interval scales better with the depth than Dewey.",
                f"Dewey takes {', '.join(f'{r:.2f}' for r in above)} times as long, by depth; at depth 4 "
                f"{labels(found, 4)}.",
                above[-1] > 1 and above[-1] > above[0],
                "A label is one integer a level here, so a Dewey label costs few steps more than an interval.",
            )
        ],
        setting=_setting(),
    )
