"""What the running job tells a person (lines on stderr) and programs (a file of JSON lines)."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
from rich.console import Console

from stream import metrics
from stream.checkpoint import Offsets


class MetricsRecord(msgspec.Struct):
    """One line of the metrics file."""

    time: float
    lag: int
    subscriptions: int
    segments: int
    metrics: metrics.Snapshot
    spark_ms: dict[str, int]


class Reporter:
    """Says what the job does; the metrics come at most every ``interval`` seconds."""

    def __init__(self, interval: float, file: str | None) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._interval = interval
        self._file = None if file is None else Path(file)
        self._due = time.monotonic() + interval

    def say(self, sentence: str) -> None:
        """Write one line."""
        self._console.print(f"{time.strftime('%H:%M:%S')} {sentence}", soft_wrap=True, markup=False)

    @property
    def due(self) -> bool:
        """Whether it is time for metrics."""
        return time.monotonic() >= self._due

    def report(
        self, snapshot: metrics.Snapshot, lag: int, subscriptions: int, segments: int, spark_ms: dict[str, int]
    ) -> None:
        """Write the metrics: to the terminal, and to the file where one is named."""
        self._due = time.monotonic() + self._interval
        self.say(metrics.line(snapshot, lag, subscriptions, segments))
        if self._file is not None:
            record = MetricsRecord(time.time(), lag, subscriptions, segments, snapshot, spark_ms)
            with self._file.open("ab") as lines:
                lines.write(msgspec.json.encode(record) + b"\n")


def lag(end: Offsets, position: Offsets) -> int:
    """Return how many records lie between a position and the topic's end."""
    return sum(max(0, offset - position.get(partition, 0)) for partition, offset in end.items())
