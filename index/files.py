"""File operations of an index directory, on a local disk or in an object store: a file appears whole, or not at all."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from index import local_files
from index.damaged_file import DamagedFile
from index.local_files import TEMPORARY, Bytes, Check
from index.remote_path import RemotePath

if TYPE_CHECKING:
    from index.remote_files import RemoteFiles

__all__ = ["TEMPORARY", "Bytes", "DamagedFile", "Location"]

Location = Path | RemotePath
"""A file or folder of an index directory."""


def make_folder(path: Location) -> None:
    """Make a folder that only its owner may enter; parents are made as needed and an existing folder is left alone."""
    return local_files.make_folder(path) if isinstance(path, Path) else _store(path.root).make_folder(path)


def write_new(path: Location, chunks: Iterable[Bytes]) -> None:
    """Write a file under a name that nobody else uses; it is durable, and visible as a whole, when the call returns."""
    return local_files.write_new(path, chunks) if isinstance(path, Path) else _store(path.root).write_new(path, chunks)


def create_exclusive(path: Location, content: bytes) -> bool:
    """Create a file as a whole unless its name is taken; return whether it was created.

    The content should be nobody else's: in a store a file of equal content is taken for the one that was to be written.
    """
    return (
        local_files.create_exclusive(path, content)
        if isinstance(path, Path)
        else _store(path.root).create_exclusive(path, content)
    )


def read(path: Location) -> bytes:
    """Return a file's content.

    Raises
    ------
    DamagedFile
        It is missing.
    """
    return local_files.read(path) if isinstance(path, Path) else _store(path.root).read(path)


def map_readonly(path: Location, check: Check) -> npt.NDArray[np.uint8]:
    """Return a file's bytes as one read-only memory map, which lives as long as some view of it.

    Of an object in a store it is a local copy that is mapped, by all processes of the host. ``check`` looks at what was
    fetched before that becomes the copy; a file on a disk is as it is.

    Raises
    ------
    DamagedFile
        It is missing or empty.
    """
    return local_files.map_readonly(path) if isinstance(path, Path) else _store(path.root).map_readonly(path, check)


def forget(path: Location) -> bool:
    """Remove the local copy of an object; return whether mapping the file means another try, to fetch it anew."""
    return local_files.forget(path) if isinstance(path, Path) else _store(path.root).forget(path)


def remove(path: Location) -> None:
    """Remove a file; one that is gone already is fine."""
    return local_files.remove(path) if isinstance(path, Path) else _store(path.root).remove(path)


def touch(path: Location) -> None:
    """Make a file young again, so that garbage collection leaves it to its writer for another grace period."""
    return local_files.touch(path) if isinstance(path, Path) else _store(path.root).touch(path)


def ages(folder: Location, suffix: str = "") -> dict[str, float]:
    """Return the names in a folder that end in ``suffix``, ascending, and the age of each in seconds.

    A folder that does not exist has none.
    """
    return local_files.ages(folder, suffix) if isinstance(folder, Path) else _store(folder.root).ages(folder, suffix)


def names(folder: Location, suffix: str = "") -> list[str]:
    """Return the names in a folder that end in ``suffix``, ascending; a folder that does not exist has none."""
    return local_files.names(folder, suffix) if isinstance(folder, Path) else list(ages(folder, suffix))


def folders(folder: Location) -> list[str]:
    """Return the names of the folders in a folder, ascending; one that does not exist has none."""
    return local_files.folders(folder) if isinstance(folder, Path) else _store(folder.root).folders(folder)


def numbers(folder: Location, suffix: str) -> list[int]:
    """Return the numbers that files of a folder have for names, ascending; other files are not ours."""
    stems = (name.removesuffix(suffix) for name in names(folder, suffix))
    return [int(stem) for stem in stems if stem.isascii() and stem.isdigit()]


def age(path: Location) -> float:
    """Return the seconds since a file was written or touched; 0 for a file that is gone."""
    return local_files.age(path) if isinstance(path, Path) else _store(path.root).age(path)


def length(path: Location) -> int:
    """Return the length of a file; 0 for one that is gone."""
    return local_files.length(path) if isinstance(path, Path) else _store(path.root).length(path)


def unique_name() -> str:
    """Return a name that no other file has; names sort roughly by time, for the eye only."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(8)}"


@cache
def _store(root: str) -> RemoteFiles:
    """Return the process's one connection to a store; its library is loaded where there is one only."""
    from index.remote_files import RemoteFiles

    return RemoteFiles(root)
