"""A watchdog: a process that acts when this one dies, however it dies."""

from __future__ import annotations

import subprocess


class Watchdog:
    """Waits for the end of a pipe that only this process holds.

    A death signal from the kernel (PR_SET_PDEATHSIG) would also come when merely the thread that started it ends.

    Parameters
    ----------
    action
        What it does then, for ``sh``.
    arguments
        What ``$1`` and so on are in it.
    """

    def __init__(self, action: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            ["sh", "-c", f"read -r _; {action}", "watchdog", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end(self) -> None:
        """End it, before a process id that it knows may be another process's."""
        self._process.kill()
        self._process.communicate()
