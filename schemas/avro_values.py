"""Avro's scalars that are no values yet, as values: times and dates as text, decimals as numbers, bytes as text."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from schemas.errors import Refused
from schemas.limits import integer_range
from schemas.values import INT64_MAX, INT64_MIN, Value


def avro_value(scalar: Any, path: str) -> Value:
    """Return the value that a scalar of an Avro record stands for.

    ============================= ==================================================================================
    timestamp-millis, -micros     RFC 3339 in UTC, always with six digits: ``2026-05-01T08:00:00.000000Z``, so that
                                  the order of code points is the order of time
    local-timestamp-millis, ...   the same without the ``Z``
    date                          ``2026-05-01``
    time-millis, time-micros      ``08:00:00.000000``
    decimal                       a number: the integer when there is no fraction, else the nearest double
    uuid                          its text, ``00000000-0000-0000-0000-000000000000``
    bytes, fixed                  the text that they are the UTF-8 of; other bytes are refused
    ============================= ==================================================================================

    Enums, timestamps in nanoseconds (as integers) and ``float`` (as the double of equal value) are values already.

    Raises
    ------
    Refused
        ``value.bytes``, ``value.integer_range`` or ``value.number_range``.
    """
    match scalar:
        case datetime():
            if scalar.tzinfo is None:
                return scalar.isoformat(timespec="microseconds")
            return scalar.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
        case date():
            return scalar.isoformat()
        case time():
            return scalar.isoformat(timespec="microseconds")
        case Decimal():
            return _number(scalar, path)
        case UUID():
            return str(scalar)
        case bytes():
            return _text(scalar, path)
        case _:
            raise Refused("value.type", f"a value of type {type(scalar).__name__} has no meaning in an event", path)


def _number(decimal: Decimal, path: str) -> int | float:
    number = float(decimal)
    if not math.isfinite(number):
        raise Refused("value.number_range", "a decimal is beyond the range of a double; send it as a string", path)
    if decimal != decimal.to_integral_value():
        return number
    integer = int(decimal)
    if not INT64_MIN <= integer <= INT64_MAX:
        raise integer_range(integer, path)
    return integer


def _text(raw: bytes, path: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Refused(
            "value.bytes",
            "bytes that are not UTF-8 text can't be matched; leave them out of the event, or send them as text",
            path,
        ) from None
