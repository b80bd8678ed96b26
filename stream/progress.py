"""How far the index has come, shared by the two queries: event batches wait here until it holds what they must see."""

from __future__ import annotations

import threading
import time

from schemas.errors import TocsinError
from stream.offsets import Offsets, covers


class Stopping(Exception):
    """Ends a micro-batch early because the job is being stopped; the batch runs again at the next start."""


class IndexProgress:
    """The latest published version and the subscription offsets that it has absorbed; safe to share between threads."""

    def __init__(self, version: int, absorbed: Offsets) -> None:
        self._changed = threading.Condition()
        self._version = version
        self._absorbed = dict(absorbed)
        self._stopping = False
        self._pauses = 0

    @property
    def version(self) -> int:
        """The latest published version; 0 before the first."""
        with self._changed:
            return self._version

    @property
    def absorbed(self) -> Offsets:
        """Next offset of each partition of the subscriptions topic that the latest version knows."""
        with self._changed:
            return dict(self._absorbed)

    def published(self, version: int, absorbed: Offsets) -> None:
        """Tell the waiting batches of a new version."""
        with self._changed:
            self._version = max(version, self._version)
            self._absorbed.update(absorbed)
            self._changed.notify_all()

    def stop(self) -> None:
        """Wake every waiting batch with `Stopping`, now and from now on."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def sleep(self, seconds: float) -> None:
        """Let at most that time pass.

        Raises
        ------
        Stopping
            The job is being stopped.
        """
        with self._changed:
            if not self._stopping:
                self._changed.wait(seconds)
            if self._stopping:
                raise Stopping

    def pause(self, seconds: float) -> None:
        """Let that time pass because something outside the job does not answer; who waits for the index waits longer.

        Raises
        ------
        Stopping
            The job is being stopped.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            self._pauses += 1
            while not self._stopping and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            if self._stopping:
                raise Stopping

    def wait_for(self, end: Offsets, seconds: float) -> int:
        """Wait until everything below ``end`` is absorbed and return the version that holds it.

        Raises
        ------
        Stopping
            The job is being stopped.
        TocsinError
            It took longer than ``seconds``.
        """
        with self._changed:
            if not self.reaches(end, seconds):
                raise TocsinError(
                    f"the index did not absorb the subscriptions topic up to {end} within {seconds:g} s (it is at "
                    f"{self._absorbed}); start the job again, with a longer job.causality_timeout_seconds"
                )
            return self._version

    def reaches(self, end: Offsets, seconds: float) -> bool:
        """Wait until everything below ``end`` is absorbed; return whether that was so within ``seconds``.

        A `pause` meanwhile begins the time anew.

        Raises
        ------
        Stopping
            The job is being stopped.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            pauses = self._pauses
            while not covers(self._absorbed, end):
                if pauses != self._pauses:
                    pauses, deadline = self._pauses, time.monotonic() + seconds
                left = deadline - time.monotonic()
                if self._stopping:
                    raise Stopping
                if left <= 0:
                    return False
                self._changed.wait(left)
            return True
