"""Avro records and schemas for the tests of its codecs, and what a decoder refuses."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_writer

from schemas.errors import Refused


def body(schema: Any, record: Any) -> bytes:
    stream = BytesIO()
    schemaless_writer(stream, parse_schema(schema), record)
    return stream.getvalue()


def record_of(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": type_} for field, type_ in fields]}


def refusal_of(decode: Any, *args: Any) -> tuple[str, str]:
    with pytest.raises(Refused) as raised:
        decode(*args)
    assert 15 < len(raised.value.message) < 600
    return raised.value.code, raised.value.path
