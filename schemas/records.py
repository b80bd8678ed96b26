"""The records of the four topics as all code sees them: event, subscription, notification, dead letter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from schemas.expression import Expression
from schemas.values import Value

Mode = Literal["all", "relaxed", "threshold"]


class Event(msgspec.Struct, frozen=True):
    """An assignment: attributes with one value or several.

    Attributes
    ----------
    attributes
        Attribute name (dotted for nested members) to its distinct values, never empty; an absent attribute is not a
        member.
    weights
        Attribute name to one weight a value, in the order of ``attributes``; 1.0 where an attribute is not a member.
    top
        How many of the best matches this event wants; None leaves it to the job.
    time
        Event time in microseconds since 1970-01-01T00:00:00Z; None where there is none, which no validity bound holds.
    """

    attributes: Mapping[str, tuple[Value, ...]]
    weights: Mapping[str, tuple[float, ...]] = {}
    top: int | None = None
    time: int | None = None


class Subscription(msgspec.Struct, frozen=True):
    """A checked subscription: everything in it is allowed.

    Attributes
    ----------
    id
        The record key as text.
    expression
        The tree, as written.
    priority
        Constant score, added once.
    mode, threshold
        Match mode; ``threshold`` only with mode ``threshold``.
    not_before, not_after
        Validity in event time, both inclusive, microseconds since 1970-01-01T00:00:00Z.
    labels
        Returned in notifications, never matched.
    """

    id: str
    expression: Expression
    priority: float = 0.0
    mode: Mode = "all"
    threshold: float | None = None
    not_before: int | None = None
    not_after: int | None = None
    labels: dict[str, str] = {}


class EventRef(msgspec.Struct, frozen=True):
    """Where an event stands: its record's coordinates, key and time, as notifications carry them.

    ``key`` is the record key as text; a key that is not UTF-8 goes into ``key_base64`` instead. ``time`` is RFC 3339 in
    UTC with milliseconds.
    """

    topic: str
    partition: int
    offset: int
    key: str | None
    time: str
    key_base64: str | msgspec.UnsetType = msgspec.UNSET


class Notification(msgspec.Struct, frozen=True):
    """One match of one event (``emit = "match"``); ``event_body`` only with ``include_event``."""

    subscription: str
    score: float
    rank: int
    event: EventRef
    labels: dict[str, str]
    event_body: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class EventMatch(msgspec.Struct, frozen=True):
    """One entry of an `EventNotification`, best first."""

    subscription: str
    score: float
    labels: dict[str, str]


class EventNotification(msgspec.Struct, frozen=True):
    """All matches of one event (``emit = "event"``)."""

    event: EventRef
    matches: list[EventMatch]
    event_body: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class DeadLetter(msgspec.Struct, frozen=True):
    """A record that could not be understood: key and value exactly as they came, reason and coordinates as headers."""

    key: bytes | None
    value: bytes | None
    reason: str
    message: str
    topic: str
    partition: int
    offset: int

    def headers(self) -> list[tuple[str, bytes]]:
        """Return the Kafka headers that the dead-letter topic carries."""
        return [
            ("tocsin.reason", self.reason.encode()),
            ("tocsin.message", self.message.encode()),
            ("tocsin.topic", self.topic.encode()),
            ("tocsin.partition", str(self.partition).encode()),
            ("tocsin.offset", str(self.offset).encode()),
        ]
