"""After the warm-up nothing is left to compile: no event waits for a kernel."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[2]

COUNT = """
from stream.demo.workload import build_workload
from stream.warm_up import warm_up
from tests.stream.test_warm_up import compiled, match_flights, match_sorted, match_workloads

warm_up()
before = compiled()
assert len(before) > 30
match_flights(build_workload(1200, 500, 1, lambda: None))
match_sorted()
match_workloads()
print(sorted(compiled() - before))
"""


def compiled() -> set[str]:
    """Return the kernels of this process with the types of arguments that they are compiled for."""
    from numba.core.dispatcher import Dispatcher

    return {
        f"{kernel.__module__}.{kernel.py_func.__qualname__} {signature}"
        for name, module in list(sys.modules.items())
        if name.startswith("index.")
        for kernel in vars(module).values()
        if isinstance(kernel, Dispatcher)
        for signature in kernel.signatures
    }


def match_flights(workload: object) -> None:
    """Absorb the demo's subscriptions and match its flights, a few and many at once, as Spark's workers do."""
    import tempfile

    from index.writer import IndexWriter
    from stream.demo.workload import Workload
    from stream.warm_up import absorb, match

    assert isinstance(workload, Workload)
    with tempfile.TemporaryDirectory() as index:
        keys = [id_.encode() for id_ in workload.subscriptions]
        segment = absorb(index, keys, list(workload.subscriptions.values()))
        version = IndexWriter(index).publish([segment], [], {0: 1})
        for size, top in product((1, 100, 1200), (0, 5)):
            assert match(index, version, workload.bodies[:size], top)


def match_sorted() -> None:
    """Match blocks whose events are sorted, or in long chunks, with few matches an event and with many."""
    import tempfile

    from index.writer import IndexWriter
    from stream.warm_up import absorb, match

    with tempfile.TemporaryDirectory() as index:
        bodies = [b'{"filter": "day = %d and size > %d"}' % (i % 30, i // 30) for i in range(3000)]
        segment = absorb(index, [b"%04d" % i for i in range(len(bodies))], bodies)
        version = IndexWriter(index).publish([segment], [], {0: 1})
        for size, top, (events, days) in product((3, 20, 60), (0, 5), ((1300, 30), (2500, 1))):
            some = [b'{"day": %d, "size": %d}' % (i % days, size) for i in range(events)]
            assert match(index, version, some, top, "event")


def match_workloads() -> None:
    """Match events of all leaves, modes and shapes, weighted or not, in blocks of every length and their reverse."""
    from benchmarks.workloads.registry import workload
    from index.block.engine import BlockEngine
    from index.event_block import EventBlock

    for name in ("mixed", "trees", "trees-wide", "ads-uniform", "w1", "keywords", "keywords-news"):
        source = workload(name)
        matcher = BlockEngine().open(BlockEngine().build(source.subscriptions(6000)))
        events = source.events(2600)
        for size, top in product((1, 30, 64, 400, 512, 1300, 2600), (0, 10, 100)):
            matcher.match(EventBlock.from_events(events[:size], top))


def test_nothing_needs_a_kernel_that_the_warm_up_has_not_compiled() -> None:
    done = subprocess.run([sys.executable, "-c", COUNT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
