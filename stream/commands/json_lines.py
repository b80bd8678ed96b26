"""Files of JSON lines that commands read: opening one, and a progress bar over its bytes."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from schemas.errors import TocsinError
from stream.commands.shared import unreadable
from stream.console import console

Progress = Callable[[int, int], None]
"""Told how many bytes were read and how many records were sent."""


@contextmanager
def open_lines(file: str) -> Iterator[BinaryIO]:
    """Open a file to read; ``-`` means stdin."""
    if file == "-":
        try:
            with suppress(io.UnsupportedOperation):  # what stands in for it, in tests for one, may have no descriptor
                os.read(sys.stdin.fileno(), 0)  # nothing, which tells whether it could be
        except OSError as error:
            raise TocsinError(f"stdin can't be read: {error.strerror}; open it, or give the path of a file") from error
        yield sys.stdin.buffer
        return
    try:
        lines = Path(file).open("rb")  # noqa: SIM115 - an OSError of the block below is not this one's
    except OSError as error:
        raise unreadable(file, error) from error
    with lines:
        yield lines


@contextmanager
def reading(lines: BinaryIO, title: str, records: str) -> Iterator[Progress]:
    """Yield a function that draws a progress bar where stderr is a terminal and does nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda position, sent: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    known = lines is not sys.stdin.buffer
    size = Path(lines.name).stat().st_size if known else 0
    columns = (BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeRemainingColumn()) if size else ()
    text = TextColumn(f"{{task.fields[sent]:,}} {records}, {{task.fields[rate]:,.0f}}/s")
    with Progress(TextColumn(title), *columns, text, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=size or None, sent=0, rate=0.0)
        began = drawn = time.monotonic()

        def tell(position: int, sent: int) -> None:
            nonlocal drawn
            now = time.monotonic()
            if now - drawn > 0.1:
                drawn = now
                bar.update(task, completed=position, sent=sent, rate=sent / (now - began))

        yield tell
