"""Compiling the matching kernels where this host has none, in a process of its own and before Spark starts."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from index.parent_process import end_with
from stream.kernel_mark import is_marked, mark
from stream.stop import Stop
from stream.wording import Say

COMPILING = "compiling the matching kernels, once, about a minute"


def ensure_compiled(engine: str, log: Path, stop: Stop, say: Say) -> None:
    """Compile an engine's kernels unless they are compiled; returns early when a stop begins.

    Parameters
    ----------
    engine
        As in ``job.engine``.
    log
        File that the compiling process's output goes to.
    stop
        Ends the compiling when it begins.
    say
        Told that it takes a while.
    """
    if is_marked(engine):
        return
    say(COMPILING)
    command = [sys.executable, "-P", "-m", "stream.kernel_cache", engine, str(os.getpid())]
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        while process.poll() is None and not stop.wait(0.1):
            pass
        if process.poll() and not stop.wait(0.5):
            say(f"the kernels could not be compiled beforehand (see {log}); the workers compile those that they need")
    finally:
        process.kill()
        process.wait()


def main(engine: str, parent: str) -> None:
    """Compile as a process of its own, which ends with the one that started it."""
    from stream.warm_up import warm_up

    threading.Thread(target=end_with, args=(int(parent),), daemon=True).start()
    warm_up(engine)
    mark(engine)


if __name__ == "__main__":
    main(*sys.argv[1:])
