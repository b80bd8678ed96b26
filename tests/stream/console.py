"""The command line without a broker: the console script, run as a shell would, or a command in this process."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal
from unittest import mock

from typer.testing import CliRunner, Result

from stream.command_table import app

TOCSIN = str(Path(sys.executable).with_name("tocsin"))
ESCAPE = "\x1b"


def tocsin(
    *arguments: str, stdin: str = "", seconds: float = 60, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the console script as a shell would, in a pipe."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")}
    return subprocess.run(
        [TOCSIN, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env=clean | environment,
    )


def in_process(*arguments: str, stdin: str = "", **environment: str) -> Result:
    """Run a command in this process, which spares the interpreter's start; the process's priority stays what it is."""
    with mock.patch("os.nice"):
        return CliRunner().invoke(app, arguments, input=stdin, env=environment)


def together(calls: Iterable[Sequence[str]], **options: Any) -> Iterator[tuple[str, subprocess.CompletedProcess[str]]]:
    """Run several command lines side by side, since most of a run is the interpreter's start."""
    calls = list(calls)
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda call: tocsin(*call, **options), calls)
        yield from zip(map(shlex.join, calls), results, strict=True)


def on_a_terminal(
    stream: Literal["stdout", "stderr"], *arguments: str, environment: Mapping[str, str]
) -> tuple[int, str]:
    """Run the console script, one of its streams a terminal; return the code and what came there."""
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen([TOCSIN, *arguments], env=environment, **{stream: theirs}) as process:  # type: ignore[call-overload]
        os.close(theirs)
        with suppress(OSError):  # the other side was closed: how Linux says end of file here
            while chunk := os.read(ours, 4096):
                shown += chunk
    os.close(ours)
    return process.returncode, shown.decode()
