"""Which decoder reads a topic's records: JSON, Avro with a schema file, or Avro framed with a registry's schema id."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from schemas.limits import Limits
from schemas.records import Event, Subscription

Format = Literal["json", "avro", "avro_registry"]


class Decoding(msgspec.Struct, frozen=True):
    """How to decode one topic's values; frozen and hashable, so that a worker builds each decoder once.

    Attributes
    ----------
    format
        ``json``, ``avro`` (plain body, schema known) or ``avro_registry`` (five-byte prefix with a schema id).
    schema
        The Avro schema as JSON text; None takes the generic one that ships with Tocsin.
    registry
        Configuration of the schema registry client, as sorted (name, value) pairs.
    limits
        What a record may hold.
    """

    format: Format = "json"
    schema: str | None = None
    registry: tuple[tuple[str, str], ...] = ()
    limits: Limits = Limits()


EventDecoder = Callable[[bytes, int | None], Event]
SubscriptionDecoder = Callable[[str, bytes], Subscription]


def read_schema(file: Path | None) -> str | None:
    """Return the text of an Avro schema file, which then travels to the workers."""
    return None if file is None else file.read_text()


@cache
def event_decoder(decoding: Decoding) -> EventDecoder:
    """Return the function (value, event time in microseconds) -> Event; it raises Refused."""
    if decoding.format == "json":
        from schemas.json_event import decode_event

        return lambda value, time: decode_event(value, time, decoding.limits)
    from schemas.avro_codec import AvroEventDecoder

    avro = AvroEventDecoder(schema=decoding.schema, registry=_registry(decoding))
    return lambda value, time: avro.decode(value, time, decoding.limits)


@cache
def subscription_decoder(decoding: Decoding) -> SubscriptionDecoder:
    """Return the function (id, value) -> Subscription; it raises Refused."""
    if decoding.format == "json":
        from schemas.json_codec import decode_subscription

        return lambda id_, value: decode_subscription(id_, value, decoding.limits)
    from schemas.avro_codec import AvroSubscriptionDecoder

    avro = AvroSubscriptionDecoder(registry=_registry(decoding))
    return lambda id_, value: avro.decode(id_, value, decoding.limits)


def _registry(decoding: Decoding) -> Any:
    if decoding.format == "avro":
        return None
    from confluent_kafka.schema_registry import SchemaRegistryClient

    return SchemaRegistryClient.new_client(dict(decoding.registry))
