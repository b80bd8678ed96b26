"""Named places between two steps of the commit protocol, where a test lets the driver die or stand still."""

from __future__ import annotations

import os
import signal

VARIABLE = "TOCSIN_FAILPOINT"
"""Environment variable ``place:signal``, for example ``events.committed:SIGKILL``; unset, as always but in tests."""


def reach(place: str) -> None:
    """Send this process the signal, if the variable names this place."""
    wanted, _, number = os.environ.get(VARIABLE, "").partition(":")
    if wanted == place:
        del os.environ[VARIABLE]  # once
        os.kill(os.getpid(), signal.Signals[number])
