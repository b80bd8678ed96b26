"""Sentences for people: what tells one, and words of one that depend on a number."""

from __future__ import annotations

from collections.abc import Callable

Say = Callable[[str], None]
"""Tells a person one sentence."""


def counted(number: int, thing: str) -> str:
    """Return ``1 event``, ``2,000 events``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def spell_score(score: float) -> str:
    """Return a score with all digits before the point, and behind it as many as say something: at most six."""
    return f"{score:.6f}".rstrip("0").rstrip(".")
