"""How long does one thread take to match an event, how many bytes does a subscription take, and what do others need?

Workloads: `benchmarks.workloads`, seed 1, at a hundredth, a tenth and all of their full size. Compared in the same run,
over the same records and with equal answers: the counting engine and the K-index conjunction engine of this project
(`index.classic`), and the public libraries that do this very job and can be had from a package registry:

* mokaccino 0.9, a percolator in Rust with a Python binding (``pip install mokaccino``): AND, OR, NOT, integer ranges;
* perq 0.2, a percolator in Python (``pip install perq``): ANDs of ORs of terms, integer ranges;
* a-tree 0.6, the A-Tree in Rust (``cargo``): AND, OR, NOT, lists, integer ranges.

None of them ranks. They take part where they are installed and can say the subscriptions.

Command: ``python -m benchmarks.matching [workload ...] [--subscriptions N ...] [--events K] [--seed S]``
"""

from __future__ import annotations

import argparse
import gc
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.block_measure import Cost, build_block, measure_block
from benchmarks.command import amount, count, parser, run
from benchmarks.compare.a_tree_peer import ATree
from benchmarks.compare.apart import Bounds, run_apart
from benchmarks.compare.contender import Contender, Unable
from benchmarks.compare.engines import TOP, EngineContender, RankingCheck, WrongAnswer
from benchmarks.compare.mokaccino_peer import Mokaccino
from benchmarks.compare.perq_peer import Perq
from benchmarks.kept import RESULTS, require_folder
from benchmarks.matching_report import draw, write_table
from benchmarks.matching_results import Compared, Measured, load, store
from benchmarks.timing import give_back_memory, keep_memory
from benchmarks.workloads.registry import WORKLOADS, workload
from benchmarks.workloads.workload import Workload
from index.block.engine import BlockEngine
from index.engine import Parts
from index.engines import engine_named
from schemas.errors import TocsinError
from schemas.records import Event, Subscription

SEED = 1
MEASURED = tuple(name for name in WORKLOADS if name not in ("mixed", "keywords-leaf"))
FILE = RESULTS / "matching.json"
OTHERS = ("counting", "kindex-dnf", "mokaccino", "perq", "a-tree")
SHARES = (100, 10, 1)
"""Full size divided by these is measured."""


