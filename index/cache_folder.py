"""Where Tocsin keeps what it can have again: downloads, what it has prepared once, and copies of remote segments."""

from __future__ import annotations

import os
import sys
from pathlib import Path

CACHE_VARIABLE = "TOCSIN_CACHE_DIR"
"""Environment variable that names the folder; for an index in an object store it should be on a fast local disk."""


def cache_folder() -> Path:
    """Return the folder that the variable names, or the user's cache folder as the system has it."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tocsin"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tocsin"
