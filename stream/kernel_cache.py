"""Whether the matching kernels are compiled on this host, and compiling them, in a process of its own, where not.

Numba keeps compiled kernels on disk, and Spark's workers load them from there. A mark beside them says for which code,
processor and versions the warm-up has been through; so a start need not compile, nor try, to know.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import subprocess
import sys
import threading
from importlib.metadata import version
from pathlib import Path

import index
from index import byte_rows
from index.parent_process import end_with
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


def is_marked(engine: str) -> bool:
    """Return whether the warm-up has been through with this code, on this processor."""
    with contextlib.suppress(OSError):
        return _mark(engine).read_text() == _state()
    return False


def mark(engine: str) -> None:
    """Note that the warm-up has been through."""
    _mark(engine).write_text(_state())


def _mark(engine: str) -> Path:
    """Return the mark's file: in the folder where Numba keeps what is compiled, which it could write to."""
    return Path(str(byte_rows.compare.stats.cache_path)) / f"tocsin-{engine}.compiled"


def _state() -> str:
    """Return what compiled kernels depend on: their sources as Numba looks at them, versions, and the processor."""
    from llvmlite import binding

    package = Path(index.__file__).parent
    parts = [platform.python_version(), version("numba"), version("llvmlite"), binding.get_host_cpu_name()]
    parts.append(binding.get_host_cpu_features().flatten())
    for file in sorted(package.rglob("*.py")):
        found = file.stat()
        parts.append(f"{file.relative_to(package)} {found.st_mtime_ns} {found.st_size}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def main(engine: str, parent: str) -> None:
    """Compile as a process of its own, which ends with the one that started it."""
    from stream.warm_up import warm_up

    threading.Thread(target=end_with, args=(int(parent),), daemon=True).start()
    warm_up(engine)
    mark(engine)


if __name__ == "__main__":
    main(*sys.argv[1:])
