"""One driver a folder: a lock that says who holds it, and that ends with its holder, however that ends."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from schemas.errors import TocsinError

LOCK_FILE = "driver.lock"
JOB = "job"
"""The kind of holder that matches events; others hold a folder for a while."""

ATTEMPTS = 4
PAUSE_SECONDS = 0.05
"""How often and after what time a lock is tried: `holder` takes it for a moment to see whether anybody has it."""


class Holder(msgspec.Struct):
    """Who holds a lock, as written in its file for the eye; the lock itself is the kernel's."""

    job: str
    pid: int
    host: str
    since: str
    endpoint: str | None = None
    kind: str = JOB

    def __str__(self) -> str:
        name = f"{self.kind} {self.job}" if self.job else self.kind
        return f"{name}, process {self.pid} on {self.host} since {self.since}"


_holder_decoder = msgspec.json.Decoder(Holder)


class FolderLock:
    """A context manager that holds a folder for this process.

    The lock is `flock`'s, so the kernel frees it when the process ends, by a crash too, and the file that stays behind
    locks nothing. Child processes do not inherit it: Python opens files that way.

    Parameters
    ----------
    folder
        The folder; made when missing.
    setting
        The setting that names it, for the sentence that refuses.
    job
        Name of the job; empty for a holder that has none.
    kind
        What holds it, where that is not a job.
    instead
        What may be done instead of ending another holder; None: naming another folder.

    Raises
    ------
    TocsinError
        Another process holds it, or the folder can't be written.
    """

    def __init__(self, folder: Path, setting: str, job: str, kind: str = JOB, instead: str | None = None) -> None:
        self._folder = folder
        self._setting = setting
        self._job = job
        self._kind = kind
        self._instead = instead or f"give this one a folder of its own ({setting})"
        self._descriptor = -1

    def __enter__(self) -> Self:
        path = self._folder / LOCK_FILE
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            _take(self._descriptor)
            self._holder = Holder(self._job, os.getpid(), socket.gethostname(), time.strftime("%Y-%m-%d %H:%M:%S"))
            self._holder.kind = self._kind
            self._write()
        except BlockingIOError:
            held = self._refusal(path)
            self._release()
            raise held from None
        except OSError as error:
            self._release()
            raise self._useless(path, error) from error
        return self

    def fileno(self) -> int:
        """Return the locked file's descriptor; a child that is given it keeps the folder for as long as it lives."""
        return self._descriptor

    def tell(self, endpoint: str | None) -> None:
        """Write down where the job that holds the folder answers, for `tocsin status`.

        Raises
        ------
        TocsinError
            It can't be written.
        """
        self._holder.endpoint = endpoint
        try:
            self._write()
        except OSError as error:
            raise self._useless(self._folder / LOCK_FILE, error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def _write(self) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, msgspec.json.encode(self._holder), 0)

    def _release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _refusal(self, path: Path) -> TocsinError:
        holder = _read(path)
        # without one it has the lock, and is about to write who it is
        who = "another process" if holder is None else str(holder)
        return TocsinError(f"{self._folder} is in use by {who}; stop that one, or {self._instead}")

    def _useless(self, path: Path, error: OSError) -> TocsinError:
        found = f"{error.filename} is a file" if isinstance(error, FileExistsError) else error.strerror
        return TocsinError(
            f"the lock {path} can't be taken: {found}; name a folder on a disk with room that this process may write "
            f"to and that supports locks ({self._setting})"
        )


def holder(folder: Path) -> Holder | None:
    """Return who holds a folder, as the holder wrote it down; None when nobody does."""
    path = folder / LOCK_FILE
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(path) or Holder("", 0, "", "")
    finally:
        os.close(descriptor)
    return None


def _read(path: Path) -> Holder | None:
    try:
        return _holder_decoder.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None


def _take(descriptor: int) -> None:
    """Lock a file for this process alone, or raise BlockingIOError when somebody keeps it."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt == ATTEMPTS:
                raise
            time.sleep(PAUSE_SECONDS)
        else:
            return
