"""Notifications as JSON: deterministic bytes, the event's part encoded once for all of its matches, and back."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from schemas.records import EventNotification, EventRef, Notification
from schemas.values import SCORE_SCALE

EventPart = msgspec.Raw | EventRef
"""The event's coordinates, already encoded or not."""

Labels = msgspec.Raw | bytes | Mapping[str, str]
"""Labels, as an encoded JSON object or not."""

Id = bytes | str
"""A subscription's id, as UTF-8 or as text."""


class _Notification(msgspec.Struct, omit_defaults=True, gc=False):
    """`Notification` with encoded parts; the order of the fields is the order on the topic."""

    subscription: str
    score: float
    rank: int
    event: EventPart
    labels: msgspec.Raw | Mapping[str, str]
    event_body: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Match(msgspec.Struct, gc=False):
    subscription: str
    score: float
    labels: msgspec.Raw | Mapping[str, str]


class _EventNotification(msgspec.Struct, omit_defaults=True, gc=False):
    event: EventPart
    matches: list[_Match]
    event_body: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_encode = msgspec.json.Encoder().encode
_notification_decoder = msgspec.json.Decoder(Notification)
_event_notification_decoder = msgspec.json.Decoder(EventNotification)


def instant(timestamp_ms: int) -> str:
    """Return a record's timestamp in RFC 3339, UTC. None that a broker takes is refused: years may have five digits."""
    return f"{np.datetime64(timestamp_ms, 'ms')}Z"


def event_ref(topic: str, partition: int, offset: int, key: bytes | None, timestamp_ms: int) -> EventRef:
    """Return what notifications say of an event's record; a key that is not UTF-8 is base64, with ``key`` null."""
    time = instant(timestamp_ms)
    if key is None:
        return EventRef(topic, partition, offset, None, time)
    try:
        return EventRef(topic, partition, offset, key.decode(), time)
    except UnicodeDecodeError:
        return EventRef(topic, partition, offset, None, time, base64.b64encode(key).decode())


def encode_event_ref(ref: EventRef) -> msgspec.Raw:
    """Return the event's part of its notifications, to be encoded once an event."""
    return msgspec.Raw(_encode(ref))


def encode_notification(
    subscription: Id, points: int, rank: int, event: EventPart, labels: Labels, body: msgspec.Raw | None = None
) -> bytes:
    """Return the record value of one match (``emit = "match"``).

    Parameters
    ----------
    subscription
        The subscription's id.
    points
        The score in units of 1 / SCORE_SCALE.
    rank
        Place among the event's matches, from 1.
    event
        From `encode_event_ref`, or the reference itself.
    labels
        The subscription's labels.
    body
        The event's body as JSON, for ``include_event``; it becomes the member ``event_body``.
    """
    return _encode(
        _Notification(
            subscription.decode() if isinstance(subscription, bytes) else subscription,
            points / SCORE_SCALE,
            rank,
            event,
            msgspec.Raw(labels) if isinstance(labels, bytes) else labels,
            msgspec.UNSET if body is None else body,
        )
    )


def encode_event_notification(
    event: EventPart, matches: Iterable[tuple[Id, int, Labels]], body: msgspec.Raw | None = None
) -> bytes:
    """Return the record value of all matches of one event (``emit = "event"``).

    Parameters
    ----------
    event, body
        As for `encode_notification`.
    matches
        Subscription, points and labels of each match, best first.
    """
    entries = [
        _Match(
            subscription.decode() if isinstance(subscription, bytes) else subscription,
            points / SCORE_SCALE,
            msgspec.Raw(labels) if isinstance(labels, bytes) else labels,
        )
        for subscription, points, labels in matches
    ]
    return _encode(_EventNotification(event, entries, msgspec.UNSET if body is None else body))


def decode_notification(value: bytes) -> Notification:
    """Return a notification of ``emit = "match"``; raises ``msgspec.DecodeError`` when it is none."""
    return _notification_decoder.decode(value)


def decode_event_notification(value: bytes) -> EventNotification:
    """Return a notification of ``emit = "event"``; raises ``msgspec.DecodeError`` when it is none."""
    return _event_notification_decoder.decode(value)
