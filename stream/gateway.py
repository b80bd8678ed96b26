"""Spark's Java machine: a signal to all processes of the job ends the driver, and the driver the rest; how it ended.

`timeout`, a service manager or Ctrl-C tell the whole process group, or every process of a service, to end. Java would
do so at once, in the midst of the driver's calls to it and of the micro-batch under way.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf

NOTICE_SECONDS = 1.0
"""How long after its connections Java may be seen to have ended."""


class Deaf(subprocess.Popen[bytes]):
    """A process that ignores SIGTERM, and with it what it starts, unless that installs handlers of its own.

    Java installs none for a signal that is ignored from the start; it ends when its standard input does, which is at
    the latest when the driver is gone.
    """

    def __init__(self, command: list[str], preexec_fn: Callable[[], object] | None = None, **options: Any) -> None:
        def ignore() -> None:
            if preexec_fn is not None:
                preexec_fn()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

        super().__init__(command, preexec_fn=ignore, **options)


def launch(conf: SparkConf, output: IO[bytes]) -> JavaGateway:
    """Start Java as PySpark does, deaf to SIGTERM too and not to SIGINT only; ``output`` gets what it prints."""
    from pyspark import java_gateway

    with _starting_deaf(java_gateway):
        gateway: JavaGateway = java_gateway.launch_gateway(conf, {"stdout": output, "stderr": output})
    return gateway


def end_of(gateway: JavaGateway, seconds: float = 0.0) -> int | None:
    """Return the exit code of Java, as `subprocess` has it; None when it has not ended after so many seconds."""
    process: subprocess.Popen[bytes] | None = gateway.proc
    if process is not None:  # Java that was started by others is theirs
        with suppress(subprocess.TimeoutExpired):
            return process.wait(seconds)
    return None


@contextmanager
def handlers_kept() -> Iterator[None]:
    """Let PySpark put no handler of SIGINT in the place of the caller's.

    Its own asks Java to cancel jobs, in the midst of whichever call to Java the signal has come in.
    """
    from pyspark.core import context

    module: Any = context
    usual = module.signal
    module.signal = SimpleNamespace(SIGINT=usual.SIGINT, signal=lambda *_: None)
    try:
        yield
    finally:
        module.signal = usual


@contextmanager
def in_vain_when_ended(gateway: JavaGateway) -> Iterator[None]:
    """Let calls fail that would stop what ended with Java, which may be seen to have ended a moment later."""
    try:
        yield
    except Exception:  # by Py4J or the operating system
        if end_of(gateway, NOTICE_SECONDS) is None:
            raise


@contextmanager
def _starting_deaf(module: Any) -> Iterator[None]:
    """Let the module start deaf processes: it overwrites what a caller says of the moment before the program begins."""
    usual = module.Popen
    module.Popen = Deaf
    try:
        yield
    finally:
        module.Popen = usual
