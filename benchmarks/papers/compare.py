"""How much faster is the block engine than the engines from the literature, on their own data?

Advertising DNFs, CNFs of the same predicates, and an exchange's trees of depth 3, all scored: milliseconds an event for
all matches and for the best 1, 10 and 100, bytes a subscription, and build time. Each engine runs in a process of its
own with bounds on time and memory, over as many of the first 512 events as a few seconds allow; all must give the same
answers to the first ones.

    python -m benchmarks.papers.compare --size 1000000 [--only ads,cnf] [--engines block,scan] [--resume]

Seed 1. Results go to ``results/compare.json`` and ``results/compare.md`` after each engine; rows of other runs stay in
the former. ``--resume`` measures what is not there yet, and what tighter bounds than now have ended. Times are of the
matching thread's CPU.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.command import count, run
from benchmarks.kept import read_rows, require_folder, write
from benchmarks.papers import contracts
from benchmarks.papers.compare_table import SHOWN, Row, disagreements, kind, table
from benchmarks.papers.exchange import Exchange
from benchmarks.papers.figure import RESULTS
from benchmarks.papers.measure import Built, build, match, work
from benchmarks.timing import keep_memory
from benchmarks.workloads.ads import MONTHS
from index.engines import ENGINES
from index.event_block import EventBlock
from schemas.errors import Refused
from schemas.records import Event, Subscription

WORKLOADS = ("ads", "cnf", "exchange")
COMPARED = [name for name in ENGINES if not name.endswith("-enumerated")]
"""All but those that differ from another in ranges alone, of which these workloads have none."""
PROBE = 8
"""Events that every engine answers, and by which the number of others is chosen."""
MOST = 512
BUDGET = 4_000.0
"""Milliseconds for one pass."""


class Bounds(NamedTuple):
    """What a process may take: seconds of CPU from its first subscription to its last event, and memory."""

    seconds: int = 3_000
    gigabytes: int = 12


def records(workload: str, size: int) -> tuple[list[Subscription], list[Event]]:
    """Return the subscriptions and events of a workload."""
    if workload == "exchange":
        trees = Exchange(3, scored=True)
        return trees.subscriptions(size), trees.events(MOST)
    ads = contracts.dnf(months=MONTHS)
    subscriptions = ads.subscriptions(size)
    return (subscriptions if workload == "ads" else contracts.cnf(subscriptions)), ads.events(MOST)


def measured(workload: str, engine: str, size: int) -> Row:
    """Return one row of the table."""
    row: Row = {"workload": workload, "engine": engine, "size": size}
    try:
        subscriptions, events = records(workload, size)
        told(row, "building")
        built = build(ENGINES[engine](), subscriptions)
    except Refused as refusal:
        return row | {"refused": refusal.message}
    del subscriptions
    told(row, f"built in {built.seconds:.0f} s, {built.size / size:.0f} bytes a subscription; matching")
    probe = match(built.matcher, events[:PROBE], passes=1)
    chosen = events[: max(PROBE, min(MOST, int(BUDGET / probe.ms)))]
    row |= {"build": built.seconds, "bytes": built.size / size, "matches": probe.matches, "events": len(chosen)}
    row |= {"answers": {shown: answers(built, events[:PROBE], top) for top, shown in SHOWN.items()}}
    row |= {"work": {shown: work(built.matcher, chosen, top) for top, shown in SHOWN.items()}}
    row |= {shown: match(built.matcher, chosen, top, passes=2).ms for top, shown in SHOWN.items()}
    return row | {"gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def answers(built: Built, events: Sequence[Event], top: int) -> int:
    """Return a checksum of the answers to some events: rows, order and scores."""
    found = built.matcher.match(EventBlock.from_events(events, top))
    return zlib.crc32(b"".join(np.ascontiguousarray(column).tobytes() for column in found.rows()))


def told(row: Row, what: str) -> None:
    """Tell what the process of a row is about."""
    print(f"  {row['workload']}, {row['size']:,}, {row['engine']}: {what}", file=sys.stderr, flush=True)


def measured_apart(workload: str, engine: str, size: int, bounds: Bounds) -> Row:
    """Return one row, measured in a process of its own; one that the system ends is a row that tells so."""
    limits = ["--seconds", str(bounds.seconds), "--gigabytes", str(bounds.gigabytes)]
    command = [sys.executable, "-m", "benchmarks.papers.compare", "--one", workload, engine, str(size), *limits]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode > 0:
        raise SystemExit(f"{engine} failed on {workload}; what is above tells why, and --resume goes on from here")
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        reason = f"it needs more than {bounds.seconds:,} s or {bounds.gigabytes} GB ({name})"
        return {"workload": workload, "engine": engine, "size": size, "refused": reason, "bounds": list(bounds)}
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def bound_process(bounds: Bounds) -> None:
    """Let this process end itself rather than the machine; files that are mapped do not count."""
    resource.setrlimit(resource.RLIMIT_DATA, (bounds.gigabytes * 2**30, bounds.gigabytes * 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (bounds.seconds, bounds.seconds + 5))


def done(row: Row, bounds: Bounds) -> bool:
    """Return whether a row needs no new measurement: it has its times, or bounds no tighter than these ended it."""
    return all(old >= new for old, new in zip(row.get("bounds", bounds), bounds, strict=True))


def kept() -> list[Row]:
    """Return the rows of all runs."""
    file = RESULTS / "compare.json"
    return read_rows(file, dict)


def keep(row: Row) -> None:
    """Put a row in the place of an older one of its kind, and write the table anew."""
    rows = [old for old in kept() if kind(old) != kind(row)] + [row]
    write(RESULTS / "compare.json", json.dumps(rows, indent=1) + "\n")
    write(RESULTS / "compare.md", table(rows) + "\n")


def main(given: Sequence[str] | None = None) -> None:
    """Run the comparison, or one row of it; None stands for the command line's arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", type=count, default=1_000_000, help="how many subscriptions (1,000,000)")
    parser.add_argument("--only", default=",".join(WORKLOADS), help=f"workloads ({','.join(WORKLOADS)})")
    parser.add_argument("--engines", default=",".join(COMPARED), help="engines, by default all")
    parser.add_argument("--resume", action="store_true", help="measure what is not there yet")
    parser.add_argument("--seconds", type=count, default=Bounds().seconds, help="processor time of a row (3,000)")
    parser.add_argument("--gigabytes", type=count, default=Bounds().gigabytes, help="memory of a row (12)")
    parser.add_argument(
        "--one", nargs=3, metavar=("WORKLOAD", "ENGINE", "SIZE"), help="print one row, as the runs of others ask for it"
    )
    arguments = parser.parse_args(given)
    bounds = Bounds(arguments.seconds, arguments.gigabytes)
    if arguments.one:
        bound_process(bounds)
        workload, engine, size = arguments.one
        print(json.dumps(_one(workload, engine, int(size), bounds)))
        return
    require_folder(RESULTS)
    wanted = [(w, e) for w in _chosen(arguments.only, WORKLOADS) for e in _chosen(arguments.engines, ENGINES)]
    for number, (workload, engine) in enumerate(wanted, 1):
        wanted_kind = (workload, engine, arguments.size)
        if arguments.resume and any(kind(row) == wanted_kind and done(row, bounds) for row in kept()):
            continue
        begin = time.perf_counter()
        keep(measured_apart(workload, engine, arguments.size, bounds))
        print(f"{number} of {len(wanted)}: {workload}, {engine}, {time.perf_counter() - begin:.0f} s", flush=True)
    rows = [row for row in kept() if row["size"] == arguments.size]
    print(table(rows))
    if wrong := disagreements(rows):
        raise SystemExit("; ".join(wrong))


def _one(workload: str, engine: str, size: int, bounds: Bounds) -> Row:
    keep_memory()
    try:
        return measured(workload, engine, size)
    except MemoryError:
        reason = f"it needs more than {bounds.gigabytes} GB"
        return {"workload": workload, "engine": engine, "size": size, "refused": reason, "bounds": list(bounds)}


def _chosen(names: str, known: Collection[str]) -> list[str]:
    """Return the names of a list, all of which must be known."""
    chosen = names.split(",")
    if unknown := [name for name in chosen if name not in known]:
        raise SystemExit(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    return chosen


if __name__ == "__main__":
    run(main)
