"""Events as JSON: any object to attributes, with the reserved members ``$weights`` and ``$top``, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from schemas.errors import Refused
from schemas.event_parts import aligned, event_time, event_top, event_weight, event_weights
from schemas.flatten import flatten
from schemas.json_syntax import parse
from schemas.limits import DEFAULT_LIMITS, Limits, shown
from schemas.records import Event
from schemas.values import Value, ValueKey, value_key

WEIGHTS = "$weights"
TOP = "$top"

_encode = msgspec.json.Encoder().encode


def decode_event(value: bytes, time: int | None = None, limits: Limits = DEFAULT_LIMITS) -> Event:
    """Return the event that a JSON object stands for.

    Parameters
    ----------
    value
        The record's value.
    time
        The record's timestamp, microseconds since 1970-01-01T00:00:00Z.
    limits
        What the event may hold.

    Raises
    ------
    Refused
        With a code of `schemas.json_syntax`, `schemas.flatten` or `schemas.event_parts`, ``event.not_object`` or
        ``event.record_too_large``.

    Notes
    -----
    In ``$weights`` an attribute has one number for all of its values, or an object from value to number. There a key
    names the value whose JSON text it is (``35``, ``true``, ``"JFK"`` in quotes) and, when that value has no key of
    its own, the string equal to it (``JFK``). Keys that name nothing are ignored.
    """
    if len(value) > limits.record_bytes:
        raise record_too_large(len(value), limits)
    members = parse(value, "event")
    if type(members) is not dict:
        raise Refused("event.not_object", f"the event is {_kind(members)}; a JSON object was wanted", "$")
    weights = members.pop(WEIGHTS, None)
    top = members.pop(TOP, None)
    try:
        attributes = flatten(members, limits)
    except RecursionError:
        raise Refused("event.too_deep", "the event is nested far too deep; flatten it", "$") from None
    return Event(
        attributes,
        {} if weights is None else _resolve_weights(weights, attributes),
        event_top(top, f"$.{TOP}"),
        event_time(time),
    )


def encode_event(event: Event) -> bytes:
    """Return an event as a flat JSON object with dotted names, ``$weights`` and ``$top``; its time is not in it.

    `decode_event` gives the same event back. Only NaN and the infinities are lost: JSON has none, they become null.
    """
    members: dict[str, Any] = {
        name: values[0] if len(values) == 1 else values for name, values in event.attributes.items()
    }
    if event.weights:
        members[WEIGHTS] = {
            name: _weights_member(event.attributes[name], weights) for name, weights in event.weights.items()
        }
    if event.top is not None:
        members[TOP] = event.top
    return _encode(members)


def record_too_large(size: int, limits: Limits) -> Refused:
    """Return the refusal of an event of so many bytes."""
    return Refused(
        "event.record_too_large",
        f"the event has {size:,} bytes; at most {limits.record_bytes:,} are allowed (setting limits.record_bytes)",
    )


def _kind(value: object) -> str:
    """Return what kind of JSON value it is, with its article."""
    if value is None:
        return "null"
    kinds = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds[type(value)]


def _resolve_weights(members: Any, attributes: Mapping[str, tuple[Value, ...]]) -> dict[str, tuple[float, ...]]:
    if not isinstance(members, dict):
        raise Refused(
            "event.weights",
            f"$weights is {_kind(members)}; an object from attribute to number, or to an object from value to number, "
            "was wanted",
            f"$.{WEIGHTS}",
        )
    return event_weights(members, attributes, f"$.{WEIGHTS}", dict, _weights_by_value)


def _weights_by_value(given: Mapping[str, Any], values: tuple[Value, ...], path: str) -> tuple[float, ...]:
    """Return one weight a value, 1 where none is given; nothing when no key names a value."""
    exact: dict[ValueKey, float] = {}
    plain: dict[str, float] = {}
    for text, weight in given.items():
        plain[text] = event_weight(weight, f"{path}.{text}")
        named = _named_by(text)
        if named is not None and exact.setdefault(value_key(named), plain[text]) != weight:
            raise Refused("event.weights", f"two keys name the value {shown(named)}, with two weights; keep one", path)
    return aligned(
        exact.get(value_key(value), plain.get(value) if isinstance(value, str) else None) for value in values
    )


def _named_by(text: str) -> Value | None:
    """Return the string, number or boolean whose JSON text this is."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, str | bool | int | float) else None


def _weights_member(values: tuple[Value, ...], weights: tuple[float, ...]) -> float | dict[str, float]:
    if len(set(weights)) == 1:
        return weights[0]
    return {
        _name_of(value): weight
        for value, weight in zip(values, weights, strict=True)
        if not (isinstance(value, float) and not math.isfinite(value))
    }


def _name_of(value: Value) -> str:
    """Return the key that names a value: a string as it is, unless it reads like JSON itself."""
    if isinstance(value, str) and _named_by(value) is None:
        return value
    return _encode(value).decode()
