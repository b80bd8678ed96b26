"""The lines of the job's logs, as text or as JSON, without secrets."""

from __future__ import annotations

import contextlib
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from stream.secrets import hide

LogFormat = Literal["text", "json"]

TEXT = "%(asctime)s %(levelname)-5s %(name)s: %(message)s"


def json_line(level: str, logger: str, message: str, **more: Any) -> str:
    """Return one line: time (RFC 3339, UTC), level, logger, message and further members."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line = {"time": time, "level": level, "logger": logger, "message": hide(message), **more}
    return msgspec.json.encode(line).decode()


def formatter(log_format: LogFormat) -> logging.Formatter:
    """Return what formats the records of Python's logging."""
    return _JsonFormatter() if log_format == "json" else _TextFormatter(TEXT)


def tell_error(log_format: LogFormat, error: object) -> None:
    """Write what ended the job, the last line it says."""
    line = f"tocsin: {hide(str(error))}"
    if log_format == "json":
        line = json_line("error", "tocsin", str(error))
    write_error_line(line)


def write_error_line(line: str) -> None:
    """Write a line to stderr, if it can be: who read it may have ended, or the disk is full, and the job goes on."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return hide(super().format(record))


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        more = {} if record.exc_info is None else {"exception": hide(self.formatException(record.exc_info))}
        return json_line(record.levelname.lower(), record.name, record.getMessage(), **more)
