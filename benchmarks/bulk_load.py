"""How long from a topic full of subscriptions to the first match, and what does that take?

Workload: advertising contracts (`benchmarks.workloads.ads`, seed 1; 1.6 conjunctions of 3.65 predicates) as JSON
records on the compacted topic, as trees or, with ``--text``, as filter texts. The broker, and one event that is on its
topic already, are there before the job starts; the clock runs from the start of the process to the event's
notification. With ``--restart`` the job is stopped and started once more over the index it has. Memory is sampled once
a second: proportional shares, so that pages of the index count once for all processes.

Command: ``python -m benchmarks.bulk_load [--size 1000000] [--text] [--restart] [--seed 1]``
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import psutil
from confluent_kafka import Consumer, Producer
from rich.console import Console

from benchmarks.bulk_records import SLICE, matching_event, records, sample
from benchmarks.bulk_report import Memory, Outcome, Phases, report
from benchmarks.command import count, parser, run
from benchmarks.kept import require_folder
from benchmarks.processes import children_of
from benchmarks.watch import Watch
from index.block.engine import BlockEngine
from index.manifest import latest
from index.segment import Rows, Segment, write_rows
from index.uncollected import no_garbage_collection
from schemas.json_codec import decode_subscription
from stream import clients
from stream.broker import Broker
from stream.job_process import JobProcess
from stream.settings import Settings, load_settings
from stream.topics import ensure_topics

SAMPLE = 100_000
READY_SECONDS = 3_000.0
TOLD_SECONDS = 20.0
"""Pause between two lines about a load that is under way."""


class MemoryWatch(Watch):
    """Samples the memory of a process and all below it, while the block runs."""

    def __init__(self, pid: int) -> None:
        super().__init__(pause=1.0)
        self._process = psutil.Process(pid)
        self.most = Memory(0.0, 0.0)

    def _look(self) -> None:
        share = private = 0
        for process in (self._process, *children_of(self._process)):
            try:
                info = process.memory_full_info()
            except psutil.Error:
                continue
            share += info.pss
            private += info.uss
        self.most = Memory(max(self.most.all, share / 1e6), max(self.most.private, private / 1e6))


def main() -> None:
    """Measure one size, and write its row, the table and the picture."""
    described = parser("benchmarks.bulk_load", __doc__)
    described.add_argument("--size", type=count, default=1_000_000, help="how many subscriptions")
    described.add_argument("--text", action="store_true", help="filter texts instead of trees")
    described.add_argument("--restart", action="store_true", help="start the job once more over its index")
    described.add_argument("--seed", type=int, default=1, help="decides the contracts (1)")
    options = described.parse_args()
    require_folder()
    console = Console(width=150)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        phases = _phases(folder / "sample", options.seed, options.text, min(SAMPLE, options.size))
        console.print(f"one core: {phases}")
        with Broker(folder / "broker") as broker:
            report(_measure(broker.bootstrap_servers, folder, options, phases, console), console)


def _measure(bootstrap: str, folder: Path, options: argparse.Namespace, phases: Phases, console: Console) -> Outcome:
    settings = _settings(bootstrap, folder)
    ensure_topics(settings)
    console.print(f"putting {options.size:,} records on the topic")
    _publish(settings, options.size, options.seed, options.text, console)
    seconds, memory = _first_match(settings, folder, options.seed, console)
    console.print(f"loaded: first match after {seconds:.1f} s, {memory}")
    segments = [Segment.open(folder / "index", entry.segment.name) for entry in latest(folder / "index").segments]
    restarted = _first_match(settings, folder, options.seed, console) if options.restart else (None, None)
    console.print(f"restarted: {restarted}")
    parts: Counter[str] = Counter()
    for segment in segments:
        for array, data in segment.file.arrays.items():
            parts[array.split("/")[0]] += data.nbytes / options.size
    return Outcome(
        options.size, options.text, seconds, restarted[0], phases, memory, restarted[1], len(segments), dict(parts)
    )  # fmt: skip


def _settings(bootstrap: str, folder: Path) -> Settings:
    return load_settings(
        None,
        [
            f"kafka.bootstrap_servers={bootstrap}",
            f"job.index_dir={folder / 'index'}",
            f"job.checkpoint_dir={folder / 'checkpoint'}",
            f"job.log_file={folder / 'spark.log'}",
            "job.top=5",
            "topics.partitions=2",
        ],
    )


def _publish(settings: Settings, size: int, seed: int, text: bool, console: Console) -> None:
    """Make the records and put them on the topic, before the clock runs; a million takes 20 s on a quiet core."""
    producer = Producer(clients.producer(settings) | {"queue.buffering.max.messages": 2_000_000, "linger.ms": 50})
    for first in range(0, size, SLICE):
        for id_, body in records(seed, first, min(SLICE, size - first), text):
            producer.produce(settings.topics.subscriptions, body, id_)
        producer.flush()
        if size > SLICE:
            console.print(f"  {min(first + SLICE, size):,} are there")


def _first_match(settings: Settings, folder: Path, seed: int, console: Console) -> tuple[float, Memory]:
    """Start the job with one event waiting; return the seconds to its notification, and stop the job."""
    consumer = Consumer(clients.reader(settings) | {"enable.partition.eof": False})
    consumer.subscribe([settings.topics.notifications])
    while not consumer.assignment():
        consumer.poll(0.1)
    producer = Producer(clients.producer(settings))
    producer.produce(settings.topics.events, matching_event(seed))
    producer.flush()
    with JobProcess(settings, folder) as job, MemoryWatch(job.pid) as memory:
        began = told = time.monotonic()
        while (message := consumer.poll(0.2)) is None or message.error() is not None:
            job.check()
            if time.monotonic() - began > READY_SECONDS:
                raise TimeoutError(job.tail())
            if time.monotonic() - told > TOLD_SECONDS:
                told = time.monotonic()
                console.print(f"  {told - began:.0f} s: {job.last_words()}, {memory.most}")
        seconds = time.monotonic() - began
        time.sleep(1.0)
    consumer.close()
    return seconds, memory.most


def _phases(folder: Path, seed: int, text: bool, count: int) -> Phases:
    """Do on one core what a worker does with its share."""
    written = sample(records(seed, 0, SLICE, text), count)
    clock = [time.process_time()]
    with no_garbage_collection():
        subscriptions = [decode_subscription(id_, body) for id_, body in written]
        clock.append(time.process_time())
        rows = Rows.of(subscriptions)
        clock.append(time.process_time())
        engine = _Timed()
        write_rows(folder, engine, subscriptions, rows)
        clock.append(time.process_time())
    decode, columns, rest = (1e6 * (b - a) / count for a, b in pairwise(clock))
    build = 1e6 * engine.seconds / count
    return Phases(decode, columns, build, rest - build)


class _Timed(BlockEngine):
    """The engine with a clock on its build."""

    seconds = 0.0

    def build(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        """See `BlockEngine.build`; kernels are loaded by a first build of one subscription."""
        super().build(args[0][:1])
        began = time.process_time()
        parts = super().build(*args, **kwargs)
        self.seconds = time.process_time() - began
        return parts


if __name__ == "__main__":
    run(main)
