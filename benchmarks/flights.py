"""A job over the demo's flights with its generator and its clock, on a broker of its own."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.job import BenchJob, loading_seconds
from benchmarks.load import Clock, Load
from stream.broker import Broker
from stream.demo.workload import Workload, build_workload

SEED = 2013
EVENTS = 50_000

GENERATED_A_SECOND = 20_000
"""About so many subscriptions are generated a second: whoever waits for a million is told how long."""


@dataclass(frozen=True)
class Standing:
    """A job that is ready, and what measures it."""

    bootstrap: str
    job: BenchJob
    clock: Clock
    load: Load


def flights(subscriptions: int, console: Console) -> Workload:
    """Return the workload with so many generated subscriptions."""
    seconds = subscriptions / GENERATED_A_SECOND
    about = f", about {seconds:.0f} s" if seconds > 30 else ""
    console.print(f"building {EVENTS:,} flights and {subscriptions:,} subscriptions, seed {SEED}{about}")
    return build_workload(EVENTS, subscriptions, SEED, lambda: None)


@contextmanager
def standing(
    workload: Workload, count: int, console: Console, *settings: str, trace: Path | None = None
) -> Iterator[Standing]:
    """Run a job with the last ``count`` of the subscriptions, further settings, and a file for a line each batch."""
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as name, Broker() as broker:
        folder = Path(name)
        job = BenchJob(
            broker.bootstrap_servers,
            folder,
            *settings,
            trace=trace,
            patience=loading_seconds(count),
        )
        began = time.monotonic()
        job.subscribe(dict(list(workload.subscriptions.items())[-count:]))
        published = time.monotonic()
        console.print(f"{count:,} subscriptions: published in {published - began:.1f} s; loading")
        with job:
            console.print(f"{count:,} subscriptions: ready in {time.monotonic() - published:.1f} s")
            clock = Clock(broker.bootstrap_servers, job.settings.topics.notifications)
            load = Load(broker.bootstrap_servers, job.settings.topics.events, workload.bodies)
            try:
                yield Standing(broker.bootstrap_servers, job, clock, load)
            finally:
                clock.close()
                load.close()
