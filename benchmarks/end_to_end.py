"""How long from publish to notification, how many events a second, and where does the time go?

Workload: the demo's flights (seed 2013) against 10,000 and 100,000 generated subscriptions, the five best matches an
event. Broker, job and this generator share the machine, as on a developer's. For each size: a warm-up, then latency at
500, 1,000 and 2,000 events/s (time of arrival at a read_committed consumer minus the record's timestamp, first
notification of each event), then a backlog of events published at once, whose drain is the highest rate the job
sustains alone. A million subscriptions take about a minute to generate, and another to load.

Command: ``python -m benchmarks.end_to_end [--subscriptions 10000 100000 1000000] [--seconds 30] [--warm-up 45]``
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console

from benchmarks.command import amount, amount_or_none, count, parser, run
from benchmarks.end_to_end_report import Measurement, Phases, draw, ms, store, table
from benchmarks.flights import Standing, flights, standing
from benchmarks.job import BenchJob
from benchmarks.kept import RESULTS, require_folder
from benchmarks.load import Load
from stream.demo.workload import Workload
from stream.reporter import MetricsRecord

RATES = (500, 1_000, 2_000)
BACKLOG = "backlog drained"
BACKLOG_SECONDS = 25


def main() -> None:
    """Measure, print the table, write it and the picture to ``benchmarks/results``."""
    options = _options()
    require_folder()
    console = Console(width=170)
    workload = flights(max(options.subscriptions), console)
    for size in options.subscriptions:
        rows = store(RESULTS / "end_to_end.json", _measure(workload, size, options, console))
        draw(rows, RESULTS / "end_to_end.png")
    console.print(table(rows))


def _measure(workload: Workload, count: int, options: argparse.Namespace, console: Console) -> list[Measurement]:
    """Run one job with ``count`` subscriptions and take its measurements."""
    with standing(workload, count, console) as it:
        it.load.steady(RATES[0], options.warm_up)
        rows = [_steady(count, rate, options.seconds, it) for rate in RATES]
        rows.append(_backlog(count, rows[-1], it.job, it.load))
    for row in rows:
        console.print(f"  {row.load}: {row.events_per_second:,.0f} events/s, p50 {ms(row.p50)}, p99 {ms(row.p99)}")
    return rows


def _steady(count: int, rate: int, seconds: float, it: Standing) -> Measurement:
    job, load, clock = it.job, it.load, it.clock
    job.await_lag(0)
    start = time.time()
    before = clock.notifications
    began, ended = load.steady(rate, seconds)
    lag = job.lag()
    job.await_lag(0)
    time.sleep(1)  # the last notifications are on their way
    latencies = clock.latencies(began, ended)
    records = job.metrics(start, time.time())
    return Measurement(
        subscriptions=count,
        load=f"{rate:,} events/s",
        events_per_second=rate * seconds / (ended - began),
        matches_per_second=(clock.notifications - before) / (ended - began),
        p50=float(np.percentile(latencies, 50)),
        p99=float(np.percentile(latencies, 99)),
        lag=lag,
        phases=_phases(records),
    )


def _backlog(count: int, before: Measurement, job: BenchJob, load: Load) -> Measurement:
    """Publish more than the job can take at once and time the drain, without the generator beside it."""
    guess = max(before.events_per_second * 2, 1_000)
    events = int(guess * BACKLOG_SECONDS)
    load.burst(events)
    start, began, left = time.time(), time.monotonic(), job.lag()
    job.await_lag(0)
    seconds = time.monotonic() - began
    records = job.metrics(start, time.time())
    matches = sum(record.metrics.counts.matches for record in records)
    return Measurement(count, BACKLOG, left / seconds, matches / seconds, None, None, left, _phases(records))


def _phases(records: list[MetricsRecord]) -> Phases:
    batches = max(1, sum(record.metrics.batches for record in records))

    def mean(name: str) -> float:
        return float(sum(getattr(record.metrics, name) for record in records)) / batches / 1e6

    def worker_mean(name: str) -> float:
        return float(sum(getattr(record.metrics.counts, name) for record in records)) / batches / 1e6

    triggers = [record.spark_ms["triggerExecution"] for record in records if "triggerExecution" in record.spark_ms]
    return Phases(
        batches=batches,
        events_a_batch=sum(record.metrics.counts.records for record in records) / batches,
        wait=mean("wait_ns"),
        spark=mean("spark_ns"),
        commit=mean("commit_ns"),
        decode=worker_mean("decode_ns"),
        match=worker_mean("match_ns"),
        encode=worker_mean("encode_ns"),
        trigger=float(np.mean(triggers)) if triggers else None,
    )


def _options() -> argparse.Namespace:
    options = parser("benchmarks.end_to_end", __doc__)
    options.add_argument("--subscriptions", type=count, nargs="+", default=[10_000, 100_000], help="sizes of the index")
    options.add_argument("--seconds", type=amount, default=30.0, help="length of each steady load")
    options.add_argument(
        "--warm-up", type=amount_or_none, default=45.0, help="seconds of load before anything is measured"
    )
    return options.parse_args()


if __name__ == "__main__":
    run(main)
