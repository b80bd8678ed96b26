"""What happens when every event matches every subscription, and how fast does a job that lags behind catch up?

Fan-out: ``--events`` events, published at once, each of which matches all ``--subscriptions``, without a bound on the
matches of an event. Told are the largest resident memory of the driver (its Python and its Java process together) and
of one worker, the largest spool, and the time until everything is committed.

Catching up: flights at ``--rate`` events/s against 10,000 subscriptions (seed 2013), the five best matches an event;
after a warm-up as many at once as come in ``--behind`` seconds, while the rate goes on. The events answered until the
lag is gone, over those that came in that time, say how many times faster than they come they are answered.

Command: ``python -m benchmarks.pressure [--events 100] [--subscriptions 1000000] [--rate 1000] [--behind 60]``
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import psutil
from rich.console import Console

from benchmarks.command import count, count_or_none, parser, run
from benchmarks.job import BenchJob, loading_seconds
from benchmarks.load import Load
from benchmarks.watch import Watch
from stream.broker import Broker
from stream.demo.workload import build_workload

SEED = 2013
FLIGHTS, CHOSEN = 50_000, 10_000
MEGABYTE = 1_000_000
KEEPING_UP = 200
"""So many events under way are no lag."""


class Largest(Watch):
    """The largest memory of the job's processes, and the largest spool, while the block runs; sampled."""

    def __init__(self, job: BenchJob, index: Path) -> None:
        super().__init__(pause=0.2)
        self.python = self.java = self.driver = self.worker = self.spool = 0
        self._job, self._index = job, index

    def _look(self) -> None:
        python = java = 0
        for process in psutil.process_iter(["name", "cmdline"]):
            try:
                if os.getsid(process.pid) != self._job.pid:
                    continue
                memory = process.memory_info().rss
            except (psutil.NoSuchProcess, ProcessLookupError):
                continue
            if process.pid == self._job.pid:
                python = memory
            elif process.info["name"] == "java":
                java = memory
            elif "stream.daemon" in (process.info["cmdline"] or []):
                self.worker = max(self.worker, memory)
        self.python, self.java = max(self.python, python), max(self.java, java)
        self.driver = max(self.driver, python + java)
        self.spool = max(self.spool, sum(size(file) for file in self._index.glob("spool/*/*")))


def size(file: Path) -> int:
    """Return the bytes of a file that may have gone meanwhile."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def fan_out(events: int, subscriptions: int, console: Console) -> None:
    """Measure events that match everything, and tell."""
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, Broker() as broker:
        job = BenchJob(
            broker.bootstrap_servers,
            Path(folder),
            "job.top=0",
            "topics.partitions=1",
            patience=loading_seconds(subscriptions),
        )
        job.subscribe({f"s{n}": b'{"filter": "x >= 0"}' for n in range(subscriptions)})
        began = time.monotonic()
        with job, Largest(job, Path(folder) / "index") as watch:
            console.print(f"{subscriptions:,} subscriptions loaded in {time.monotonic() - began:.0f} s")
            load = Load(broker.bootstrap_servers, job.settings.topics.events, [b'{"x": 1}'])
            began = time.monotonic()
            load.burst(events)
            job.await_lag(0)
            seconds = time.monotonic() - began
            load.close()
        matches = events * subscriptions
        console.print(
            f"{events:,} events x {subscriptions:,} matches: {seconds:,.0f} s, {matches / seconds:,.0f} matches/s; "
            f"driver at most {watch.driver / MEGABYTE:,.0f} MB (Python {watch.python / MEGABYTE:,.0f}, Java "
            f"{watch.java / MEGABYTE:,.0f}), a worker at most {watch.worker / MEGABYTE:,.0f} MB, spool at most "
            f"{watch.spool / MEGABYTE:,.0f} MB"
        )


def catch_up(rate: int, behind: int, warm_up: int, console: Console) -> None:
    """Measure how soon a job that lags keeps up again, and tell."""
    workload = build_workload(FLIGHTS, CHOSEN, SEED, lambda: None)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, Broker() as broker:
        job = BenchJob(broker.bootstrap_servers, Path(folder))
        job.subscribe(workload.subscriptions)
        with job:
            load = Load(broker.bootstrap_servers, job.settings.topics.events, workload.bodies)
            load.steady(rate, warm_up)
            job.await_lag(KEEPING_UP)
            load.burst(rate * behind)
            began, lag = time.monotonic(), job.lag()
            with load.meanwhile(rate):
                job.await_lag(KEEPING_UP)
                seconds = time.monotonic() - began
            load.close()
        answered = lag + rate * seconds
        console.print(
            f"{lag:,} events behind at {rate:,} events/s: caught up in {seconds:.1f} s, "
            f"{answered / seconds:,.0f} events/s, {answered / seconds / rate:.1f} times as fast as they come"
        )


def main() -> None:
    """Measure one after the other."""
    described = parser("benchmarks.pressure", __doc__)
    described.add_argument(
        "--events", type=count_or_none, default=100, help="events that match everything (100); 0: none"
    )
    described.add_argument("--subscriptions", type=count, default=1_000_000, help="subscriptions for them (1,000,000)")
    described.add_argument("--rate", type=count, default=1_000, help="events/s to keep up with (1,000)")
    described.add_argument(
        "--behind", type=count_or_none, default=60, help="seconds to lag behind (60); 0: not measured"
    )
    described.add_argument("--warm-up", type=count_or_none, default=45, help="seconds at the rate before that (45)")
    options = described.parse_args()
    console = Console(width=140)
    if options.behind:
        catch_up(options.rate, options.behind, options.warm_up, console)
    if options.events:
        fan_out(options.events, options.subscriptions, console)


if __name__ == "__main__":
    run(main)
