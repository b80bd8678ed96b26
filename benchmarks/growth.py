"""What does an index take as it grows to a hundred million subscriptions: bytes, time to open, time an event?

Workload: advertising contracts (`benchmarks.workloads.ads`, seed 1), each with a priority of its own, as bids are, in
segments of 2.5 million, which is the most that a merge makes. All segments are written first, as a job's would stand
after its merges; then a version is published at each size. Of each: how long it takes to open, and one thread's time
for the best ten and the best hundred of a block of events, and for the best ten of single events. In the same run and
on the same blocks every segment is also matched by itself, without the floor that those before it leave
(`index.floors`); answers must be equal, and the scores of a sample the oracle's.

Command: ``python -m benchmarks.growth [--subscriptions 2500000 10000000 40000000 100000000]``
"""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise

import msgspec
import numpy as np
import psutil
from rich.console import Console
from rich.progress import track

from benchmarks.command import count, parser, run
from benchmarks.growth_report import FILE, Row, drawn, table
from benchmarks.kept import require_folder, write_json
from benchmarks.timing import Stopwatch, fastest, keep_memory
from benchmarks.workloads.ads import Ads, slice_seed
from benchmarks.workloads.draws import stream
from index.block.engine import BlockEngine
from index.event_block import EventBlock
from index.found import Found, combine
from index.oracle import match_subscription
from index.reader import IndexReader, Snapshot
from index.segment import SegmentInfo, write_segment
from index.uncollected import no_garbage_collection
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.records import Event

SEED = 1
SIZES = (2_500_000, 10_000_000, 40_000_000, 100_000_000)
ALONE = 64
"""Events that are matched one by one."""
SAMPLE = 5
REPETITIONS, SECONDS = 3, 120.0


def main() -> None:
    """Grow, measure, print the table, and write it and the picture to ``benchmarks/results``."""
    described = parser("benchmarks.growth", __doc__)
    described.add_argument("--subscriptions", type=count, nargs="+", default=SIZES, help="sizes at which to measure")
    described.add_argument("--segment", type=count, default=2_500_000, help="subscriptions a segment (2,500,000)")
    described.add_argument("--events", type=count, default=4096, help="events a block (4,096)")
    described.add_argument("--processes", type=count, default=2, help="how many build, 4 GB each (2)")
    described.add_argument("--folder", help="where the index is written meanwhile, 130 bytes a subscription")
    options = described.parse_args()
    sizes = sorted({*options.subscriptions})
    if any(size % options.segment for size in sizes):
        raise TocsinError(f"sizes are whole segments; give multiples of {options.segment:,}, or another --segment")
    require_folder()
    keep_memory()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-", dir=options.folder) as folder:
        segments = _grown(folder, sizes[-1] // options.segment, options.segment, options.processes)
        writer, rows = IndexWriter(folder), list[Row]()
        for before, size in pairwise([0, *sizes]):
            parts = segments[before // options.segment : size // options.segment]
            rows.append(_measured(folder, writer.publish(parts, [], {}), size, options.events))
            console.print(table(rows[-1:]))
    console.print(table(rows))
    write_json(FILE, rows)
    drawn(rows)


def _grown(folder: str, parts: int, size: int, processes: int) -> list[SegmentInfo]:
    """Return the segments, all of them written: what is measured has the machine for itself."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            built = pool.map(_segment, [folder] * parts, range(parts), [size] * parts)
            return list(track(built, "writing segments", parts, console=Console(stderr=True)))
        except BaseException:  # Ctrl-C as well: nobody waits for what is being built
            for child in psutil.Process().children():
                child.kill()
            raise


def _segment(folder: str, part: int, size: int) -> SegmentInfo:
    """Write one segment: contracts of a seed of its own, from the stock of lists that all share."""
    ads = Ads.slice_of(SEED, part)
    bids = stream(slice_seed(SEED, part), "bids").random(size).round(6).tolist()
    with no_garbage_collection():
        contracts = [
            msgspec.structs.replace(each, id=f"s{number:09d}", priority=bid)
            for number, (each, bid) in enumerate(zip(ads.subscriptions(size), bids, strict=True), part * size)
        ]
        return write_segment(folder, BlockEngine(), contracts)


def _measured(folder: str, version: int, size: int, block: int) -> Row:
    events = Ads(SEED).events(block)
    watch = Stopwatch()
    snapshot = IndexReader(folder, [BlockEngine()]).at(version)
    opened = watch.read().wall
    makers = {top: partial(EventBlock.from_events, events, top) for top in (10, 100)}
    _compare(snapshot, makers[10](), events)
    alone = [partial(EventBlock.from_events, [event], 10) for event in events[:ALONE]]
    return Row(
        size,
        len(snapshot.segments),
        snapshot.stats.bytes / size,
        opened,
        _time(snapshot.match, [makers[10]]) / block,
        _time(snapshot.match, [makers[100]]) / block,
        _time(snapshot.match, alone) / len(alone),
        _time(partial(apart, snapshot), [makers[10]]) / block,
        _time(partial(apart, snapshot), [makers[100]]) / block,
        psutil.Process().memory_info().rss / 1e9,
    )


def _time(match: Callable[[EventBlock], Found], makers: Sequence[Callable[[], EventBlock]]) -> float:
    """Return milliseconds of the thread, of all blocks together."""
    return 1e3 * fastest(match, makers, REPETITIONS, SECONDS).cpu


def apart(snapshot: Snapshot, block: EventBlock) -> Found:
    """Return the same matches, found as if each segment were the only one."""
    matches = [live.matcher.match(block) for live in snapshot.segments]
    return combine(block.top, matches, [live.segment.rows.ids for live in snapshot.segments])


def _compare(snapshot: Snapshot, block: EventBlock, events: Sequence[Event]) -> None:
    """See that both ways give the same matches, and that the oracle gives the first events' the same scores."""
    found, other = snapshot.match(block), apart(snapshot, block)
    if not all(np.array_equal(getattr(found, name), getattr(other, name)) for name in Found._fields):
        raise TocsinError("the matches with floors are not those without; this is a fault of the matcher")
    first = found.part(0, int((found.event < SAMPLE).sum()))
    for event, id_, points in zip(first.event.tolist(), snapshot.ids(first), first.score.tolist(), strict=True):
        subscription = snapshot.get(id_.decode())
        said = None if subscription is None else match_subscription(subscription, events[event])
        if said != points:
            raise TocsinError(f"event {event} and {id_.decode()} score {points}, and the oracle says {said}")


if __name__ == "__main__":
    run(main)
