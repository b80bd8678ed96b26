"""The living processes of a running job, demo or cluster, which may end while one looks at them."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterable, Sequence

import psutil


def command_of(process: psutil.Process) -> str:
    """Return a process's command line, nothing when it has ended meanwhile."""
    try:
        return " ".join(process.cmdline())
    except (psutil.Error, ProcessLookupError):
        return ""


def living(is_ours: Callable[[psutil.Process], bool], words: str = "") -> list[psutil.Process]:
    """Return the processes that are ours, no zombies, and whose command line has these words.

    One that ends while it is looked at is not among them.
    """
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            ours = is_ours(process) and process.status() != psutil.STATUS_ZOMBIE
            if ours and words in " ".join(process.cmdline()):
                found.append(process)
    return found


def outermost(found: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Return those of these that none of them has started.

    A child that a process is just starting has its command line until it runs its own: words alone may find both.
    """
    parents = {process.pid: _parent_of(process) for process in found}
    return [process for process in found if parents[process.pid] not in parents]


def _parent_of(process: psutil.Process) -> int | None:
    """Return the id of its parent, nothing when it has ended meanwhile."""
    with contextlib.suppress(psutil.Error):
        return int(process.ppid())
    return None


def children_of(process: psutil.Process) -> list[psutil.Process]:
    """Return all that a process has started, at any depth; nothing when it has ended meanwhile."""
    with contextlib.suppress(psutil.Error):
        return list(process.children(recursive=True))
    return []


def send(number: signal.Signals, processes: Iterable[psutil.Process]) -> None:
    """Send a signal to what still lives of these."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill what still lives of these."""
    send(signal.SIGKILL, processes)
