"""A JSON line for each micro-batch of events: when it came to which step. Written where a benchmark names a file."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import msgspec

from stream.offsets import Offsets
from stream.rows import Counts

VARIABLE = "TOCSIN_TRACE_FILE"
"""Environment variable that names the file; unset, as always but in benchmarks, nothing is kept or written."""


class BatchTrace(msgspec.Struct):
    """One line; moments are seconds of the wall clock.

    Attributes
    ----------
    ended
        When the batch function came to its end. ``wait_ns``, ``spark_ns`` and ``commit_ns`` before it, one after the
        other, are the wait for the index, the workers' pass, and the transaction with the removal of old pins.
    places
        When the places of `stream.failpoints` were passed that lie in a batch of events.
    end
        Its end offsets.
    counts
        The workers' own counts and times, summed over tasks.
    """

    ended: float
    wait_ns: int
    spark_ns: int
    commit_ns: int
    places: dict[str, float]
    end: Offsets
    counts: Counts


class Trace:
    """Keeps the places that a batch passes until the batch ends; the two queries' threads pass them."""

    def __init__(self) -> None:
        self._places: dict[str, float] = {}
        self._lock = threading.Lock()

    def passed(self, place: str) -> None:
        """Note that a place was passed just now."""
        if VARIABLE in os.environ:
            with self._lock:
                self._places[place] = time.time()

    def batch(self, end: Offsets, counts: Counts, wait_ns: int, spark_ns: int, commit_ns: int) -> None:
        """Write the line of a batch of events that ends just now."""
        if (file := os.environ.get(VARIABLE)) is None:
            return
        now = time.time()
        with self._lock:
            places = {place: at for place, at in self._places.items() if place.startswith("events.")}
        line = msgspec.json.encode(BatchTrace(now, wait_ns, spark_ns, commit_ns, places, end, counts))
        with Path(file).open("ab") as lines:
            lines.write(line + b"\n")


TRACE = Trace()
"""That of this process."""
