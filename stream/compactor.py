"""The compaction process beside the job: it merges segments and collects garbage, off the path of the events."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO

STOP_SECONDS = 5.0


class Compactor:
    """Keeps ``python -m index.compaction --watch`` running while the job runs; a merge may be cut off anywhere.

    Parameters
    ----------
    index
        The index directory.
    output
        File that its errors are appended to.
    engine, analyser
        Of the job.
    merged
        Told of each merge, how many seconds it took; called from a thread of its own.
    """

    def __init__(
        self,
        index: str | Path,
        output: Path,
        engine: str = "block",
        analyser: str = "words",
        merged: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._output = output
        self._merged = merged
        # The process id closes the gap in which this one may die before the other has looked for its parent.
        parent = str(os.getpid())
        # -P: the working directory may hold an index directory that is called as the package is.
        self._command = [sys.executable, "-P", "-m", "index.compaction", str(index), "--watch", "--with-parent", parent]
        self._command += ["--engine", engine, "--analyser", analyser, "--report"]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Compactor:
        self.keep_running()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def keep_running(self) -> int | None:
        """Start the process if it is not running; return the exit code of one that had ended."""
        ended = None if self._process is None else self._process.poll()
        if self._process is None or ended is not None:
            self._output.parent.mkdir(parents=True, exist_ok=True)
            with self._output.open("ab") as errors:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
                )
            assert self._process.stdout is not None
            threading.Thread(target=self._listen, args=(self._process.stdout,), name="merges", daemon=True).start()
        return ended

    def _listen(self, merges: IO[bytes]) -> None:
        """Pass on what a process says of its merges, until it ends."""
        with merges:
            for line in merges:
                self._merged(float(line))
