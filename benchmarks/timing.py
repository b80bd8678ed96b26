"""Times calls on a machine that others share: the fastest of several repetitions, by CPU time and by the clock."""

from __future__ import annotations

import ctypes
import gc
import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from index.uncollected import no_garbage_collection

Input = TypeVar("Input")


_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
"""Parameters of ``mallopt``, from ``malloc.h``."""


class Span(NamedTuple):
    """Seconds: of this thread on a processor, and by the clock."""

    cpu: float
    wall: float

    def over(self, count: int) -> Span:
        """Return milliseconds each of ``count`` things."""
        return Span(1e3 * self.cpu / count, 1e3 * self.wall / count)


class Stopwatch:
    """Runs from its making; one thread's time, since matching uses one."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.thread_time(), time.perf_counter()

    def read(self) -> Span:
        """Return what has passed."""
        return Span(time.thread_time() - self._cpu, time.perf_counter() - self._wall)


def fastest(
    call: Callable[[Input], object], makers: Sequence[Callable[[], Input]], repetitions: int, seconds: float
) -> Span:
    """Return the sum over the inputs of each one's fastest call.

    Parameters
    ----------
    call
        What is timed.
    makers
        Make a fresh input each, outside the time: an event block keeps what has been derived from it.
    repetitions
        How often each input is timed.
    seconds
        No further repetition begins after this long.
    """
    best = [Span(math.inf, math.inf)] * len(makers)
    began = time.perf_counter()
    with no_garbage_collection():
        for repetition in range(repetitions):
            if repetition and time.perf_counter() - began > seconds:
                break
            for place, make in enumerate(makers):
                given = make()
                watch = Stopwatch()
                call(given)
                passed = watch.read()
                best[place] = Span(min(best[place].cpu, passed.cpu), min(best[place].wall, passed.wall))
    return Span(sum(span.cpu for span in best), sum(span.wall for span in best))


def keep_memory() -> None:
    """Let this process keep the memory that it frees, where the C library can be told so (glibc).

    Answers of hundreds of megabytes are otherwise given back to the system each time, and on a virtual machine from
    there to its host: taking them again took 3 ms an event where filling them took 0.16.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, -1)


def give_back_memory() -> None:
    """Give what this process has freed and kept back to the system, where the C library can be told so (glibc)."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
