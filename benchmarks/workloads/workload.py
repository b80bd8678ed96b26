"""What a workload is: a named, seeded source of subscriptions and events."""

from __future__ import annotations

from typing import Protocol

from schemas.records import Event, Subscription


class Workload(Protocol):
    """Subscriptions and events of one shape; the same seed gives the same records, on any machine."""

    @property
    def name(self) -> str:
        """The name by which command lines call it."""

    @property
    def size(self) -> int:
        """How many subscriptions the benchmark gives it unless told otherwise."""

    def subscriptions(self, count: int) -> list[Subscription]:
        """Return ``count`` checked subscriptions, ascending by id."""

    def events(self, count: int) -> list[Event]:
        """Return ``count`` events; the same ones whatever the number of subscriptions."""


def identifiers(count: int) -> list[str]:
    """Return ids of equal length, so that their order is that of the numbers."""
    return [f"s{number:08d}" for number in range(count)]
