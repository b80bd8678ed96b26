"""The sentences for what ends the job and is not Tocsin's: an error of a query, the end of Spark's Java machine."""

from __future__ import annotations

import logging
import re
import signal
from pathlib import Path

from schemas.errors import TocsinError, first_line

FREE_SPACE = "free some space for job.index_dir and job.checkpoint_dir, and start the job again"

CURES = dict.fromkeys(("No space left on device", "Disk quota exceeded", "File too large"), FREE_SPACE)
"""What helps against an error of the operating system, by words that Python and Java both have for it."""

TRACEBACK = "Traceback (most recent call last):\n"
CAUSE = re.compile(r"^(?:Caused by)?: (?P<said>[\w.$]+: .*\S.*)$", re.MULTILINE)
"""In Java's text of an error: itself, after what Py4J says of it, or one of its causes; those that say something."""

STREAMING_QUERY = "\n=== Streaming Query ==="
"""What the query was follows its error."""

TASK = re.compile(r"^.*most recent failure: Lost task .*?\(TID \d+\) \(.*?\): ")
"""Spark's words for a task that failed as often as it may, with the error behind them."""

PACKAGES = re.compile(r"^(?:[a-z_]\w*\.)+(?=[A-Z])")


def ended(query: str, error: object, log: Path) -> TocsinError:
    """Return the sentence; the log gets all that the error says."""
    logging.getLogger("tocsin.job").error("the query of %s ended: %s", query, error)
    cure = next((f"; {cure}" for words, cure in CURES.items() if words in str(error)), "")
    return TocsinError(f"the query of {query} ended: {reason(error)}{cure}; see {log}")


def reason(error: object) -> str:
    """Return what somebody else's error says, as Java and Python have it at the bottom of what they print."""
    text = str(error).partition(STREAMING_QUERY)[0]
    if TRACEBACK in text:
        # the lines of the trace are indented, and those of the error are not
        text = re.sub(r"\A(?:[ \t].*\n|\n)+", "", text.rpartition(TRACEBACK)[2])
    causes = [match["said"] for match in CAUSE.finditer(text)]
    said = TASK.sub("", causes[-1] if causes else first_line(text) if text.strip() else first_line(error))
    return PACKAGES.sub("", said).strip().rstrip(".")


def machine_ended(code: int, printed: Path) -> TocsinError:
    """Return the sentence for Spark's Java machine, gone with this exit code; the file has what it printed."""
    how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
    memory = ", as the system does when memory is short" if code == -signal.SIGKILL else ""
    return TocsinError(f"Spark's Java machine ended {how}{memory}; see {printed}; start the job again")
