"""Runs a contender in a process of its own, with bounds on time and memory, so that none can end the benchmark."""

from __future__ import annotations

import gc
import math
import multiprocessing
import resource
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from benchmarks.compare.contender import Contender, Outcome, Unable
from benchmarks.timing import Stopwatch
from index.uncollected import no_garbage_collection
from schemas.errors import TocsinError
from schemas.records import Event, Subscription

GIGABYTE = 2**30


class Bounds(NamedTuple):
    """What a contender may use; the seconds are the processor's, so that others on the machine do not count."""

    seconds: float
    gigabytes: float


class Run(NamedTuple):
    """Seconds of its build by the clock, and what it found."""

    build: float
    outcome: Outcome


def run_apart(
    make: Callable[[], Contender], subscriptions: Sequence[Subscription], events: Sequence[Event], bounds: Bounds
) -> Run:
    """Build and match in a forked process, which shares the subscriptions without a copy.

    Raises
    ------
    TocsinError
        `Unable`: the contender cannot say the subscriptions, took too long or too much memory. Or what it raised.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_run, args=(theirs, make, subscriptions, events, bounds))
    gc.freeze()  # what stands now is not the child's to collect: it may belong to threads that the child has not
    process.start()
    gc.unfreeze()
    theirs.close()
    try:
        found = ours.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            raise Unable(f"took longer than {bounds.seconds:,.0f} s") from None
        want = f"most likely for want of memory (more than {bounds.gigabytes:g} GB)"
        raise Unable(f"ended with {_named(process.exitcode)}, {want}") from None
    finally:
        process.kill()
        process.join()
    if isinstance(found, TocsinError):
        raise found
    run: Run = found
    return run


def _named(code: int | None) -> str:
    """Return an exit code, or the signal that it stands for, in words."""
    return f"code {code}" if code is None or code >= 0 else signal.Signals(-code).name


def _run(
    pipe: Connection,
    make: Callable[[], Contender],
    subscriptions: Sequence[Subscription],
    events: Sequence[Event],
    bounds: Bounds,
) -> None:
    memory, seconds = _mapped() + int(bounds.gigabytes * GIGABYTE), math.ceil(bounds.seconds)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    try:
        with no_garbage_collection():
            contender = make()
            watch = Stopwatch()
            contender.build(subscriptions)
            build = watch.read().wall
            pipe.send(Run(build, contender.match(events)))
    except TocsinError as error:
        pipe.send(error)
    except MemoryError:
        pipe.send(Unable(f"needs more than {bounds.gigabytes:g} GB"))


def _mapped() -> int:
    """Return the bytes of this process's address space."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
