"""The standard streams of a command: some may be closed at its start, and output may come to nothing at its end."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def fill() -> None:
    """Put something in the place of each standard stream that was closed, so that files opened later do not come there.

    Reading the one and writing the other of them fails as on any closed file; what stderr gets is dropped.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r", closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", closefd=False)


def settle() -> None:
    """Write what is on its way to stdout, or drop it, so that the interpreter's last flush meets no error."""
    try:
        sys.stdout.flush()
    except OSError:
        drop(sys.stdout)


def drop(stream: TextIO) -> None:
    """Let what is on its way to a stream, and what follows, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
