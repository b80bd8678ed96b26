"""How long does building take, and how large is what is built, with each engine on the same subscriptions?

Workload: advertising contracts (`benchmarks.workloads.ads`, seed 1). The processor's time of one core; bytes of the
engine's arrays, which is what has to be in memory for matching; ids and bodies are the same for all engines.

Command: ``python -m benchmarks.build [--size 100000] [--engines block counting kindex-dnf]``
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.workloads.registry import workload
from index.engines import engine_named

ENGINES = ("block", "counting", "kindex-dnf")
RESULTS = Path(__file__).parent / "results" / "build.json"


class Built(msgspec.Struct):
    """One row of the table."""

    engine: str
    size: int
    microseconds: float
    """A subscription."""
    bytes: float
    """A subscription."""


def main() -> None:
    """Measure, print the table, and write it to ``benchmarks/results``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--engines", nargs="+", default=ENGINES)
    options = parser.parse_args()
    subscriptions = workload("ads").subscriptions(options.size)
    known = msgspec.json.decode(RESULTS.read_bytes(), type=list[Built]) if RESULTS.exists() else []
    rows = {(row.size, row.engine): row for row in known}
    for name in options.engines:
        engine = engine_named(name)
        engine.build(subscriptions[:10])  # loads the kernels
        began = time.process_time()
        parts = engine.build(subscriptions)
        seconds = time.process_time() - began
        size = sum(array.nbytes for array in parts.values())
        rows[options.size, name] = Built(name, options.size, 1e6 * seconds / options.size, size / options.size)
    found = [rows[key] for key in sorted(rows)]
    table = Table("subscriptions", "engine", "µs a subscription", "bytes a subscription")
    for row in found:
        table.add_row(f"{row.size:,}", row.engine, f"{row.microseconds:.1f}", f"{row.bytes:.1f}")
    Console().print(table)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")


if __name__ == "__main__":
    main()
