"""How soon is a change in force, and does a merge delay the events, while events flow?

Workload: advertising contracts and events (`benchmarks.workloads.ads`, seed 1), the five best matches an event; broker,
job and this generator share the machine. The job loads ``--size`` subscriptions in eight segments of each partition's,
so that merges are due; its compaction process is held (SIGSTOP) from then on. Events flow at ``--rate`` all the time.

* After ``--warm-up`` seconds the batches of ``--seconds`` are *before*. Then the compaction goes on: *during* lasts
  until no merge is due any more, *after* for ``--seconds`` more. A batch's time is the job's own: the wait for the
  index, the workers' pass and the transaction.
* Then ``--changes`` subscriptions are published one by one, at random moments a quarter of a second apart on average.
  The clock of each begins with the broker's acknowledgement. It is *visible* when a version with it is published, which
  the next batch of events is matched with, and *answered* when the notification arrives of an event that only it
  matches, published at the acknowledgement.

Command: ``python -m benchmarks.living [--size 400000] [--rate 200] [--seconds 30] [--warm-up 45] [--changes 200]``
"""

from __future__ import annotations

import argparse
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil
from confluent_kafka import Producer
from rich.console import Console

from benchmarks.bulk_records import SLICE, records
from benchmarks.command import amount, amount_or_none, count, parser, run
from benchmarks.job import BenchJob, loading_seconds
from benchmarks.kept import require_folder
from benchmarks.living_report import Batch, Change, Living, report
from benchmarks.load import Load, consumer
from benchmarks.processes import children_of, command_of
from benchmarks.watch import Watch
from benchmarks.workloads.ads import Ads
from index.compaction import due
from index.manifest import latest
from schemas.errors import TocsinError
from schemas.json_codec import encode_event
from stream import clients
from stream.broker import Broker
from stream.trace import BatchTrace

SEED = 1
EVENTS = 5_000
PARTITIONS = 2
SEGMENTS = 8
"""Of each partition: so many of one size are merged."""

PROBE = "probe-"
LONGEST_MERGE = 600.0
ANSWER_SECONDS = 60.0


def main() -> None:
    """Measure, print the table, and write it and the pictures to ``benchmarks/results``."""
    options = _options()
    require_folder()
    console = Console(width=150)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-", ignore_cleanup_errors=True) as name, Broker() as broker:
        report(_measure(broker.bootstrap_servers, Path(name), options, console), console)


def _measure(bootstrap: str, folder: Path, options: argparse.Namespace, console: Console) -> Living:
    trace = folder / "trace.jsonl"
    job = BenchJob(
        bootstrap,
        folder,
        f"topics.partitions={PARTITIONS}",
        f"job.max_subscriptions_per_batch={-(-options.size // SEGMENTS)}",
        trace=trace,
        patience=loading_seconds(options.size),
    )
    console.print(f"putting {options.size:,} records on the topic")
    for first in range(0, options.size, SLICE):
        job.subscribe(dict(records(SEED, first, min(SLICE, options.size - first), text=False)))
    console.print("loading")
    index = folder / "index"
    with job, _flowing(bootstrap, job, options.rate):
        held = _compaction(job)
        held.send_signal(signal.SIGSTOP)
        segments = len(latest(index).segments)
        console.print(f"ready with {segments} segments; warming up for {options.warm_up:g} s")
        time.sleep(options.warm_up)
        began = time.time()
        time.sleep(options.seconds)
        resumed = time.time()
        held.send_signal(signal.SIGCONT)
        merged = _await_merges(index)
        console.print(f"merged to {len(latest(index).segments)} segments in {merged - resumed:.1f} s")
        time.sleep(options.seconds)
        ended = time.time()
        console.print(f"publishing {options.changes} changes")
        changes = _changes(bootstrap, job, index, options.changes)
    batches = [_batch(line) for line in trace.read_bytes().splitlines()]
    return Living(
        size=options.size,
        rate=options.rate,
        segments=segments,
        began=began,
        resumed=resumed,
        merged=merged,
        ended=ended,
        batches=[batch for batch in batches if began <= batch.ended < ended],
        changes=changes,
    )


@contextmanager
def _flowing(bootstrap: str, job: BenchJob, rate: float) -> Iterator[None]:
    """Publish events at this rate until the end of the block."""
    load = Load(bootstrap, job.settings.topics.events, [encode_event(event) for event in Ads(SEED).events(EVENTS)])
    try:
        with load.meanwhile(rate):
            yield
    finally:
        load.close()


