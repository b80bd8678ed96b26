"""Waits until something is so, which another process or thread brings about."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], bool], seconds: float, what: str = "") -> None:
    """Look again and again; that it is not so after that time fails the test, which says what was wrong."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
