"""The job as a process of its own: `tocsin run` with a settings file, awaited, stopped or killed, and nothing left."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from schemas.errors import TocsinError
from stream.job import READY_FILE
from stream.log_files import TAIL_LINES, tail
from stream.settings import Settings
from stream.settings_reference import settings_toml
from stream.watchdog import Watchdog

STOP_SECONDS = 15.0
HURRY_SECONDS = 5.0
"""How long the job may take to stop in order, and how long when its starter failed and nothing of it is kept."""

KILL_SECONDS = 3.0
SHORT = 32
"""Characters of the temporary folder's path; Spark's socket files lie under it, and systems take about 100 in all."""

KILL_GROUP = 'kill -s KILL -- "-$1" 2>/dev/null'
"""Should this process be killed, the job's process group goes too.
``kill -KILL -- -1`` would be refused by dash, which is ``sh`` on Debian and Ubuntu."""


class JobProcess:
    """The job; a context manager that starts it and, however the block ends, leaves nothing of it running.

    Parameters
    ----------
    settings
        The job's, written to ``tocsin.toml`` in the folder; the environment's settings do not reach the job.
    folder
        Where its settings and its log go.
    working_folder
        What the job's relative paths are relative to; None takes this process's own.
    """

    def __init__(self, settings: Settings, folder: Path, working_folder: Path | None = None) -> None:
        self.log = folder / "job.log"
        self._settings_file = folder / "tocsin.toml"
        self._settings_file.touch(mode=0o600)
        self._settings_file.write_text(settings_toml(settings, secrets=True), encoding="utf-8")
        self._ready_file = folder / "ready"
        self._working_folder = working_folder
        self._scratch: list[Path] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: Watchdog | None = None

    @property
    def pid(self) -> int:
        """The driver's process id, which is also that of its session and process group."""
        assert self._process is not None, "the job was not started"
        return self._process.pid

    @property
    def ready(self) -> bool:
        """Whether all subscriptions are loaded and events are being matched."""
        return self._ready_file.exists()

    def start(self, **environment: str) -> None:
        """Start it, also again after it has ended, with further environment variables."""
        self._end_watchdog()
        self._ready_file.unlink(missing_ok=True)
        usual = tempfile.gettempdir()
        scratch = Path(tempfile.mkdtemp(prefix="tocsin-job-", dir=usual if len(usual) <= SHORT else "/tmp"))
        self._scratch.append(scratch)
        command = [sys.executable, "-P", "-m", "stream.cli", "--config", str(self._settings_file), "run"]
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C in the terminal reaches the starter alone, which then stops the job in order.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=self._environment(scratch) | environment,
                cwd=self._working_folder,
            )
        self._watchdog = Watchdog(KILL_GROUP, str(self._process.pid))

    def await_ready(self, seconds: float) -> None:
        """Wait until it is ready.

        Raises
        ------
        TocsinError
            It ended, or took longer.
        """
        deadline = time.monotonic() + seconds
        while not self.ready:
            self.check()
            if time.monotonic() > deadline:
                raise TocsinError(f"the job did not get ready in {seconds:g} s; its log ends with:\n{self.tail()}")
            time.sleep(0.05)

    def check(self) -> None:
        """Raise TocsinError, with the end of its log, if it has ended."""
        assert self._process is not None, "the job was not started"
        if (code := self._process.poll()) is not None:
            raise TocsinError(f"the job ended by itself with exit code {code}; its log ends with:\n{self.tail()}")

    def terminate(self, seconds: float) -> int | None:
        """Ask it to stop and return its exit code; None when it has not stopped in that time."""
        assert self._process is not None, "the job was not started"
        self._process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds: float) -> int | None:
        """Wait for its end by itself and return its exit code; None when it has not ended in that time."""
        assert self._process is not None, "the job was not started"
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def kill(self) -> None:
        """Kill the driver alone, as a crash would; what it has started then ends by itself."""
        assert self._process is not None, "the job was not started"
        self._process.kill()
        self._process.wait()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ask it to stop, and kill what is left of its process group then; harmless when it has been stopped."""
        if self._process is None:
            return
        self.terminate(seconds)
        deadline = time.monotonic() + KILL_SECONDS
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody left, or nobody but the dead
            while time.monotonic() < deadline:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.poll()
                time.sleep(0.02)
        self._end_watchdog()
        self._process = None
        for scratch in self._scratch:
            shutil.rmtree(scratch, ignore_errors=True)

    def last_words(self) -> str:
        """Return what the job has said last, without the time."""
        return self.tail(1).partition(" ")[2]

    def tail(self, lines: int = TAIL_LINES) -> str:
        """Return the end of its log."""
        return tail(self.log.read_text(encoding="utf-8", errors="replace"), lines)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(STOP_SECONDS if error is None else HURRY_SECONDS)

    def _end_watchdog(self) -> None:
        if self._watchdog is not None:
            self._watchdog.end()
            self._watchdog = None

    def _environment(self, scratch: Path) -> dict[str, str]:
        """Return the environment without Tocsin's settings, and with temporary files in ``scratch``."""
        own = {name: value for name, value in os.environ.items() if not (name.startswith("TOCSIN_") and "__" in name)}
        java = f'{own.get("JDK_JAVA_OPTIONS", "")} "-Djava.io.tmpdir={scratch}"'.strip()
        return own | {
            READY_FILE: str(self._ready_file),
            "TMPDIR": str(scratch),
            "SPARK_LOCAL_DIRS": str(scratch),
            "JDK_JAVA_OPTIONS": java,
        }
