"""The sentence for a query that ended with an error that is not Tocsin's own."""

from __future__ import annotations

import logging
from pathlib import Path

from schemas.errors import TocsinError, first_line

FREE_SPACE = "free some space for job.index_dir and job.checkpoint_dir, and start the job again"

CURES = dict.fromkeys(("No space left on device", "Disk quota exceeded", "File too large"), FREE_SPACE)
"""What helps against an error of the operating system, by words that Python and Java both have for it."""


def ended(query: str, error: object, log: Path) -> TocsinError:
    """Return the sentence; the log gets all that the error says."""
    logging.getLogger("tocsin.job").error("the query of %s ended: %s", query, error)
    reason = first_line(error)
    cure = next((f"; {cure}" for words, cure in CURES.items() if words in str(error)), "")
    return TocsinError(f"the query of {query} ended: {reason}{cure}; see {log}")
