"""Words of sentences that depend on a number."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """Return ``1 event``, ``2,000 events``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
