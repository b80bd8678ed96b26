"""File operations on a local disk: a file appears whole under its name, or not at all; what was written is durable."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from index import failpoints
from index.damaged_file import DamagedFile
from schemas.errors import TocsinError

TEMPORARY = ".tmp"
"""Suffix of files that are being written; one that outlives its writer is garbage."""

Bytes = bytes | memoryview

Check = Callable[[npt.NDArray[np.uint8]], object]
"""Raises when a file's bytes are not those that were wanted."""

_WRITABLE = (
    "The index wants a local file system with free space, hard links and permission to write; free some space or name "
    "another index directory."
)
_READABLE = (
    "The index directory must be a folder all of whose files this user may read, on a disk without faults; see to that "
    "or name another index directory."
)


def make_folder(path: Path) -> None:
    """Make a folder that only its owner may enter; parents are made as needed and an existing folder is left alone."""
    with _explained(path), failpoints.around("make", path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)


def write_new(path: Path, chunks: Iterable[Bytes], check: Check | None = None) -> None:
    """Write a file under a name that nobody else uses; it is durable, and visible as a whole, when the call returns.

    What ``check`` raises of the written bytes leaves no file.
    """
    with _explained(path), _temporary(path, chunks) as temporary:
        if check is not None:
            check(map_readonly(temporary))
        with failpoints.around("rename", path):
            temporary.rename(path)
        _sync_folder(path)


def create_exclusive(path: Path, content: bytes) -> bool:
    """Create a file as a whole unless its name is taken; return whether it was created.

    A hard link gives the written file its name: unlike a rename it fails when the name exists, and unlike an exclusive
    open it shows no reader a half-written file.
    """
    with _explained(path), _temporary(path, [content]) as temporary:
        try:
            with failpoints.around("link", path):
                path.hardlink_to(temporary)
        except FileExistsError:
            return False
        _sync_folder(path)
        return True


def read(path: Path) -> bytes:
    """Return a file's content.

    Raises
    ------
    DamagedFile
        It is missing.
    """
    with _explained(path, "read"):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise DamagedFile(path, "no such file", "the file") from None


def map_readonly(path: Path) -> npt.NDArray[np.uint8]:
    """Return a file's bytes as one read-only memory map, which lives as long as some view of it.

    Raises
    ------
    DamagedFile
        It is missing or empty.
    """
    with _explained(path, "read"):
        try:
            # Numba has a type of its own for np.memmap; a plain array keeps one compiled form of each kernel.
            return np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
        except FileNotFoundError:
            raise DamagedFile(path, "no such file", "the file") from None
        except ValueError:
            raise DamagedFile(path, "an empty file", "arrays and a footer") from None


def is_there(path: Path) -> bool:
    """Return whether there is such a file."""
    return _stat(path) is not None


def remove(path: Path) -> None:
    """Remove a file; one that is gone already is fine."""
    with _explained(path, "remove"), failpoints.around("remove", path):
        path.unlink(missing_ok=True)


def touch(path: Path) -> None:
    """Make a file young again, so that garbage collection leaves it to its writer for another grace period."""
    with _explained(path), contextlib.suppress(FileNotFoundError), failpoints.around("touch", path):
        os.utime(path)


def names(folder: Path, suffix: str = "") -> list[str]:
    """Return the names in a folder that end in ``suffix``, ascending; a folder that does not exist has none."""
    with _explained(folder, "read"):
        try:
            found = os.listdir(folder)  # noqa: PTH208 (no Path objects)
        except FileNotFoundError:
            return []
    return sorted(name for name in found if name.endswith(suffix))


def folders(folder: Path) -> list[str]:
    """Return the names of the folders in a folder, ascending; one that does not exist has none."""
    found = names(folder)
    with _explained(folder, "read"):
        return [name for name in found if (folder / name).is_dir()]


def ages(folder: Path, suffix: str) -> dict[str, float]:
    """Return the names in a folder that end in ``suffix``, ascending, with the seconds since each was written."""
    return {name: age(folder / name) for name in names(folder, suffix)}


def forget(path: Path) -> bool:
    """Do nothing: there is no copy of a local file that could be fetched anew."""
    return False


def age(path: Path) -> float:
    """Return the seconds since a file was written or touched; 0 for a file that is gone."""
    found = _stat(path)
    return 0.0 if found is None else time.time() - found.st_mtime


def length(path: Path) -> int:
    """Return the length of a file; 0 for one that is gone."""
    found = _stat(path)
    return 0 if found is None else found.st_size


def _stat(path: Path) -> os.stat_result | None:
    """Return what the disk says of a file; None for one that is gone."""
    with _explained(path, "read"):
        try:
            return path.stat()
        except FileNotFoundError:
            return None


@contextlib.contextmanager
def _temporary(path: Path, chunks: Iterable[Bytes]) -> Iterator[Path]:
    """Write a durable file beside ``path`` under a temporary name, which is gone when the block ends."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}{TEMPORARY}")
    try:
        with failpoints.around("create", path):
            file = temporary.open("xb")
        with file:
            with failpoints.around("write", path):
                file.writelines(chunks)
            with failpoints.around("sync", path):
                _sync(file)
        yield temporary
    finally:
        with failpoints.around("tidy", path):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _explained(path: Path, operation: Literal["write", "remove", "read"] = "write") -> Iterator[None]:
    """Turn the operating system's refusal into a sentence with the cure; every operation stands under it."""
    try:
        yield
    except OSError as error:
        raise TocsinError(
            f"Cannot {operation} {path}: {error.strerror or error}. {_READABLE if operation == 'read' else _WRITABLE}"
        ) from error


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    """Make a file's new name durable: the folder's entry is a write of its own."""
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        with failpoints.around("sync-name", path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
