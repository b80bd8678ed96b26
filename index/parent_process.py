"""A process that ends with the one that started it."""

from __future__ import annotations

import os
import time

SECONDS = 0.5
"""Pause between two looks."""


def end_with(parent: int) -> None:
    """End this process, whatever it is doing, soon after its parent: an orphan has another parent."""
    while os.getppid() == parent:
        time.sleep(SECONDS)
    os._exit(0)