def main() -> None:
    """Measure, print, and write the table and the picture to ``benchmarks/results``."""
    options = _options()
    keep_memory()
    console = Console(width=150)
    require_folder()
    if options.scratch and not Path(options.scratch).is_dir():
        raise TocsinError(f"{options.scratch} is not a folder; make it, or leave --scratch away")
    for name in [] if options.report else options.workloads or MEASURED:
        source = workload(name, options.seed)
        for size in options.subscriptions or [source.size // share for share in SHARES]:
            console.print(f"{name}, {size:,} subscriptions")
            store(FILE, _measure(source, size, options, console))
            gc.collect()
    rows = load(FILE)
    write_table(rows, RESULTS / "matching.md")
    draw(rows, RESULTS / "matching.png")
    console.print(f"written to {RESULTS}/matching.md and matching.png")


def _measure(source: Workload, size: int, options: argparse.Namespace, console: Console) -> Measured:
    # Made anew for the others: ten million subscriptions and the answers to a block do not fit in memory together.
    built, events = build_block(source.subscriptions(size)), source.events(options.events)
    block = measure_block(built, events, options.repetitions, options.seconds)
    console.print(
        f"  block: all {block.ms(0):.4f} ms, top 10 {block.ms(10):.4f}, top 100 {block.ms(100):.4f}, alone "
        f"{block.alone.cpu:.3f}, {block.matches:,.0f} matches, {block.bytes:.1f} bytes, build {block.build:.0f} s"
    )
    if not options.others:
        return Measured(source.name, size, len(events), options.seed, block, [])
    give_back_memory()
    few = events[: options.compared]
    compared = _compare(built.parts, source.subscriptions(size), few, block.cost(0), options, console)
    return Measured(source.name, size, len(events), options.seed, block, compared)


def _compare(
    parts: Parts,
    subscriptions: Sequence[Subscription],
    events: Sequence[Event],
    stream: Cost,
    options: argparse.Namespace,
    console: Console,
) -> list[Compared]:
    """Run the contenders, each in a process of its own; every answer must be the block engine's.

    ``stream`` is what that took for an event of a stream.

    Raises
    ------
    WrongAnswer
        One is not.
    """
    ours = EngineContender(BlockEngine(), parts)
    expected = ours.match(events)
    ranked = RankingCheck({top: ours.answers(events, top) for top in (0, TOP)})
    bounds = Bounds(options.limit, options.gigabytes)
    found = []
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-", dir=options.scratch) as folder:
        makers = _contenders(Path(options.scratch or folder), ranked)
        for name in options.others:
            try:
                done = run_apart(makers[name], subscriptions, events, bounds)
            except Unable as unable:
                found.append(Compared(name, note=str(unable)))
                console.print(f"  {name}: {unable}")
                continue
            if not done.outcome.pairs.same(expected.pairs):
                raise WrongAnswer(f"{name} and the block engine differ: {len(done.outcome.pairs.event):,} matches")
            top = None if done.outcome.top is None else Cost(*done.outcome.top)
            cost, same_events = Cost(*done.outcome.all), Cost(*expected.all)
            found.append(Compared(name, done.build, cost, top, same_events, stream=stream))
            times = done.outcome.all.cpu / expected.all.cpu
            console.print(f"  {name}: all {done.outcome.all.cpu:.3f} ms, {times:.1f} times ours, same answers")
    return found


def _contenders(scratch: Path, ranked: RankingCheck) -> dict[str, Callable[[], Contender]]:
    return {
        "counting": lambda: EngineContender(engine_named("counting"), ranked=ranked),
        "kindex-dnf": lambda: EngineContender(engine_named("kindex-dnf"), ranked=ranked),
        "mokaccino": Mokaccino,
        "perq": Perq,
        "a-tree": lambda: ATree(scratch),
    }


def _known(name: str) -> str:
    """Return the name of a workload that there is."""
    if name not in WORKLOADS:
        raise argparse.ArgumentTypeError(f"there is no workload {name!r}; there are {', '.join(WORKLOADS)}")
    return name


def _options() -> argparse.Namespace:
    options = parser("benchmarks.matching", __doc__)
    options.add_argument(
        "workloads",
        nargs="*",
        type=_known,
        metavar="workload",
        help=f"by default {', '.join(MEASURED)}; besides keywords-leaf, mixed",
    )
    options.add_argument(
        "--subscriptions", type=count, nargs="+", help="sizes; by default 1/100, 1/10 and all of the full"
    )
    options.add_argument("--events", type=count, default=4096, help="events of the block engine's measurements")
    options.add_argument("--others", nargs="*", choices=OTHERS, default=OTHERS, help="with whom ours is compared")
    options.add_argument("--compared", type=count, default=64, help="how many of the events the others are given")
    options.add_argument("--seed", type=int, default=SEED, help="decides subscriptions and events (1)")
    options.add_argument("--repetitions", type=count, default=5, help="the fastest one counts")
    options.add_argument(
        "--seconds", type=amount, default=20.0, help="no repetition begins after so long, a measurement"
    )
    options.add_argument(
        "--limit", type=amount, default=300.0, help="the processor's seconds that one of the others may take"
    )
    options.add_argument("--gigabytes", type=amount, default=8.0, help="memory that one of the others may take")
    options.add_argument("--scratch", help="folder for the a-tree program and its input; by default a temporary one")
    options.add_argument("--report", action="store_true", help="only write table and picture anew")
    return options.parse_args()


if __name__ == "__main__":
    run(main)
