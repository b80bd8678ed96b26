"""The results of `benchmarks.latency`: the figures, the table, and the picture of two batches."""

from __future__ import annotations

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.kept import RESULTS, write, write_json
from benchmarks.picture import draw_time_lines
from benchmarks.time_line import Batch

WANTED = "p50 at most 150 ms, p99 at most 400 ms, the first event after five idle minutes at most 500 ms"
SLOW = 0.99
"""The slow batch of the picture takes longer than this part of them."""


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
    draw_time_lines({name: by_total[place] for name, place in chosen.items()}, RESULTS / "latency.png")


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
