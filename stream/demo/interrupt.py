"""A safe way out: the work runs on a second thread, and signals only set a flag that it looks at where it can stop.

An exception out of a signal handler could fall between the start of a process and the note that it must be ended; a
flag can't.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from schemas.errors import TocsinError
from stream.exit_codes import INTERRUPTED

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """The demo is to end now."""


class Stop:
    """The flag."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask the work to end."""
        self._event.set()

    @property
    def wanted(self) -> bool:
        """Whether the work is to end."""
        return self._event.is_set()

    def look(self) -> None:
        """Raise Interrupted if the work is to end; called wherever it may."""
        if self.wanted:
            raise Interrupted

    def wait(self, seconds: float) -> None:
        """Sleep, unless the work is to end: then raise Interrupted at once."""
        if self._event.wait(seconds):
            raise Interrupted


def supervise(work: Callable[[Stop], int], on_stop: Callable[[], None]) -> int:
    """Run the work and return its exit code, or 130 when SIGINT, SIGTERM or SIGHUP came.

    Parameters
    ----------
    work
        Looks at the flag it gets, and cleans up by itself.
    on_stop
        Called once when the first signal has come.
    """
    stop = Stop()
    outcome: list[int | BaseException] = []

    def run() -> None:
        try:
            outcome.append(work(stop))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, name="demo")
    with _handling(stop):
        thread.start()
        said = False
        while thread.is_alive():
            thread.join(0.1)
            if stop.wanted and not said:
                said = True
                on_stop()
    (result,) = outcome
    if isinstance(result, Interrupted) or (stop.wanted and isinstance(result, TocsinError)):
        return INTERRUPTED  # the terminal's signal may have ended a child first, which then is an error here
    if isinstance(result, BaseException):
        raise result
    return result


@contextmanager
def _handling(stop: Stop) -> Iterator[None]:
    earlier = {number: signal.signal(number, lambda *_: stop.set()) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
