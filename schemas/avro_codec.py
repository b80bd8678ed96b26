"""The Avro form of events and subscriptions: any record or the generic schemas, plain or with a registry's prefix."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import msgspec
from fastavro import schemaless_writer

from schemas import avro_schemas
from schemas.avro_schemas import PREFIX_BYTES, AvroReader, Registry, RegistryReaders, RegistryUnavailable
from schemas.avro_values import avro_value
from schemas.errors import Refused
from schemas.event_parts import aligned, event_time, event_top, event_weight, event_weights
from schemas.expression import Expression
from schemas.flatten import flatten
from schemas.json_codec import check_size
from schemas.json_event import record_too_large
from schemas.json_syntax import parse, refusal
from schemas.limits import DEFAULT_LIMITS, Limits
from schemas.records import Event, Subscription
from schemas.values import Value, ValueKey, value_key
from schemas.wire_expression import encode_expression, expression_of
from schemas.wire_refusal import expression_refusal, members_refusal
from schemas.wire_subscription import Members, as_time, text_depth, to_subscription

__all__ = [
    "AvroEventDecoder",
    "AvroSubscriptionDecoder",
    "RegistryUnavailable",
    "encode_event_avro",
    "encode_subscription_avro",
    "framed",
]

GENERIC_EVENT = "tocsin.Event"


class AvroEventDecoder:
    """Decodes events of one topic.

    Parameters
    ----------
    schema
        The schema of plain bodies, as JSON text or parsed; None means the generic ``event.avsc``.
    registry
        A schema registry's client; records then begin with its five-byte prefix, and ``schema`` is not used.

    Raises
    ------
    TocsinError
        The schema is no Avro schema.
    """

    def __init__(self, schema: str | dict[str, Any] | None = None, registry: Registry | None = None) -> None:
        self._reader = avro_schemas.generic_event() if schema is None else avro_schemas.reader_of(schema)
        self._registered = None if registry is None else RegistryReaders(registry)

    def decode(self, value: bytes, time: int | None = None, limits: Limits = DEFAULT_LIMITS) -> Event:
        """Return the event that a record stands for, flattened like JSON; `schemas.avro_values` has the scalar types.

        A record of the schema ``tocsin.Event`` says weights and top as well.

        Raises
        ------
        Refused
            With a code of `schemas.avro_schemas`, `schemas.avro_values`, `schemas.flatten` or `schemas.event_parts`,
            ``event.not_object``, ``event.empty`` or ``event.record_too_large``.
        RegistryUnavailable
            The schema registry did not answer; the record may be good.
        """
        if len(value) > limits.record_bytes:
            raise record_too_large(len(value), limits)
        if not value:
            raise Refused("event.empty", "the event is empty; an Avro record was wanted")
        reader, body = _split(value, "event", self._reader, self._registered)
        record = reader.read(body, "event")
        if not isinstance(record, dict):
            raise Refused("event.not_object", f"the schema {reader.name or 'given'} is no record", "$")
        try:
            return _event(record, reader.name == GENERIC_EVENT, time, limits)
        except RecursionError:
            raise Refused("event.too_deep", "the event is nested far too deep; flatten it", "$") from None


class _Subscription(Members, kw_only=True, forbid_unknown_fields=True):
    expression: str | None = None


_tree_decoder: msgspec.json.Decoder[Expression] = msgspec.json.Decoder(Expression)


class AvroSubscriptionDecoder:
    """Decodes subscriptions: plain bodies by ``subscription.avsc``, or any writer's schema with the same members.

    Parameters
    ----------
    registry
        A schema registry's client; records then begin with its five-byte prefix.
    """

    def __init__(self, registry: Registry | None = None) -> None:
        self._registered = None if registry is None else RegistryReaders(registry)

    def decode(self, id: str, value: bytes, limits: Limits = DEFAULT_LIMITS) -> Subscription:
        """Return the subscription that a record stands for, checked as one in JSON is.

        Raises
        ------
        Refused
            With a code of `schemas.avro_schemas`, or as `schemas.json_codec.decode_subscription`.
        RegistryUnavailable
            The schema registry did not answer; the record may be good.
        """
        check_size(value, limits)
        if not value:
            raise Refused("subscription.empty", "the subscription is empty; an Avro record was wanted")
        reader, body = _split(value, "subscription", avro_schemas.subscription(), self._registered)
        record = reader.read(body, "subscription")
        try:
            members = msgspec.convert(record, _Subscription)
        except msgspec.ValidationError as error:
            raise members_refusal(error, record) from None
        tree = None if members.expression is None else _decode_tree(members.expression.encode(), limits)
        return to_subscription(id, members, tree, limits)


def encode_event_avro(event: Event) -> bytes:
    """Return an event as a plain body of ``event.avsc``; `AvroEventDecoder` gives all but its time back."""
    weights = {name: _pairs(event.attributes[name], weights) for name, weights in event.weights.items()}
    record = {
        "attributes": {name: _one_or_list(values) for name, values in event.attributes.items()},
        "weights": weights or None,
        "top": event.top,
    }
    return _body(avro_schemas.generic_event(), record)


def encode_subscription_avro(subscription: Subscription) -> bytes:
    """Return a subscription as a plain body of ``subscription.avsc``; `AvroSubscriptionDecoder` gives it back."""
    record = {
        "expression": encode_expression(subscription.expression).decode(),
        "priority": subscription.priority,
        "mode": subscription.mode,
        "threshold": subscription.threshold,
        "not_before": as_time(subscription.not_before),
        "not_after": as_time(subscription.not_after),
        "labels": subscription.labels,
    }
    return _body(avro_schemas.subscription(), record)


def framed(schema_id: int, body: bytes) -> bytes:
    """Return a body with a schema registry's prefix."""
    return b"\0" + schema_id.to_bytes(PREFIX_BYTES - 1, "big") + body


