"""The error for a segment that would hold more than its arrays can number."""

from __future__ import annotations

from schemas.errors import TocsinError


def too_large(found: int, limit: int, what: str) -> TocsinError:
    """Return the error.

    Parameters
    ----------
    found, limit
        How many there are, and how many there may be.
    what
        What was counted.
    """
    return TocsinError(
        f"A segment would have {found:,} {what}, and it can have at most {limit:,}. Where the subscriptions of a batch "
        "are written, lower job.max_subscriptions_per_batch. Where segments are merged, raise job.shards, each of "
        "which has segments of its own, and remove the index directory: the subscriptions are then read again."
    )
