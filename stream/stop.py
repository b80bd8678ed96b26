"""How the job is told to stop, or has to, and that it has stopped ten seconds later, whatever a batch waits for."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

from stream.wording import Say

STOP_SECONDS = 10.0
"""How long a stop takes at most, from the signal to the end of the process."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)

BATCH_SECONDS = 6.0
"""How long the batches under way may go on meanwhile; the rest is for the queries, Spark and the compaction to end."""


class Stop:
    """The wish to stop, and the time that is left.

    The commit protocol makes any moment as good as another to die in, so a job that has not stopped in order by then
    simply ends: brokers that do not answer, for one, keep a transaction waiting for a minute.

    Parameters
    ----------
    say
        Told when a batch is abandoned.
    tell
        Told the error that ends the job, when what has to stop then does not in time.
    """

    def __init__(self, say: Say, tell: Callable[[object], None] = print) -> None:
        self._say = say
        self._tell = tell
        self._error: object = None
        self._asked = threading.Event()
        self._first = threading.Lock()
        self._began = 0.0
        self._limit: threading.Timer | None = None

    def heed_signals(self) -> None:
        """Let SIGTERM and SIGINT begin the stop.

        The interpreter calls handlers in the main thread, once that is not inside a library: a question to brokers that
        do not answer keeps it there for half a minute. So a thread of its own reads which signals came.
        """
        for number in SIGNALS:
            signal.signal(number, lambda *_: self.begin())
        told, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        threading.Thread(target=self._listen, args=(told,), name="signals", daemon=True).start()

    def _listen(self, told: int) -> None:
        while came := os.read(told, 1):
            if came[0] in SIGNALS:
                self.begin()

    def begin(self, error: object = None) -> None:
        """Begin the stop, for a signal or an error; harmless when it has begun."""
        if not self._first.acquire(blocking=False):
            return
        self._error = error
        self._began = time.monotonic()
        self._asked.set()
        self._limit = threading.Timer(STOP_SECONDS - 0.5, self._abandon)
        self._limit.daemon = True
        self._limit.start()

    def done(self) -> None:
        """Say that everything has ended: nothing is abandoned any more."""
        if self._limit is not None:
            self._limit.cancel()

    @property
    def asked(self) -> bool:
        """Whether it has begun."""
        return self._asked.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the stop to begin, but no longer than that; return whether it has."""
        return self._asked.wait(seconds)

    def left_for_batches(self) -> float:
        """Return how many seconds the batches under way have left."""
        return max(0.0, self._began + BATCH_SECONDS - time.monotonic()) if self.asked else BATCH_SECONDS

    def _abandon(self) -> None:
        try:
            if self._error is not None:
                self._tell(self._error)
            else:
                self._say("a batch did not end in time and is abandoned; it runs again at the next start")
        finally:  # though nobody can be told
            os._exit(0 if self._error is None else 1)
