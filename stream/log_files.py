"""The job's log file, followed when Log4j renames it, what no logging formats beside it, and a log's last lines."""

from __future__ import annotations

import logging
from logging.handlers import WatchedFileHandler
from pathlib import Path

from stream.log_format import formatter
from stream.settings import Settings

TAIL_LINES = 15


def log_to_file(settings: Settings) -> Path:
    """Send what Tocsin, its Kafka clients and other libraries log to ``job.log_file`` and return its path.

    Java writes to the same file, and renames it when it is large: each line goes to the file of that name.
    """
    log = Path(settings.job.log_file).absolute()
    log.parent.mkdir(parents=True, exist_ok=True)
    logger = logging.getLogger("tocsin")
    if not any(isinstance(handler, logging.FileHandler) for handler in logger.handlers):
        handler = WatchedFileHandler(log)
        handler.setFormatter(formatter(settings.job.log_format))
        logger.addHandler(handler)
        logger.propagate = False
        logging.getLogger().addHandler(handler)  # Py4J would put traces of a dead Java into the terminal
    return log


def output_file(log: Path) -> Path:
    """Return the file for the raw output of Java, the Python workers and the compaction.

    They hold it open while they run, so it is a file of its own, which nobody renames; it grows by crashes only.
    """
    return log.with_name(f"{log.name}.output")


def tail(text: str, lines: int = TAIL_LINES) -> str:
    """Return the last lines of a log."""
    return "\n".join(text.splitlines()[-lines:])
