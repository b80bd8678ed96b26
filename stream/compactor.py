"""The compaction process beside the job: it merges segments and collects garbage, off the path of the events."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

STOP_SECONDS = 5.0

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds until a process that ended is started again: twice as many each time, since what ended it may last."""

WELL_SECONDS = 60.0
"""A process that has lived so long, or merged something, has begun well: the next pause is the first one again."""


class Ended(NamedTuple):
    """A process that has ended: its exit code, and in how many seconds the next one is started."""

    code: int
    pause: float


class Compactor:
    """Keeps ``python -m index.compaction_process --watch`` running while the job runs; a merge may be cut off anywhere.

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
        self._command = [sys.executable, "-P", "-m", "index.compaction_process", str(index)]
        self._command += ["--watch", "--with-parent", parent]
        self._command += ["--engine", engine, "--analyser", analyser, "--report"]
        self._process: subprocess.Popen[bytes] | None = None
        self._started = self._start_at = 0.0
        self._has_merged = False
        self._pause = FIRST_PAUSE

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

    def keep_running(self) -> Ended | None:
        """Start the process if it is not running and its pause is over; return that one has ended, once."""
        if self._process is None:
            if time.monotonic() >= self._start_at:
                self._start()
            return None
        code = self._process.poll()
        if code is None:
            return None
        now = time.monotonic()
        if self._has_merged or now - self._started >= WELL_SECONDS:
            self._pause = FIRST_PAUSE
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        self._process, self._start_at = None, now + pause
        return Ended(code, pause)

    def _start(self) -> None:
        self._output.parent.mkdir(parents=True, exist_ok=True)
        with self._output.open("ab") as errors:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
        self._started, self._has_merged = time.monotonic(), False
        assert self._process.stdout is not None
        threading.Thread(target=self._listen, args=(self._process.stdout,), name="merges", daemon=True).start()

    def _listen(self, merges: IO[bytes]) -> None:
        """Pass on what a process says of its merges, until it ends."""
        with merges:
            for line in merges:
                self._has_merged = True
                self._merged(float(line))
