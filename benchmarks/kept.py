"""The folder of results and its files: that it can be written is known before anything is measured."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from schemas.errors import TocsinError

Kept = TypeVar("Kept")

VARIABLE = "BENCH_RESULTS"
"""Environment variable that names another folder, to try a command out and keep the stored results as they are."""


def results_folder(usual: Path) -> Path:
    """Return the folder of results: ``usual``, or that of the environment."""
    named = os.environ.get(VARIABLE)
    return Path(named).absolute() if named else usual


RESULTS = results_folder(Path(__file__).parent / "results")


def require_folder(folder: Path = RESULTS) -> None:
    """Make the folder; raise `TocsinError` when files can't be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise _unwritable(folder, error) from None


def require_file(file: Path) -> None:
    """Make the folder of a file; raise `TocsinError` when the file can't be written there."""
    try:
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        file.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=file.parent).close()
    except OSError as error:
        raise TocsinError(
            f"{file} can't be written ({error.strerror}); name a file in a folder with room that you may write to"
        ) from None


def write(file: Path, text: str | bytes) -> None:
    """Put a file in the place of the older one, all at once: whoever is interrupted has the one or the other."""
    data = text.encode() if isinstance(text, str) else text
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        try:
            fresh.write_bytes(data)
            fresh.replace(file)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(file.parent, error) from None


def write_json(file: Path, value: Any) -> None:
    """Put a value into a file, for people and programs to read."""
    write(file, msgspec.json.format(msgspec.json.encode(value)) + b"\n")


def read_rows(file: Path, row: type[Kept]) -> list[Kept]:
    """Return the rows of a file, none when there is no file.

    Raises
    ------
    TocsinError
        The file holds something else.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[row])  # type: ignore[valid-type]
    except FileNotFoundError:
        return []
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TocsinError(f"{file} does not hold results ({error}); restore it, or remove it to begin anew") from None


def _unwritable(folder: Path, error: OSError) -> TocsinError:
    cure = f"see that it is a folder with room that you may write to, or name another one: {VARIABLE}=FOLDER"
    return TocsinError(f"results can't be written to {folder} ({error.strerror}); {cure}")
