"""The observer: what a worker counts goes to the index directory now and then, where the next merge finds it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from index import statistics_store
from index.directory import AnyPath, IndexDirectory
from index.event_block import EventBlock
from index.observed.collector import Collector
from schemas.errors import TocsinError

WRITE_SECONDS = 30.0
"""At least so long between two increments of one process."""


class Observer:
    """Counts the blocks that one process matches.

    Parameters
    ----------
    directory
        The index directory.
    seconds
        At least so long between two increments.
    clock
        Seconds that never go back.
    """

    def __init__(
        self,
        directory: AnyPath | IndexDirectory,
        seconds: float = WRITE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._layout = IndexDirectory.of(directory)
        self._seconds = seconds
        self._clock = clock
        self._written = clock()
        self._collector = Collector()

    def see(self, block: EventBlock) -> None:
        """Count a block that has been matched. Whatever goes wrong with the files, matching goes on."""
        self._collector.see(block)
        now = self._clock()
        if now - self._written < self._seconds:
            return
        self._written = now
        increment = self._collector.take()
        if increment.events:
            with contextlib.suppress(TocsinError):
                statistics_store.add(self._layout, increment)
