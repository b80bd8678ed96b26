"""Named places where a test lets a process die or stand still: before and after each file operation of an index."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from index.remote_path import RemotePath

VARIABLE = "TOCSIN_FAILPOINT_FILE"
"""Environment variable that names a file; unset, as always but in tests. While the file exists it holds
``place:signal``, for example ``events.committed:SIGKILL``, so that a running job can be told."""

BEFORE, AFTER = "before", "after"


def reach(place: str) -> None:
    """Send this process the signal, if the file names this place; once, whoever comes first."""
    file = os.environ.get(VARIABLE)
    if file is None or not os.path.exists(file):  # noqa: PTH110 (no Path objects)
        return
    with suppress(FileNotFoundError):  # another process was faster
        wanted, _, number = Path(file).read_text(encoding="ascii").partition(":")
        if wanted == place:
            Path(file).unlink()
            os.kill(os.getpid(), signal.Signals[number])


@contextmanager
def around(operation: str, path: Path | RemotePath) -> Iterator[None]:
    """Stand around one file operation: the places are ``<kind>.<operation>.before`` and ``….after``.

    The kind is the file's suffix, such as ``seg``; a folder, which has none, is a ``folder``.
    """
    kind = path.suffix.removeprefix(".") or "folder"
    reach(f"{kind}.{operation}.{BEFORE}")
    yield
    reach(f"{kind}.{operation}.{AFTER}")
