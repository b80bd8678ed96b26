"""The results of `benchmarks.latency`: the figures, the table, and the picture of two batches."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import msgspec
from rich.console import Console
from rich.table import Table

matplotlib.use("Agg")
from matplotlib import pyplot

from benchmarks.kept import RESULTS, write, write_json
from benchmarks.picture import save
from benchmarks.time_line import PHASES, Batch

WANTED = "p50 at most 150 ms, p99 at most 400 ms, the first event after five idle minutes at most 500 ms"
SLOW = 0.99
"""The slow batch of the picture takes longer than this part of them."""

AFTER_COMMIT = ("delivery", "end")
"""Phases that begin together, at the commit."""


class Latency(msgspec.Struct):
    """Milliseconds from publish to the arrival of an event's first notification."""

    p50: float
    p90: float
    p99: float


class Phase(msgspec.Struct):
    """A row: milliseconds of a phase over the batches under load, and the least it takes."""

    name: str
    p50: float
    p99: float
    floor: float
    floor_found_by: str


class Result(msgspec.Struct):
    """What was measured, and with what.

    Attributes
    ----------
    latency, logged
        Of the job that was left alone, and of the one that wrote Spark's event log.
    single_event
        Median milliseconds of events that came one at a time to a job that was warm and had nothing else to do.
    after_idle
        Milliseconds of the event after ``idle_seconds`` without any; None where that was not measured.
    phases
        From the job that wrote the log.
    """

    subscriptions: int
    rate: float
    warm_up: float
    seconds: float
    latency: Latency
    logged: Latency
    single_event: float
    idle_seconds: float
    after_idle: float | None
    batches: int
    events_a_batch: float
    phases: list[Phase]


COLUMNS = ("phase", "median, ms", "p99, ms", "floor, ms", "floor found by")


def report(result: Result, batches: list[Batch], console: Console) -> None:
    """Print the table, and write ``latency.json``, ``latency.md`` and ``latency.png``."""
    table = Table(*COLUMNS, title=_heading(result))
    for row in _rows(result):
        table.add_row(*row)
    console.print(table)
    for name, value in _latencies(result):
        console.print(f"{name}: {value}")
    write_json(RESULTS / "latency.json", result)
    write(RESULTS / "latency.md", _markdown(result))
    by_total = sorted(batches, key=lambda batch: batch.total)
    chosen = {"a median batch": len(batches) // 2, "a slow batch (p99)": int(SLOW * (len(batches) - 1))}
    _draw({name: by_total[place] for name, place in chosen.items()}, RESULTS / "latency.png")


def _heading(result: Result) -> str:
    return (
        f"{result.rate:,.0f} events/s, {result.subscriptions:,} subscriptions: {result.batches:,} batches of "
        f"{result.events_a_batch:.0f} events"
    )


def _rows(result: Result) -> list[list[str]]:
    return [
        [phase.name, *(f"{value:.1f}" for value in (phase.p50, phase.p99, phase.floor)), phase.floor_found_by]
        for phase in result.phases
    ]


def _latencies(result: Result) -> list[tuple[str, str]]:
    def told(latency: Latency) -> str:
        return f"p50 {latency.p50:.0f}, p90 {latency.p90:.0f}, p99 {latency.p99:.0f} ms"

    rows = [
        ("the job left alone", told(result.latency)),
        ("the job that writes Spark's event log, whose phases these are", told(result.logged)),
        ("events one at a time, the job idle but for them", f"p50 {result.single_event:.0f} ms"),
    ]
    if result.after_idle is not None:
        rows.append((f"the first event after {result.idle_seconds:.0f} s without any", f"{result.after_idle:.0f} ms"))
    return rows


def _markdown(result: Result) -> str:
    lines = [
        "# From publish to notification, and where it goes",
        "",
        "How it is measured stands at the top of `benchmarks/latency.py`; broker, job, generator and consumer on one",
        f"machine. Wanted on two cores: {WANTED}.",
        "",
        f"`python -m benchmarks.latency --rate {result.rate:g} --subscriptions {result.subscriptions} "
        f"--warm-up {result.warm_up:g} --seconds {result.seconds:g} --idle {result.idle_seconds:g}`",
        "",
        "| from publish to delivery | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in _latencies(result)),
        "",
        f"{_heading(result)}. Medians and p99 are over batches, each phase by itself.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|---|---:|---:|---:|---|",
        *("| " + " | ".join(row) + " |" for row in _rows(result)),
        "",
        "![A median batch and a slow one](latency.png)",
    ]
    return "\n".join(lines) + "\n"


def _draw(batches: dict[str, Batch], file: Path) -> None:
    """Draw the phases of some batches one under the other, each from its beginning to its end."""
    figure, panels = pyplot.subplots(len(batches), 1, figsize=(11, 4.6 * len(batches)), squeeze=False)
    for axes, (name, batch) in zip(panels[:, 0], batches.items(), strict=True):
        at, committed = 0.0, sum(length for phase, length in batch.phases.items() if phase not in AFTER_COMMIT)
        for phase, length in batch.phases.items():
            start = committed if phase in AFTER_COMMIT else at
            axes.barh(PHASES[phase], length, left=start, color="tab:gray" if phase == "end" else "tab:blue")
            axes.text(start + length, PHASES[phase], f" {length:.1f}", va="center", fontsize=7)
            at += length
        axes.invert_yaxis()
        axes.tick_params(axis="y", labelsize=8)
        axes.set_xlabel("milliseconds since the oldest event of the batch was published")
        axes.set_title(f"{name}: {batch.events} events, {batch.total:.0f} ms to the arrival of the median one")
        axes.margins(x=0.08)
    figure.tight_layout()
    save(figure, file)
