"""Events and subscriptions as Avro: any record, the generic schemas; refusals; there and back."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import avro_schemas
from schemas.avro_codec import (
    AvroEventDecoder,
    AvroSubscriptionDecoder,
    encode_event_avro,
    encode_subscription_avro,
)
from schemas.check import Limits, check_subscription
from schemas.errors import Refused, TocsinError
from schemas.expression import Exists
from schemas.json_codec import decode_event
from schemas.records import Event, Subscription
from schemas.values import INT64_MAX, INT64_MIN, WEIGHT_LIMIT
from tests import strategies
from tests.schemas.avro_records import body, record_of, refusal_of

EVENTS = AvroEventDecoder()
SUBSCRIPTIONS = AvroSubscriptionDecoder()
A = '{"op":"exists","attribute":"a"}'


def decoded(schema: Any, record: Any) -> Mapping[str, Any]:
    return AvroEventDecoder(schema).decode(body(schema, record)).attributes


# --- any record


def test_a_record_is_flattened_like_json() -> None:
    schema = record_of(
        ("carrier", "string"),
        ("delay", ["null", "long"]),
        ("gone", ["null", "long"]),
        ("geo", record_of(("lat", "double"), ("tags", {"type": "array", "items": "string"}), name="Geo")),
        ("legs", {"type": "array", "items": record_of(("to", "string"), name="Leg")}),
        ("extra", {"type": "map", "values": ["null", "boolean", "int"]}),
    )
    record = {
        "carrier": "UA",
        "delay": 35,
        "gone": None,
        "geo": {"lat": 1.0, "tags": ["x", "y", "x"]},
        "legs": [{"to": "IAH"}, {"to": "JFK"}],
        "extra": {"on": True, "n": 1, "none": None},
    }
    assert repr(decoded(schema, record)) == repr(decode_event(json.dumps(record).encode()).attributes)
    assert decoded(schema, record)["legs.to"] == ("IAH", "JFK")


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        ("int", 1, 1),
        ("float", 0.5, 0.5),
        ("float", math.inf, math.inf),
        ("double", -0.0, -0.0),
        ("double", math.nan, math.nan),
        ({"type": "enum", "name": "E", "symbols": ["RED", "BLUE"]}, "BLUE", "BLUE"),
        ("bytes", "é".encode(), "é"),
        ({"type": "fixed", "name": "F", "size": 2}, b"ab", "ab"),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            datetime(2026, 5, 1, 8, 0, 0, 250_000, UTC),
            "2026-05-01T08:00:00.250000Z",
        ),
        (
            {"type": "long", "logicalType": "timestamp-micros"},
            datetime(2026, 5, 1, tzinfo=UTC),
            "2026-05-01T00:00:00.000000Z",
        ),
        (
            {"type": "long", "logicalType": "local-timestamp-micros"},
            datetime(2026, 5, 1, 8),
            "2026-05-01T08:00:00.000000",
        ),
        ({"type": "int", "logicalType": "date"}, date(2026, 5, 1), "2026-05-01"),
        ({"type": "int", "logicalType": "time-millis"}, time(8, 30), "08:30:00.000000"),
        ({"type": "string", "logicalType": "uuid"}, UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("12.30"), 12.3),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("12.00"), 12),
        ({"type": "bytes", "logicalType": "decimal", "precision": 19, "scale": 0}, Decimal(INT64_MAX), INT64_MAX),
    ],
)
def test_every_scalar_becomes_the_value_that_a_subscriber_would_write(type_: Any, given: Any, value: Any) -> None:
    assert repr(decoded(record_of(("x", type_)), {"x": given})) == repr({"x": (value,)})


@pytest.mark.parametrize(
    ("type_", "given", "code"),
    [
        ("bytes", b"\xff\xfe", "value.bytes"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 0},
            Decimal(2**63),
            "value.integer_range",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 400, "scale": 1},
            Decimal(10) ** 350,
            "value.number_range",
        ),
    ],
)
def test_a_scalar_that_is_no_value_is_refused_with_its_path(type_: Any, given: Any, code: str) -> None:
    schema = record_of(("a", record_of(("x", type_), name="Inner")))
    assert refusal_of(decoded, schema, {"a": {"x": given}}) == (code, "$.a.x")


@pytest.mark.parametrize(
    ("schema", "value", "code"),
    [
        (record_of(("x", "long")), b"", "event.empty"),
        (record_of(("x", "string")), b"\x06ab", "event.avro"),
        (record_of(("x", "string")), b"\x04\xff\xfe", "event.avro"),
        (record_of(("x", "long")), b"\x02\x02", "event.avro"),
        (record_of(("x", "long")), b"\xff", "event.avro"),
        (record_of(("x", ["null", "long"])), b"\x0e", "event.avro"),
        (record_of(("x", {"type": "enum", "name": "E", "symbols": ["A"]})), b"\x0e", "event.avro"),
        (record_of(("x", {"type": "array", "items": "long"})), b"\xfe\xff\xff\xff\x0f\x02", "event.avro"),
        (
            record_of(("x", {"type": "long", "logicalType": "timestamp-millis"})),
            b"\xfe" + b"\xff" * 8 + b"\x01",
            "event.avro",
        ),
        (record_of(("x", {"type": "int", "logicalType": "time-millis"})), b"\xfe\xff\xff\xff\x0f", "event.avro"),
        ('"long"', b"\x02", "event.not_object"),
        ({"type": "map", "values": "long"}, b"\x02\x04$a\x02\x00", "event.reserved"),
        ({"type": "map", "values": "long"}, b"\x02\x04\x00a\x02\x00", "attribute.name"),
        (record_of(("x", "string")), b"\x82\x80\x80\x01" + b"x" * 2**20, "event.record_too_large"),
    ],
)
def test_bytes_that_are_no_event_are_refused(schema: Any, value: bytes, code: str) -> None:
    assert refusal_of(AvroEventDecoder(schema).decode, value)[0] == code


def test_a_hostile_record_of_a_recursive_schema_is_refused_instead_of_ending_the_process() -> None:
    tree = record_of(("v", "long"), ("next", ["null", "R"]))
    decoder = AvroEventDecoder(tree)
    assert decoder.decode(b"\x02\x02\x04\x00").attributes == {"v": (1,), "next.v": (2,)}
    assert refusal_of(decoder.decode, b"\x02\x02" * 400_000 + b"\x02\x00")[0] == "event.too_deep"
    forest = record_of(("kids", {"type": "array", "items": {"type": "map", "values": "R"}}))
    assert refusal_of(AvroEventDecoder(forest).decode, b"\x02\x02\x00" * 300_000)[0] == "event.too_deep"


def test_a_schema_that_names_one_type_often_is_not_taken_for_recursive() -> None:
    fields: list[tuple[str, Any]] = [("first", record_of(("n", "long"), name="T0"))]
    for i in range(40):  # each type holds the one before it twice: walking it naively takes 2**40 steps
        fields.append((f"f{i}", record_of(("a", f"T{i}"), ("b", f"T{i}"), name=f"T{i + 1}")))
    small = record_of(*fields[:3])
    value = AvroEventDecoder(small).decode(b"\x02" * 7).attributes
    assert value["f1.b.b.n"] == (1,)
    assert refusal_of(AvroEventDecoder(record_of(*fields)).decode, b"\x02")[0] == "event.avro"


def test_what_is_no_schema_is_an_error_for_the_user() -> None:
    for schema in ("{", '"no such type"', '{"type":"record"}', {"type": "record", "name": "R", "fields": [1]}):
        with pytest.raises(TocsinError, match="Avro schema"):
            AvroEventDecoder(schema)


# --- the generic event


@given(strategies.events())
def test_an_event_comes_back_with_its_types(event: Event) -> None:
    back = EVENTS.decode(encode_event_avro(event), event.time)
    assert repr(back.attributes) == repr(event.attributes)
    assert back.weights == event.weights
    assert (back.top, back.time) == (event.top, event.time)


def generic(**record: Any) -> bytes:
    return body(avro_schemas.generic_event().schema, {"attributes": {"a": [1, "1", True]}, **record})


def test_weights_by_value_name_value_and_type() -> None:
    pairs = [{"value": "1", "weight": 2.0}, {"value": 1.0, "weight": 3.0}, {"value": "absent", "weight": 4.0}]
    assert EVENTS.decode(generic(weights={"a": pairs, "absent": 2.0})).weights == {"a": (3.0, 2.0, 1.0)}
    assert EVENTS.decode(generic(weights={"a": pairs[2:]})).weights == {}
    assert EVENTS.decode(generic(weights={"a": 0.5})).weights == {"a": (0.5, 0.5, 0.5)}


@pytest.mark.parametrize(
    ("record", "code", "path"),
    [
        ({"weights": {"a": math.nan}}, "event.weights", "$.weights.a"),
        ({"weights": {"a": math.inf}}, "event.weights", "$.weights.a"),
        ({"weights": {"a": WEIGHT_LIMIT * 2}}, "event.weights", "$.weights.a"),
        ({"weights": {"a": [{"value": 1, "weight": math.nan}]}}, "event.weights", "$.weights.a[0].weight"),
        (
            {"weights": {"a": [{"value": 1, "weight": 1.0}, {"value": 1.0, "weight": 2.0}]}},
            "event.weights",
            "$.weights.a[1]",
        ),
        ({"top": 0}, "event.top", "$.top"),
        ({"top": 2**31}, "event.top", "$.top"),
        ({"attributes": {"$a": 1}}, "event.reserved", "$.$a"),
        ({"attributes": {"x" * 257: 1}}, "attribute.too_long", None),
    ],
)
def test_a_generic_event_is_refused_with_code_and_path(record: Any, code: str, path: str | None) -> None:
    found = refusal_of(EVENTS.decode, generic(**record))
    assert found[0] == code
    assert path is None or found[1] == path


def test_limits_hold_for_avro_too() -> None:
    value = generic(attributes={"a": [1, 2, 3]})
    assert refusal_of(EVENTS.decode, value, None, Limits(list_length=2)) == ("value.list_too_long", "$.a")
    assert refusal_of(EVENTS.decode, value, None, Limits(record_bytes=5))[0] == "event.record_too_large"
    assert refusal_of(EVENTS.decode, value, INT64_MAX + 1)[0] == "event.time"


# --- subscriptions


@given(strategies.subscriptions(max_size=2))
def test_a_subscription_comes_back_with_its_types(subscriptions: list[Subscription]) -> None:
    for subscription in subscriptions:
        back = SUBSCRIPTIONS.decode(subscription.id, encode_subscription_avro(subscription))
        assert repr(back.expression) == repr(subscription.expression)
        assert back == subscription


def subscription(**members: Any) -> bytes:
    return body(avro_schemas.subscription().schema, members)


def test_a_filter_text_can_stand_in_the_place_of_the_tree() -> None:
    assert SUBSCRIPTIONS.decode("s", subscription(filter="a exists")) == Subscription("s", Exists("a"))
    with pytest.raises(Refused) as raised:
        SUBSCRIPTIONS.decode("s", subscription(filter="a exists^2"))
    assert raised.value.path == "$.filter, line 1, column 10"


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        (b"", "subscription.empty", ""),
        (b"\x00", "subscription.avro", None),
        (subscription(expression=A) + b"x", "subscription.avro", None),
        (subscription(), "subscription.filter_or_expression", "$"),
        (subscription(expression=A, filter="a exists"), "subscription.filter_or_expression", "$"),
        (subscription(expression=""), "subscription.empty", "$.expression"),
        (subscription(expression="{"), "subscription.json", "$.expression, byte 1"),
        (subscription(expression="[]"), "subscription.type", "$.expression"),
        (subscription(expression='{"op":"not","arg":1}'), "subscription.type", "$.expression.arg"),
        (subscription(expression='{"op":"not","arg":{"op":"globs"}}'), "operator.unknown", "$.expression.arg.op"),
        (subscription(expression='{"op":"nor","args":[]}'), "operator.unknown", "$.expression.op"),
        (
            subscription(expression='{"op":"exists","attribut":"a"}'),
            "subscription.unknown_member",
            "$.expression.attribut",
        ),
        (subscription(expression='{"op":"exists"'), "subscription.json", "$.expression, byte 14"),
        (subscription(expression='{"op":"in","attribute":"a","values":[]}'), "value.empty_list", "$.expression.values"),
        (subscription(expression='{"op":"not","arg":' * 50_000), "expression.too_deep", "$.expression"),
        (subscription(expression=A, priority=math.nan), "weights.range", "$.priority"),
        (subscription(expression=A, mode="threshold"), "threshold.missing", "$.threshold"),
        (subscription(expression=A, mode="threshold", threshold=math.nan), "threshold.range", "$.threshold"),
        (
            subscription(
                expression=A, not_before=datetime(2026, 5, 2, tzinfo=UTC), not_after=datetime(2026, 5, 1, tzinfo=UTC)
            ),
            "validity.inverted",
            "$.not_after",
        ),
        (subscription(expression=A, labels={"a": "x" * 20_000}), "labels.too_large", "$.labels"),
        (subscription(filter="x" * 2**20), "subscription.record_too_large", ""),
    ],
)
def test_what_is_no_subscription_is_refused_with_its_code_and_path(value: bytes, code: str, path: str | None) -> None:
    found = refusal_of(SUBSCRIPTIONS.decode, "s", value)
    assert found[0] == code
    assert path is None or found[1] == path


# --- fuzz


def damaged(good: bytes, rng: random.Random) -> bytes:
    data = bytearray(good)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            del data[at : at + rng.randint(1, 4)]
        elif kind == 1:
            data[at:at] = rng.randbytes(rng.randint(1, 9))
        elif kind == 2:
            data[at : at + 1] = bytes([rng.choice((0, 1, 2, 127, 128, 255, rng.randrange(256)))])
        else:
            del data[at:]
    return bytes(data)


@settings(max_examples=50)
@given(strategies.events(), st.randoms(use_true_random=False))
def test_a_damaged_event_is_refused_or_a_sound_event(event: Event, rng: random.Random) -> None:
    good = encode_event_avro(event)
    for _ in range(30):
        try:
            found = EVENTS.decode(damaged(good, rng))
        except Refused:
            continue
        for name, values in found.attributes.items():
            assert values
            assert all(isinstance(v, str | bool | float) or INT64_MIN <= v <= INT64_MAX for v in values)
            assert len(found.weights.get(name, values)) == len(values)
        assert found.weights.keys() <= found.attributes.keys()


@settings(max_examples=50)
@given(strategies.subscription("s"), st.randoms(use_true_random=False))
def test_a_damaged_subscription_is_refused_or_an_allowed_one(good: Subscription, rng: random.Random) -> None:
    value = encode_subscription_avro(good)
    for _ in range(30):
        try:
            found = SUBSCRIPTIONS.decode("s", damaged(value, rng))
        except Refused:
            continue
        check_subscription(found)
