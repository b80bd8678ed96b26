"""The names of the two queries, and the consumer group that is named after each."""

from __future__ import annotations

from typing import Final

from stream.settings import Settings

EVENTS: Final = "events"
SUBSCRIPTIONS: Final = "subscriptions"
"""In groups, transactional ids, metrics, and the folders of checkpoints and spools."""


def group_of(settings: Settings, query: str) -> str:
    """Return a query's consumer group, which is its transactional id too."""
    return f"{settings.job.name}-{query}"
