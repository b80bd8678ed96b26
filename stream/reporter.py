"""What the running job tells: lines on stderr, as text or JSON, and a file of JSON lines with the metrics."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec

from stream import metrics
from stream.catch_up import CatchUp
from stream.log_format import LogFormat, json_line, write_error_line
from stream.offsets import Offsets
from stream.secrets import hide


class MetricsRecord(msgspec.Struct):
    """One line of the metrics file; a lag that grows is never caught up, which JSON writes as null."""

    time: float
    lag: int
    catch_up_seconds: float | None
    subscriptions: int
    segments: int
    metrics: metrics.Snapshot
    spark_ms: dict[str, int]


class Reporter:
    """Says what the job does; the metrics come at most every ``interval`` seconds.

    Parameters
    ----------
    interval
        From one line of metrics to the next.
    file
        What they are appended to as well; `stream.readiness` has seen that it can be written, or the job has not begun.
    log_format
        How lines on stderr look.
    """

    def __init__(self, interval: float, file: str | None, log_format: LogFormat = "text") -> None:
        self._json = log_format == "json"
        self._interval = interval
        self._file = None if file is None else Path(file)
        self._can_write = True
        self._due = time.monotonic() + interval
        self._catch_up = CatchUp()

    def say(self, sentence: str) -> None:
        """Write one line, if anybody reads it."""
        self._write(sentence, {})

    def _write(self, sentence: str, more: dict[str, Any]) -> None:
        line = f"{time.strftime('%H:%M:%S')} {hide(sentence)}"
        if self._json:
            line = json_line("info", "tocsin.job", sentence, **more)
        write_error_line(line)

    @property
    def due(self) -> bool:
        """Whether it is time for metrics."""
        return time.monotonic() >= self._due

    def report(
        self, snapshot: metrics.Snapshot, lag: int, subscriptions: int, segments: int, spark_ms: dict[str, int]
    ) -> None:
        """Write the metrics: to the terminal, and to the file where one is named."""
        self._due = time.monotonic() + self._interval
        left = self._catch_up.seconds(lag, time.monotonic())
        record = MetricsRecord(time.time(), lag, left, subscriptions, segments, snapshot, spark_ms)
        self._write(metrics.line(snapshot, lag, subscriptions, segments, left), {"metrics": record})
        if self._file is not None:
            self._append(self._file, msgspec.json.encode(record) + b"\n")

    def _append(self, file: Path, line: bytes) -> None:
        """Append a line; that it can't be done is said once, until it can again: a full disk is no end of the job."""
        try:
            with file.open("ab", buffering=0) as lines:
                lines.write(line)
        except OSError as error:
            if self._can_write:
                cure = "the job goes on without; free some space, or see that the folder is there and may be written to"
                self.say(f"the metrics can't be appended to {file}, job.metrics_file: {error.strerror}; {cure}")
            self._can_write = False
        else:
            self._can_write = True


def lag(end: Offsets, position: Offsets) -> int:
    """Return how many records lie between a position and the topic's end."""
    return sum(max(0, offset - position.get(partition, 0)) for partition, offset in end.items())