def _compaction(job: BenchJob) -> psutil.Process:
    """Return the process that merges beside the job."""
    children = children_of(psutil.Process(job.pid))
    found = [child for child in children if "index.compaction_process" in command_of(child)]
    if not found:
        raise TocsinError("the job has no compaction process, so no merge can be held; its log tells why")
    return found[0]


def _await_merges(index: Path) -> float:
    """Wait until no merge is due or under way; return when the last one was published."""
    deadline = time.monotonic() + LONGEST_MERGE
    while due(index):
        if time.monotonic() > deadline:
            raise TimeoutError(f"merges are still due after {LONGEST_MERGE:g} s")
        time.sleep(0.02)
    return time.time()


def _batch(line: bytes) -> Batch:
    told = msgspec.json.decode(line, type=BatchTrace)
    return Batch(told.ended, (told.wait_ns + told.spark_ns + told.commit_ns) / 1e6, told.counts.records)


def _changes(bootstrap: str, job: BenchJob, index: Path, count: int) -> list[Change]:
    """Publish changes one by one, and an event for each; return when each was in force."""
    pause = random.Random(SEED)
    acknowledged: dict[str, tuple[float, int, int]] = {}
    producer = Producer(clients.producer(job.settings) | {"linger.ms": 0})
    probes = Load(bootstrap, job.settings.topics.events, [b"{}"])
    with _Versions(index) as versions, _Answers(job) as answers:
        for number in range(count):
            id_ = f"{PROBE}{number}"

            def delivered(error: object, message: object, id_: str = id_) -> None:
                if error is not None:
                    raise RuntimeError(f"{id_} was not taken: {error}")
                acknowledged[id_] = (time.time(), message.partition(), message.offset())  # type: ignore[attr-defined]

            body = b'{"filter":"probe = %d"}' % number
            producer.produce(job.settings.topics.subscriptions, body, id_, on_delivery=delivered)
            producer.flush()
            probes.one(b'{"probe":%d}' % number)
            time.sleep(pause.uniform(0.1, 0.4))
        answers.wait(count)
    probes.close()
    return [
        Change(1e3 * (versions.held(partition, offset) - at), 1e3 * (answers.arrived[id_] - at))
        for id_, (at, partition, offset) in acknowledged.items()
    ]


class _Versions(Watch):
    """Sees how far the latest version has absorbed the subscriptions topic."""

    def __init__(self, index: Path) -> None:
        super().__init__(pause=0.003)
        self._index = index
        self._seen: list[tuple[float, dict[int, int]]] = []

    def held(self, partition: int, offset: int) -> float:
        """Return when a version with this record was there."""
        return next(at for at, absorbed in self._seen if absorbed.get(partition, 0) > offset)

    def _look(self) -> None:
        absorbed = latest(self._index).absorbed
        if not self._seen or self._seen[-1][1] != absorbed:
            self._seen.append((time.time(), absorbed))


class _Answers(Watch):
    """Sees the notifications of the changes arrive."""

    def __init__(self, job: BenchJob) -> None:
        super().__init__(pause=0)
        self.arrived: dict[str, float] = {}
        self._consumer = consumer(job.settings.kafka.bootstrap_servers)
        self._consumer.subscribe([job.settings.topics.notifications])
        while not self._consumer.assignment():
            self._consumer.poll(0.1)

    def wait(self, count: int) -> None:
        """Wait until every change was answered."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while len(self.arrived) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{count - len(self.arrived)} changes have no answer after {ANSWER_SECONDS:g} s")
            time.sleep(0.1)

    def _look(self) -> None:
        for message in clients.records_at_hand(self._consumer, 0.02):
            if message.error() is None and (key := (message.key() or b"").decode()).startswith(PROBE):
                self.arrived.setdefault(key, time.time())

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._consumer.close()


def _options() -> argparse.Namespace:
    options = parser("benchmarks.living", __doc__)
    options.add_argument("--size", type=count, default=400_000, help="how many subscriptions (400,000)")
    options.add_argument("--rate", type=amount, default=200.0, help="events a second (200)")
    options.add_argument("--seconds", type=amount, default=30.0, help="before and after the merge (30)")
    options.add_argument("--warm-up", type=amount_or_none, default=45.0, help="seconds of events before all that (45)")
    options.add_argument("--changes", type=count, default=200, help="changes whose way is timed (200)")
    return options.parse_args()


if __name__ == "__main__":
    run(main)
