"""How long does building take, and how large is what is built, with each engine on the same subscriptions?

Workload: advertising contracts (`benchmarks.workloads.ads`, seed 1). The processor's time of one core; bytes of the
engine's arrays, which is what has to be in memory for matching. Ids, bodies and labels are the same for all engines:
what they take in a segment's file is told once.

Command: ``python -m benchmarks.build [--size 100000] [--engines block counting kindex-dnf]``
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.command import count, parser, run
from benchmarks.kept import RESULTS, read_rows, require_folder, write_json
from benchmarks.workloads.registry import workload
from index.block.engine import BlockEngine
from index.engines import ENGINES as KNOWN
from index.engines import engine_named
from index.segment import Segment, write_segment
from schemas.records import Subscription

ENGINES = ("block", "counting", "kindex-dnf")
FILE = RESULTS / "build.json"


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
    described = parser("benchmarks.build", __doc__)
    described.add_argument("--size", type=count, default=100_000, help="how many subscriptions (100,000)")
    described.add_argument(
        "--engines",
        nargs="+",
        choices=sorted(KNOWN),
        metavar="NAME",
        default=ENGINES,
        help=f"by default {', '.join(ENGINES)}",
    )
    options = described.parse_args()
    require_folder()
    subscriptions = workload("ads").subscriptions(options.size)
    rows = {(row.size, row.engine): row for row in read_rows(FILE, Built)}
    for name in options.engines:
        engine = engine_named(name)
        engine.build(subscriptions[:10])  # loads the kernels
        began = time.process_time()
        built = engine.build(subscriptions)
        seconds = time.process_time() - began
        size = sum(array.nbytes for array in built.values())
        rows[options.size, name] = Built(name, options.size, 1e6 * seconds / options.size, size / options.size)
    found = [rows[key] for key in sorted(rows)]
    table = Table("subscriptions", "engine", "µs a subscription", "bytes a subscription")
    for row in found:
        table.add_row(f"{row.size:,}", row.engine, f"{row.microseconds:.1f}", f"{row.bytes:.1f}")
    console = Console()
    console.print(table)
    parts = ", ".join(f"{part} {size:.1f}" for part, size in _file(subscriptions).items())
    console.print(f"bytes a subscription in a file of the block engine: {parts}")
    write_json(FILE, found)


def _file(subscriptions: Sequence[Subscription]) -> dict[str, float]:
    """Return the bytes of each part of a segment's file, a subscription."""
    sizes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        info = write_segment(folder, BlockEngine(), subscriptions)
        for name, array in Segment.open(folder, info.name).file.arrays.items():
            sizes[name.partition("/")[0]] += array.nbytes
    return {part: size / len(subscriptions) for part, size in [*sizes.items(), ("all of it", info.bytes)]}


if __name__ == "__main__":
    run(main)
