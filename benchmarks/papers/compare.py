"""How much faster is the block engine than the engines from the literature, on their own data?

Advertising DNFs, CNFs of the same predicates, and an exchange's trees of depth 3, all scored: milliseconds an event for
all matches and for the best 1, 10 and 100, bytes a subscription, and build time. Each engine runs in a process of its
own, over as many of the first 512 events as ten seconds allow; all engines must agree on the matches of the first ones.

    python -m benchmarks.papers.compare --size 1000000 [--only ads,cnf] [--engines block,scan]

Seed 1. Results go to ``results/compare.json`` and ``results/compare.md``; rows of other runs stay in the former.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.papers import contracts
from benchmarks.papers.exchange import Exchange
from benchmarks.papers.figure import RESULTS
from benchmarks.papers.measure import build, match
from benchmarks.workloads.ads import MONTHS
from index.engines import ENGINES
from schemas.errors import Refused
from schemas.records import Event, Subscription

WORKLOADS = ("ads", "cnf", "exchange")
TOPS = (0, 1, 10, 100)
PROBE = 8
"""Events that every engine answers, and by which the number of others is chosen."""
MOST = 512
BUDGET = 10_000.0
"""Milliseconds for one pass."""
SHOWN = {0: "all", 1: "top 1", 10: "top 10", 100: "top 100"}

Row = dict[str, Any]


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
    subscriptions, events = records(workload, size)
    row: Row = {"workload": workload, "engine": engine, "size": size}
    try:
        built = build(ENGINES[engine](), subscriptions)
    except Refused as refusal:
        return row | {"refused": refusal.message}
    del subscriptions
    probe = match(built.matcher, events[:PROBE], passes=1)
    chosen = events[: max(PROBE, min(MOST, int(BUDGET / probe.ms)))]
    row |= {"build": built.seconds, "bytes": built.size / size, "matches": probe.matches, "events": len(chosen)}
    return row | {SHOWN[top]: match(built.matcher, chosen, top, passes=2).ms for top in TOPS}


def measured_apart(workload: str, engine: str, size: int) -> Row:
    """Return one row, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.papers.compare", "--one", workload, engine, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{engine} failed on {workload}:\n{done.stderr}")
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def keep(row: Row) -> list[Row]:
    """Put a row in the place of an older one of its kind, and write the table anew; return all rows."""
    file = RESULTS / "compare.json"
    before: list[Row] = json.loads(file.read_text()) if file.exists() else []
    rows = [old for old in before if _kind(old) != _kind(row)] + [row]
    file.write_text(json.dumps(rows, indent=1) + "\n")
    (RESULTS / "compare.md").write_text(table(rows) + "\n")
    return rows


def _kind(row: Row) -> tuple[str, str, int]:
    return row["workload"], row["engine"], row["size"]


def disagreements(rows: Sequence[Row]) -> list[str]:
    """Return sentences about engines that find other numbers of matches than the block engine."""
    right = {(row["workload"], row["size"]): row.get("matches") for row in rows if row["engine"] == "block"}
    return [
        f"{row['engine']} finds {row['matches']} matches an event on {row['workload']}, block {wanted}"
        for row in rows
        if "matches" in row and (wanted := right.get((row["workload"], row["size"]), row["matches"])) != row["matches"]
    ]


def table(rows: Sequence[Row]) -> str:
    """Return the table, and for each workload by how much the block engine is faster than the best of the others."""
    lines = []
    for workload, size in sorted({(row["workload"], row["size"]) for row in rows}):
        own = [row for row in rows if (row["workload"], row["size"]) == (workload, size)]
        timed = sorted((row for row in own if "bytes" in row), key=lambda row: row["all"])
        columns = " | ".join(f"{name}, ms" for name in SHOWN.values())
        lines += [
            f"### {workload}, {size:,} subscriptions",
            "",
            f"| engine | {columns} | bytes | build, s | matches | events |",
            "|---|" + "---:|" * (len(SHOWN) + 4),
        ]
        for row in timed:
            times = " | ".join(f"{row[name]:.3g}" for name in SHOWN.values())
            lines.append(
                f"| `{row['engine']}` | {times} | {row['bytes']:.0f} | {row['build']:.1f} | {row['matches']:.1f} "
                f"| {row['events']} |"
            )
        lines += ["", *(f"`{row['engine']}` takes no part: {row['refused']}" for row in own if "refused" in row)]
        lines += [*_lead(timed), ""]
    return "\n".join(lines)


def _lead(timed: Sequence[Row]) -> list[str]:
    block = next((row for row in timed if row["engine"] == "block"), None)
    others = [row for row in timed if row["engine"] != "block"]
    if block is None or not others:
        return []
    parts = []
    for name in SHOWN.values():
        best = min(others, key=lambda row: row[name])
        parts.append(f"{best[name] / block[name]:.1f} times ({name}, against `{best['engine']}`)")
    return [f"The block engine is faster than the best of the others by {', '.join(parts)}."]


def main() -> None:
    """Run the comparison, or one row of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--only", default=",".join(WORKLOADS))
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--one", nargs=3, metavar=("WORKLOAD", "ENGINE", "SIZE"))
    arguments = parser.parse_args()
    if arguments.one:
        workload, engine, size = arguments.one
        print(json.dumps(measured(workload, engine, int(size))))
        return
    rows: list[Row] = []
    for workload in arguments.only.split(","):
        for engine in arguments.engines.split(","):
            row = measured_apart(workload, engine, arguments.size)
            rows = keep(row)
            print(row, flush=True)
    print(table(rows))
    if wrong := disagreements(rows):
        raise SystemExit("; ".join(wrong))


if __name__ == "__main__":
    main()
