"""Paths of an index that is known to be in a folder, not in an object store."""

from __future__ import annotations

from pathlib import Path

from index.files import Location


def local(path: Location) -> Path:
    assert isinstance(path, Path)
    return path