def _split(
    value: bytes, kind: avro_schemas.Kind, plain: AvroReader, registered: RegistryReaders | None
) -> tuple[AvroReader, bytes]:
    return (plain, value) if registered is None else registered.split(value, kind)


def _event(record: Mapping[str, Any], generic: bool, time: int | None, limits: Limits) -> Event:
    if not generic:
        return Event(flatten(record, limits, avro_value), time=event_time(time))
    members = record.get("attributes")
    if not isinstance(members, dict):
        raise Refused("event.avro", f"a record of {GENERIC_EVENT} has a map named attributes, this one has not", "$")
    attributes = flatten(members, limits, avro_value)
    return Event(
        attributes,
        _weights(record.get("weights"), attributes),
        event_top(record.get("top"), "$.top"),
        event_time(time),
    )


def _weights(members: Any, attributes: Mapping[str, tuple[Value, ...]]) -> dict[str, tuple[float, ...]]:
    if members is None:
        return {}
    if not isinstance(members, dict):
        raise Refused("event.weights", f"weights of a {GENERIC_EVENT} are a map by attribute", "$.weights")
    return event_weights(members, attributes, "$.weights", list, _weights_by_value)


def _weights_by_value(given: list[Any], values: tuple[Value, ...], path: str) -> tuple[float, ...]:
    """Return one weight a value, 1 where none is given; nothing when no pair names a value."""
    known: dict[ValueKey | str, float] = {}
    for place, pair in enumerate(given):
        if not isinstance(pair, dict) or not isinstance(pair.get("value"), str | bool | int | float):
            raise Refused("event.weights", "weights by value are pairs of value and weight", f"{path}[{place}]")
        weight = event_weight(pair.get("weight"), f"{path}[{place}].weight")
        if known.setdefault(_key(pair["value"]), weight) != weight:
            raise Refused(
                "event.weights", f"the value {pair['value']!r:.60} has two weights; keep one", f"{path}[{place}]"
            )
    return aligned(known.get(_key(value)) for value in values)


def _key(value: Value) -> ValueKey | str:
    """Return what finds a value again; an event holds at most one NaN."""
    return "nan" if value != value else value_key(value)


def _decode_tree(text: bytes, limits: Limits) -> Expression:
    try:
        return _tree_decoder.decode(text)
    except msgspec.ValidationError as error:
        raise expression_refusal(error, _plain_tree(text, limits), "$.expression", "$.expression") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _inside(refusal(error, text, "subscription")) from None
    except RecursionError:
        return expression_of(_plain_tree(text, limits), "$.expression")


def _plain_tree(text: bytes, limits: Limits) -> Any:
    try:
        return parse(text, "subscription", text_depth(limits))
    except Refused as refused:
        raise _inside(refused) from None


def _inside(refused: Refused) -> Refused:
    """Return a refusal of the text in the member ``expression``, with that member in its path."""
    place = f"$.expression, {refused.path}" if refused.path else "$.expression"
    return Refused(refused.code, f"in the member expression, {refused.message}", place)


def _one_or_list(values: tuple[Value, ...]) -> Value | list[Value]:
    return values[0] if len(values) == 1 else list(values)


def _pairs(values: tuple[Value, ...], weights: tuple[float, ...]) -> float | list[dict[str, Any]]:
    if len(set(weights)) == 1:
        return weights[0]
    return [{"value": value, "weight": weight} for value, weight in zip(values, weights, strict=True)]


def _body(reader: AvroReader, record: Mapping[str, Any]) -> bytes:
    stream = BytesIO()
    schemaless_writer(stream, reader.schema, record)
    return stream.getvalue()
