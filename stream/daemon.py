"""Spark's worker daemon with everything loaded: workers fork from it ready to match, with nothing to import or compile.

Spark starts it by ``spark.python.daemon.module`` and speaks to it as to its own, whose `manager` does the work. Two
rules: standard output carries Spark's protocol and nothing else, and no thread may run when a worker is forked.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from socket import socket

SINGLE_THREADED = {
    # NumPy's BLAS starts a thread a core when it is imported; a worker has one core, and kernels of its own.
    "OPENBLAS_NUM_THREADS": "1",
    # Arrow's allocator frees memory in a thread of its own; without it, in the thread that asks for memory.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


Worker = Callable[[socket, bool], int]
"""Serves one connection of Spark in a process of its own, and returns the process's exit code."""

ENGINE = "TOCSIN_ENGINE"
"""The environment variable that names the engine whose kernels are compiled beforehand; see `stream.session`."""


def main() -> None:
    """Load everything, then serve Spark."""
    os.environ.update({name: value for name, value in SINGLE_THREADED.items() if name not in os.environ})
    with_output_on_stderr(load)
    from pyspark import daemon

    daemon.worker = ended_quietly(daemon.worker)  # type: ignore[assignment]
    daemon.manager()


def load() -> None:
    """Import what a worker needs, compile the kernels, and keep it all out of the workers' garbage collection.

    A failure is told and not fatal: a task that needs what is missing will say so itself.
    """
    try:
        import pyspark.worker  # noqa: F401

        from stream.warm_up import warm_up

        warm_up(os.environ.get(ENGINE, "block"))
    except Exception:
        traceback.print_exc()
    if threads() > 1:
        print(f"tocsin: {threads()} threads run in the worker daemon, which is about to fork", file=sys.stderr)
    gc.collect()
    # Workers collect garbage after each task; of the frozen objects, 25 ms of it, they need not.
    gc.freeze()


def ended_quietly(worker: Worker) -> Worker:
    """Return Spark's worker, which ends without a word when nobody takes its answer any more.

    So it is when a job ends or a task is given up, of which Java tells. Spark's daemon ends such a worker likewise, but
    leaves a stack trace in the log, which is no line of JSON where the log has such lines.
    """

    def quiet(sock: socket, authenticated: bool) -> int:
        try:
            return worker(sock, authenticated)
        except BrokenPipeError:
            os._exit(1)

    return quiet


def with_output_on_stderr(function: Callable[[], None]) -> None:
    """Call the function with file descriptor 1 pointing to standard error."""
    protocol = os.dup(1)
    os.dup2(2, 1)
    try:
        function()
        sys.stdout.flush()
    finally:
        os.dup2(protocol, 1)
        os.close(protocol)


def threads() -> int:
    """Return how many threads this process has; 1 where the system does not tell."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else 1


if __name__ == "__main__":
    main()
