"""Figures 12 and 13: Dewey and Interval by the number of trees."""

from __future__ import annotations

from functools import cache
from typing import Any

from benchmarks.papers.exchange import Exchange
from benchmarks.papers.figure import Claim, Figure
from benchmarks.papers.fontoura2010.setting import (
    BES,
    MS,
    PAPER,
    evaluation_lines,
    event_count,
    labels,
    memory,
    own,
    total_lines,
)
from benchmarks.papers.phases import Phases, phases
from benchmarks.papers.sweep import ratios, sized, span

NEVER = 0.1
"""Share of trees that cannot match, for the match share of 50 % that the paper keeps."""


def _numbers() -> list[int]:
    return [sized(200 * thousands, 1000 * thousands) for thousands in BES]


@cache
def _found() -> dict[tuple[str, float], Phases]:
    trees = Exchange(2, never=NEVER)
    everyone = trees.subscriptions(_numbers()[-1])
    events = trees.events(event_count())
    found = {}
    for count in _numbers():
        for name in ("dewey", "interval"):
            found[name, float(count)] = phases(name, everyone[:count], events)
            print(f"  {count:,} BEs, {name}: {found[name, count]}", flush=True)
    return found


def _setting() -> dict[str, Any]:
    shares = {f"{x:,.0f}": round(100 * p.matches / x, 2) for x, p in own(_found(), "interval").items()}
    return {"match share (%), stated 50": shares}


def figure_12() -> Figure:
    """Total time by number of BEs."""
    found = _found()
    dewey, interval, _ = lines = total_lines(found)
    growth = interval.y[-1] / interval.y[0]
    claim, panel = memory(found, dict(zip(map(float, _numbers()), BES.values(), strict=True)), "table 4")
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
                f"With the most, {labels(found, interval.x[-1])}.",
            ),
            claim,
        ],
        log_x=True,
        setting=_setting(),
        panel=panel,
    )


def figure_13() -> Figure:
    """Evaluation by number of BEs."""
    found = _found()
    dewey, interval = lines = evaluation_lines(found)
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
                f"Dewey takes {', '.join(f'{r:.2f}' for r in above)} times as long, by number; with the most, "
                f"{labels(found, interval.x[-1])}.",
                min(above) > 1,
                "A label is one integer a level here, so a Dewey label costs few steps more than an interval.",
            )
        ],
        log_x=True,
        setting=_setting(),
    )
