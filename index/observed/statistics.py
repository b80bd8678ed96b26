"""`EventStatistics`: how many events had each attribute and each of its commonest values; added up, bounded, faded."""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Iterable
from operator import itemgetter

import msgspec

from index.observed.histogram import Histogram
from index.terms import text_bytes

FORMAT = 1
"""Raised whenever statistics of an earlier format can no longer be read; those are then passed over."""

VALUE_LIMIT = 8192
"""How many values are kept, the heaviest of all attributes."""

ATTRIBUTE_LIMIT = 4096
"""How many attributes are kept, those of most events."""

EVENT_LIMIT = 2.0**18
"""When more events are counted, all counts are halved, so that what events were like long ago fades."""

KEY_LIMIT = 64
"""A longer key of a value or attribute is kept as a digest."""

DERIVED = b"\0"
"""How the key of a derived attribute begins."""

DIGEST = b"\xff"
"""How a digest begins: no key does."""


class AttributeStatistics(msgspec.Struct, frozen=True, array_like=True):
    """What was counted of one attribute.

    Attributes
    ----------
    asked
        How many events were looked at for it: a derived attribute is there only as long as a segment names it.
    events
        How many of them had it.
    occurrences, texts
        How many values they had in all, and how many of those were strings.
    values
        `bounded_key` of a value's `index.terms.value_bytes` to how many events had it; those that are not listed were
        rarer.
    numbers
        The numbers among the values.
    """

    asked: float = 0.0
    events: float = 0.0
    occurrences: float = 0.0
    texts: float = 0.0
    values: dict[bytes, float] = {}
    numbers: Histogram = Histogram()

    def plus(self, other: AttributeStatistics) -> AttributeStatistics:
        """Return what was counted by both."""
        values = dict(self.values)
        for key, count in other.values.items():
            values[key] = values.get(key, 0.0) + count
        return AttributeStatistics(
            self.asked + other.asked,
            self.events + other.events,
            self.occurrences + other.occurrences,
            self.texts + other.texts,
            values,
            self.numbers.plus(other.numbers),
        )

    def scaled(self, factor: float) -> AttributeStatistics:
        """Return the counts multiplied."""
        return AttributeStatistics(
            factor * self.asked,
            factor * self.events,
            factor * self.occurrences,
            factor * self.texts,
            {key: factor * count for key, count in self.values.items()},
            self.numbers.scaled(factor),
        )


class EventStatistics(msgspec.Struct, frozen=True, array_like=True):
    """Counts over a sample of events.

    Attributes
    ----------
    seen
        How many events have ever been counted; tells the later of two statistics.
    events
        How many of them the counts stand for, those that have faded less.
    dropped
        The most that a value can have been counted without being listed.
    attributes
        `attribute_key` to what was counted.
    """

    seen: float = 0.0
    events: float = 0.0
    dropped: float = 0.0
    attributes: dict[bytes, AttributeStatistics] = {}

    def plus(self, other: EventStatistics) -> EventStatistics:
        """Return what was counted by both; see `bounded`."""
        attributes = dict(self.attributes)
        for key, counted in other.attributes.items():
            known = attributes.get(key)
            attributes[key] = counted if known is None else known.plus(counted)
        return EventStatistics(
            self.seen + other.seen, self.events + other.events, self.dropped + other.dropped, attributes
        )

    def bounded(self) -> EventStatistics:
        """Return the statistics with the heaviest values and attributes only, faded when large, in a fixed order."""
        factor = 1.0
        while factor * self.events > EVENT_LIMIT:
            factor /= 2
        kept = heapq.nsmallest(ATTRIBUTE_LIMIT, self.attributes.items(), key=lambda item: (-item[1].events, item[0]))
        attributes = {key: counted.scaled(factor) for key, counted in sorted(kept, key=itemgetter(0))}
        listed = sorted(
            (-count, name, key) for name, counted in attributes.items() for key, count in counted.values.items()
        )
        values: dict[bytes, dict[bytes, float]] = {name: {} for name in attributes}
        for count, name, key in sorted(listed[:VALUE_LIMIT], key=itemgetter(1, 2)):
            values[name][key] = -count
        lost = -listed[VALUE_LIMIT][0] if len(listed) > VALUE_LIMIT else 0.0
        return EventStatistics(
            self.seen,
            factor * self.events,
            factor * self.dropped + lost,
            {name: msgspec.structs.replace(counted, values=values[name]) for name, counted in attributes.items()},
        )


def attribute_key(name: str) -> bytes:
    """Return the key of an attribute."""
    return bounded_key(text_bytes(name))


def bounded_key(key: bytes) -> bytes:
    """Return a key, or the digest of a long one."""
    return key if len(key) <= KEY_LIMIT else DIGEST + hashlib.blake2b(key, digest_size=16).digest()


def total(parts: Iterable[EventStatistics]) -> EventStatistics:
    """Return what was counted by all."""
    found = EventStatistics()
    for part in parts:
        found = found.plus(part)
    return found.bounded()


class _Envelope(msgspec.Struct, frozen=True, array_like=True):
    format: int
    statistics: msgspec.Raw


_encode = msgspec.msgpack.Encoder().encode
_envelope = msgspec.msgpack.Decoder(_Envelope)
_statistics = msgspec.msgpack.Decoder(EventStatistics)


def encode(statistics: EventStatistics) -> bytes:
    """Return the bytes of bounded statistics; equal statistics have equal bytes."""
    return _encode(_Envelope(FORMAT, msgspec.Raw(_encode(statistics))))


def decode(data: bytes) -> EventStatistics | None:
    """Return the statistics in these bytes; None when they hold none that can be used, since all can do without."""
    try:
        envelope = _envelope.decode(data)
        found = _statistics.decode(envelope.statistics) if envelope.format == FORMAT else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found is not None and math.isfinite(found.seen) else None
