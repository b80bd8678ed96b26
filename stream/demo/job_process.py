"""The demo's job: `tocsin run` as a process of its own, with its settings, its log and its end."""

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
from stream.settings import Settings, load_settings
from stream.settings_reference import settings_toml
from stream.settings_tables import Job, Kafka, Topics

STOP_SECONDS = 15.0
HURRY_SECONDS = 5.0
"""How long the job may take to stop in order, and how long when the demo is interrupted and nothing of it is kept."""

KILL_SECONDS = 3.0
SHORT = 32
"""Characters of the temporary folder's path; Spark's socket files lie under it, and systems take about 100 in all."""

TAIL_LINES = 15

WATCHDOG = 'read -r _; kill -KILL -- "-$1" 2>/dev/null'
"""Waits for the end of a pipe that only this process holds: should it be killed, the job's process group goes too."""


def write_settings(folder: Path, bootstrap_servers: str, top: int) -> Path:
    """Write the demo's settings file and return its path."""
    settings = Settings(
        kafka=Kafka(bootstrap_servers=bootstrap_servers),
        topics=Topics(partitions=2),
        job=Job(
            name="tocsin-demo",
            top=top,
            master="local[2]",
            index_dir=str(folder / "index"),
            checkpoint_dir=str(folder / "checkpoint"),
            log_file=str(folder / "spark.log"),
            metrics_interval_seconds=2,
        ),
        spark={"spark.driver.memory": "1g"},
    )
    file = folder / "tocsin.toml"
    file.write_text(settings_toml(settings), encoding="utf-8")
    return file


def read_settings(file: Path) -> Settings:
    """Read that file alone: a setting in the user's environment may name another broker, which is not for the demo."""
    return load_settings(file, environ={})


class JobProcess:
    """The job; a context manager that starts it and, however the block ends, leaves nothing of it running.

    Parameters
    ----------
    settings_file
        What `write_settings` wrote.
    folder
        Where its log goes.
    """

    def __init__(self, settings_file: Path, folder: Path) -> None:
        self._settings_file = settings_file
        self._ready_file = folder / "ready"
        self._log = folder / "job.log"
        self._scratch: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        usual = tempfile.gettempdir()
        self._scratch = Path(tempfile.mkdtemp(prefix="tocsin-job-", dir=usual if len(usual) <= SHORT else "/tmp"))
        command = [sys.executable, "-P", "-m", "stream.cli", "--config", str(self._settings_file), "run"]
        with self._log.open("ab") as log:
            # A session of its own: Ctrl-C in the terminal reaches the demo alone, which then stops the job in order.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=self._environment(self._scratch),
            )
        self._watchdog = subprocess.Popen(
            ["sh", "-c", WATCHDOG, "watchdog", str(self._process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(STOP_SECONDS if error is None else HURRY_SECONDS)

    @property
    def ready(self) -> bool:
        """Whether all subscriptions are loaded and events are being matched."""
        return self._ready_file.exists()

    def check(self) -> None:
        """Raise TocsinError, with the end of its log, if it has ended."""
        assert self._process is not None
        if (code := self._process.poll()) is not None:
            end = "\n".join(self._lines()[-TAIL_LINES:])
            raise TocsinError(f"the job ended by itself with exit code {code}; its log ends with:\n{end}")

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ask it to stop, and kill what is left of its process group then; harmless when it has been stopped."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        deadline = time.monotonic() + KILL_SECONDS
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody left, or nobody but the dead
            while time.monotonic() < deadline:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.poll()
                time.sleep(0.02)
        self._end_watchdog()
        self._process = None
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def last_words(self) -> str:
        """Return what the job has said last, without the time."""
        lines = self._lines()
        return lines[-1].partition(" ")[2] if lines else ""

    def _lines(self) -> list[str]:
        return self._log.read_text(encoding="utf-8", errors="replace").splitlines()

    def _end_watchdog(self) -> None:
        if self._watchdog is not None:
            self._watchdog.kill()
            self._watchdog.communicate()
            self._watchdog = None

    def _environment(self, scratch: Path) -> dict[str, str]:
        """Return the environment without Tocsin's settings, see `read_settings`, temporary files in ``scratch``."""
        own = {name: value for name, value in os.environ.items() if not (name.startswith("TOCSIN_") and "__" in name)}
        java = f'{own.get("JDK_JAVA_OPTIONS", "")} "-Djava.io.tmpdir={scratch}"'.strip()
        return own | {
            READY_FILE: str(self._ready_file),
            "TMPDIR": str(scratch),
            "SPARK_LOCAL_DIRS": str(scratch),
            "JDK_JAVA_OPTIONS": java,
        }
