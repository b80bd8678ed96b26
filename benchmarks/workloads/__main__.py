"""Prints what a workload looks like: ``python -m benchmarks.workloads ads 100000``."""

from __future__ import annotations

import argparse
import time

from benchmarks.command import count, parser, run
from benchmarks.workloads.registry import WORKLOADS, workload
from benchmarks.workloads.statistics import matches_by_engine, matches_by_oracle, statistics
from index.block.engine import BlockEngine

ORACLE_PAIRS = 100_000


def main() -> None:
    """Make the records and print their means."""
    options = _options()
    source = workload(options.workload, options.seed)
    began = time.perf_counter()
    subscriptions = source.subscriptions(options.subscriptions)
    made = time.perf_counter()
    events = source.events(options.events)
    print(
        f"{made - began:.1f} s for {len(subscriptions):,} subscriptions, {time.perf_counter() - made:.1f} s for events"
    )
    if options.oracle:
        matches = matches_by_oracle(subscriptions, events, ORACLE_PAIRS)
    else:
        matches = matches_by_engine(BlockEngine(), subscriptions, events)
    for name, value in statistics(subscriptions, events, matches)._asdict().items():
        print(f"{name:14} {value:,.2f}" if isinstance(value, float) else f"{name:14} {value:,}")
    for subscription in subscriptions[:3]:
        print(subscription)


def _options() -> argparse.Namespace:
    options = parser("benchmarks.workloads", "Print what a workload looks like.")
    options.add_argument("workload", choices=list(WORKLOADS))
    options.add_argument("subscriptions", type=count)
    options.add_argument("--events", type=count, default=128)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--oracle", action="store_true", help=f"ask the oracle {ORACLE_PAIRS:,} pairs, not the engine")
    return options.parse_args()


if __name__ == "__main__":
    run(main)
