"""How long from publish to notification at a steady rate, where does a batch's time go, and what is the floor?

Workload: the demo's flights (seed 2013) against generated subscriptions, the five best matches an event; broker, job,
generator and consumer share the machine. Two jobs, one after the other. The first one is left alone: after a warm-up,
latency at the rate (arrival at a read_committed consumer minus the record's timestamp, first notification of each
event), and, after ``--idle`` seconds in which nothing is published, the latency of one event. The second writes Spark's
event log and a line each batch, from which the time lines come; what that costs is seen by its latency beside the first
one's. After its load, events one at a time and transactions of a producer alone give the floor of each phase.

Command: ``python -m benchmarks.latency [--rate 1000] [--subscriptions 100000] [--warm-up 60] [--seconds 60]
[--idle 300]``
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.command import amount, amount_or_none, count, parser, run
from benchmarks.flights import Standing, flights, standing
from benchmarks.floor import transaction_floor
from benchmarks.kept import require_folder
from benchmarks.latency_report import Latency, Phase, Result, report
from benchmarks.time_line import PHASES, Batch, log_settings, read_batches
from stream.demo.workload import Workload

SINGLE_EVENTS = 40
SINGLE_PAUSE = 0.25
ANSWER_SECONDS = 10.0
CANDIDATES = 20
"""One of so many flights matches something."""

ONE_EVENT = "batches of one event in an idle job"
ALONE = "transactions of one record by a producer alone"


@dataclass(frozen=True)
class TimeLine:
    """What the second job gave: its batches under load, those of one event, and the floor of a transaction."""

    latency: Latency
    loaded: list[Batch]
    single: list[Batch]
    transaction: dict[str, float]


def main() -> None:
    """Measure, print the table, and write it, the figures and the picture to ``benchmarks/results``."""
    options = _options()
    require_folder()
    console = Console(width=150)
    workload = flights(options.subscriptions, console)
    with standing(workload, options.subscriptions, console) as it:
        latency = _steady(it, options, console)
        idle = _after_idle(it, workload, options.idle, console) if options.idle else None
    line = _time_line(workload, options, console)
    phases = [_phase(name, line) for name in PHASES]
    result = Result(
        subscriptions=options.subscriptions,
        rate=options.rate,
        warm_up=options.warm_up,
        seconds=options.seconds,
        latency=latency,
        logged=line.latency,
        single_event=float(np.median([batch.total for batch in line.single])),
        idle_seconds=options.idle,
        after_idle=idle,
        batches=len(line.loaded),
        events_a_batch=float(np.mean([batch.events for batch in line.loaded])),
        phases=phases,
    )
    report(result, line.loaded, console)


def _steady(it: Standing, options: argparse.Namespace, console: Console) -> Latency:
    console.print(f"warming up for {options.warm_up:g} s, then {options.rate:,g} events/s for {options.seconds:g} s")
    it.load.steady(options.rate, options.warm_up)
    began, ended = it.load.steady(options.rate, options.seconds)
    it.job.await_lag(0)
    time.sleep(1)  # the last notifications are on their way
    p50, p90, p99 = np.percentile(it.clock.latencies(began, ended), (50, 90, 99))
    console.print(f"  p50 {p50:.0f} ms, p90 {p90:.0f} ms, p99 {p99:.0f} ms")
    return Latency(float(p50), float(p90), float(p99))


def _after_idle(it: Standing, workload: Workload, seconds: float, console: Console) -> float:
    """Return the milliseconds until an event is answered that comes after a time without events."""
    body = _matching(it, workload)
    console.print(f"publishing nothing for {seconds:g} s")
    time.sleep(seconds)
    milliseconds = _single(it, body)
    assert milliseconds is not None, "the event was answered before, and is not answered now"
    console.print(f"  the next event was answered after {milliseconds:.0f} ms")
    return milliseconds


def _matching(it: Standing, workload: Workload) -> bytes:
    """Return an event that matches something."""
    return next(body for body in workload.bodies[:CANDIDATES] if _single(it, body) is not None)


def _single(it: Standing, body: bytes) -> float | None:
    """Publish one event; return the milliseconds until its answer, None when there is none."""
    known = len(it.clock.arrivals)
    it.load.one(body)
    answer = it.clock.await_next(known, ANSWER_SECONDS)
    return None if answer is None else 1000 * (answer.arrived - answer.published)


def _time_line(workload: Workload, options: argparse.Namespace, console: Console) -> TimeLine:
    """Run the second job."""
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-log-") as name:
        log, trace = Path(name) / "spark", Path(name) / "trace.jsonl"
        log.mkdir()
        settings = log_settings(log)
        with standing(workload, options.subscriptions, console, *settings, trace=trace) as it:
            latency = _steady(it, options, console)
            singles_from = time.time()
            body = _matching(it, workload)
            for _ in range(SINGLE_EVENTS):
                time.sleep(SINGLE_PAUSE)
                _single(it, body)
            floor = transaction_floor(it.job.settings)
        batches = read_batches(log, trace, it.clock.arrivals, it.job.settings.topics.events)
    loaded_from = singles_from - options.seconds - 1
    return TimeLine(
        latency,
        [batch for batch in batches if loaded_from <= batch.began < singles_from],
        [batch for batch in batches if batch.began >= singles_from],
        floor,
    )


def _phase(name: str, line: TimeLine) -> Phase:
    """Return a row of the table: a phase under load, and its floor."""
    p50, p99 = np.percentile([batch.phases[name] for batch in line.loaded], (50, 99))
    if name in line.transaction:
        floor, found_by = line.transaction[name], ALONE
    else:
        floor, found_by = float(np.median([batch.phases[name] for batch in line.single])), ONE_EVENT
    return Phase(PHASES[name], float(p50), float(p99), floor, found_by)


def _options() -> argparse.Namespace:
    options = parser("benchmarks.latency", __doc__)
    options.add_argument("--rate", type=amount, default=1_000, help="events a second (1,000)")
    options.add_argument("--subscriptions", type=count, default=100_000, help="size of the index (100,000)")
    options.add_argument(
        "--warm-up", type=amount_or_none, default=60.0, help="seconds of load before anything is measured (60)"
    )
    options.add_argument("--seconds", type=amount, default=60.0, help="length of the load that is measured (60)")
    options.add_argument(
        "--idle", type=amount_or_none, default=300.0, help="seconds without events before one (300); 0: not done"
    )
    return options.parse_args()


if __name__ == "__main__":
    run(main)
