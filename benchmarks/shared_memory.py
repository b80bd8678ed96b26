"""How much memory do several workers need that match over one index?

Workload: advertising contracts and events (`benchmarks.workloads.ads`, seed 1), in segments of 250,000. Each worker is
a process of its own that opens the index and matches a block of 512 events, all their matches, and waits.
Private pages are a worker's own; shared ones are those of the mapped index, the Python interpreter and the libraries,
and count once in the sum (proportional set sizes). The first row has workers that have opened nothing.

Command: ``python -m benchmarks.shared_memory [--size 500000] [--workers 1 2 4]``
"""

from __future__ import annotations

import multiprocessing
import tempfile
from contextlib import suppress
from multiprocessing.synchronize import Barrier
from threading import BrokenBarrierError

import msgspec
import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.bulk_records import SLICE, records
from benchmarks.command import count, parser, run
from benchmarks.kept import RESULTS, require_folder, write_json
from benchmarks.workloads.ads import Ads
from index.block.engine import BlockEngine
from index.event_block import EventBlock
from index.manifest import latest
from index.reader import IndexReader
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.json_codec import decode_subscription

SEED = 1
EVENTS = 512
READY_SECONDS = 600.0
FILE = RESULTS / "shared_memory.json"


class Row(msgspec.Struct):
    """Megabytes of the workers together; ``index`` is the length of the index's files."""

    size: int
    index: float
    workers: int
    private: float
    all: float


def main() -> None:
    """Measure, print the table, and write it to ``benchmarks/results``."""
    described = parser("benchmarks.shared_memory", __doc__)
    described.add_argument("--size", type=count, default=500_000, help="how many subscriptions (500,000)")
    described.add_argument("--workers", type=count, nargs="+", default=[1, 2, 4], help="how many workers (1 2 4)")
    options = described.parse_args()
    require_folder()
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        _write(folder, options.size)
        size = sum(entry.segment.bytes for entry in latest(folder).segments) / 1e6
        rows = [_measure("", 0, 0.0, 1)]
        rows += [_measure(folder, options.size, size, workers) for workers in options.workers]
    table = Table("subscriptions", "index, MB", "workers", "private of each, MB", "all, shared pages once, MB")
    for row in rows:
        table.add_row(
            f"{row.size:,}",
            f"{row.index:.0f}",
            str(row.workers),
            f"{row.private / row.workers:.0f}",
            f"{row.all:.0f}",
        )
    Console().print(table)
    write_json(FILE, rows)


def _write(folder: str, size: int) -> None:
    writer = IndexWriter(folder)
    for first in range(0, size, SLICE):
        written = records(SEED, first, min(SLICE, size - first), text=False)
        info = write_segment(folder, BlockEngine(), [decode_subscription(id_, body) for id_, body in written])
        writer.publish([info], [], {})


def _measure(folder: str, size: int, index: float, workers: int) -> Row:
    context = multiprocessing.get_context("spawn")
    ready, measured = context.Barrier(workers + 1), context.Barrier(workers + 1)
    processes = [context.Process(target=_match, args=(folder, ready, measured)) for _ in range(workers)]
    try:
        for process in processes:
            process.start()
        ready.wait(READY_SECONDS)
        memory = [psutil.Process(process.pid).memory_full_info() for process in processes]
        measured.wait(READY_SECONDS)
    except BrokenBarrierError:
        raise TocsinError(f"one of {workers} workers has failed; what is above tells why") from None
    finally:
        measured.abort()
        for process in processes:
            if process.pid is not None:
                process.join()
    return Row(size, index, workers, sum(m.uss for m in memory) / 1e6, sum(m.pss for m in memory) / 1e6)


def _match(folder: str, ready: Barrier, measured: Barrier) -> None:
    """Be a worker: match a block and wait until the memory has been read; one that fails keeps nobody waiting."""
    try:
        if folder:
            snapshot = IndexReader(folder, [BlockEngine()]).at(latest(folder).version)
            found = snapshot.match(EventBlock.from_events(Ads(SEED).events(EVENTS)))
            if not len(found.event):
                raise TocsinError("no event matches, so the index was not looked at")
            snapshot.ids(found)
        ready.wait(READY_SECONDS)
    except BaseException:
        ready.abort()
        raise
    with suppress(BrokenBarrierError):
        measured.wait(READY_SECONDS)


if __name__ == "__main__":
    run(main)
