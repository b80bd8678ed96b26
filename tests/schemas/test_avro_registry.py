"""Avro with a schema registry: the prefix that names a schema, schemas of the writers' own, a registry that fails."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime
from http.server import HTTPServer
from importlib.resources import files
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from schemas.avro_codec import (
    AvroEventDecoder,
    AvroSubscriptionDecoder,
    RegistryUnavailable,
    encode_event_avro,
    framed,
)
from schemas.errors import Refused
from schemas.expression import Exists
from schemas.records import Event, Subscription
from tests.e2e.registry import RegistryHandler
from tests.schemas.avro_records import body, record_of, refusal_of

A = '{"op":"exists","attribute":"a"}'


@pytest.fixture
def registry() -> SchemaRegistryClient:
    client = SchemaRegistryClient.new_client({"url": "mock://"})
    client.register_schema("padding", Schema('"int"', "AVRO"))
    return client


def test_an_event_of_a_registry_serializer_is_found_by_its_schema_id(registry: SchemaRegistryClient) -> None:
    schema = record_of(("carrier", "string"), ("delay", "double"))
    serializer = AvroSerializer(registry, json.dumps(schema))
    decoder = AvroEventDecoder(registry=registry)
    for delay in (1.0, 2.0):
        value = serializer({"carrier": "UA", "delay": delay}, SerializationContext("events", MessageField.VALUE))
        assert decoder.decode(value).attributes == {"carrier": ("UA",), "delay": (delay,)}


def test_two_writers_schemas_on_one_topic_are_each_read_by_their_own(registry: SchemaRegistryClient) -> None:
    decoder = AvroEventDecoder(registry=registry)
    for name, type_, value in (("a", "long", 1), ("b", "string", "x"), ("a", "long", 2)):
        schema = record_of((name, type_), name=f"R{name}")
        schema_id = registry.register_schema(f"s-{name}", Schema(json.dumps(schema), "AVRO"))
        assert decoder.decode(framed(schema_id, body(schema, {name: value}))).attributes == {name: (value,)}


def test_the_generic_event_may_be_framed(registry: SchemaRegistryClient) -> None:
    text = files("schemas").joinpath("event.avsc").read_text()
    schema_id = registry.register_schema("events-value", Schema(text, "AVRO"))
    event = Event({"a": (1, 1.5, "x")}, {"a": (1.0, 2.0, 3.0)}, 7, 5)
    assert AvroEventDecoder(registry=registry).decode(framed(schema_id, encode_event_avro(event)), 5) == event


def test_a_schema_that_refers_to_another_is_read(registry: SchemaRegistryClient) -> None:
    inner = record_of(("lat", "double"), name="Geo")
    registry.register_schema("geo", Schema(json.dumps(inner), "AVRO"))
    outer = record_of(("geo", "Geo"))
    reference = SchemaReference("Geo", "geo", 1)
    schema_id = registry.register_schema("outer", Schema(json.dumps(outer), "AVRO", [reference]))
    value = framed(schema_id, body(record_of(("geo", inner)), {"geo": {"lat": 1.5}}))
    assert AvroEventDecoder(registry=registry).decode(value).attributes == {"geo.lat": (1.5,)}


def test_a_schema_that_refers_to_one_that_refers_to_another_is_read(registry: SchemaRegistryClient) -> None:
    point = record_of(("lat", "double"), name="Point")
    registry.register_schema("point", Schema(json.dumps(point), "AVRO"))
    place, refers = record_of(("at", "Point"), name="Place"), [SchemaReference("Point", "point", 1)]
    registry.register_schema("place", Schema(json.dumps(place), "AVRO", refers))
    outer, refers = record_of(("place", "Place"), name="Outer"), [SchemaReference("Place", "place", 1)]
    schema_id = registry.register_schema("outer", Schema(json.dumps(outer), "AVRO", refers))
    whole = record_of(("place", record_of(("at", point), name="Place")), name="Outer")
    value = framed(schema_id, body(whole, {"place": {"at": {"lat": 1.5}}}))
    assert AvroEventDecoder(registry=registry).decode(value).attributes == {"place.at.lat": (1.5,)}


def test_a_framed_subscription_may_have_a_schema_of_its_own_but_no_unknown_member(
    registry: SchemaRegistryClient,
) -> None:
    decoder = AvroSubscriptionDecoder(registry)
    own = record_of(("expression", "string"), ("not_before", "string"))
    schema_id = registry.register_schema("own", Schema(json.dumps(own), "AVRO"))
    value = framed(schema_id, body(own, {"expression": A, "not_before": "1970-01-01T00:00:01Z"}))
    assert decoder.decode("s", value) == Subscription("s", Exists("a"), not_before=1_000_000)
    wider = record_of(("expression", "string"), ("not_befor", "string"), name="Wider")
    schema_id = registry.register_schema("wider", Schema(json.dumps(wider), "AVRO"))
    value = framed(schema_id, body(wider, {"expression": A, "not_befor": "x"}))
    assert refusal_of(decoder.decode, "s", value) == ("subscription.unknown_member", "$.not_befor")


def test_a_validity_bound_may_be_a_date_of_avro_but_no_time_without_a_zone(registry: SchemaRegistryClient) -> None:
    decoder = AvroSubscriptionDecoder(registry)
    day = record_of(("expression", "string"), ("not_before", {"type": "int", "logicalType": "date"}), name="Day")
    schema_id = registry.register_schema("day", Schema(json.dumps(day), "AVRO"))
    value = framed(schema_id, body(day, {"expression": A, "not_before": date(1970, 1, 2)}))
    assert decoder.decode("s", value) == Subscription("s", Exists("a"), not_before=86_400_000_000)
    bound = {"type": "long", "logicalType": "local-timestamp-micros"}
    local = record_of(("expression", "string"), ("not_after", bound), name="Local")
    schema_id = registry.register_schema("local", Schema(json.dumps(local), "AVRO"))
    value = framed(schema_id, body(local, {"expression": A, "not_after": datetime(2026, 5, 1, 8)}))
    with pytest.raises(Refused, match="'2026-05-01T08:00:00' is no RFC 3339 time with a zone") as raised:
        decoder.decode("s", value)
    assert (raised.value.code, raised.value.path) == ("subscription.type", "$.not_after")


def test_a_record_whose_prefix_or_schema_is_wrong_is_refused(registry: SchemaRegistryClient) -> None:
    decoder = AvroEventDecoder(registry=registry)
    for value in (b"\0\0\0\0", b"\x01\0\0\0\1\x02", b'{"a":1}'):
        assert refusal_of(decoder.decode, value)[0] == "event.avro_prefix"
    assert refusal_of(AvroSubscriptionDecoder(registry).decode, "s", b"\x01")[0] == "subscription.avro_prefix"
    assert refusal_of(decoder.decode, framed(4711, b"\x02")) == ("registry.schema_unknown", "byte 1")
    proto = registry.register_schema("proto", Schema('syntax = "proto3";', "PROTOBUF"))
    broken = registry.register_schema("broken", Schema('{"type":"record"}', "AVRO"))
    foreign = registry.register_schema("json", Schema('{"type":"string"}', "JSON"))
    for schema_id in (proto, broken, foreign):
        assert refusal_of(decoder.decode, framed(schema_id, b"\x02a"))[0] == "registry.schema_invalid"


@contextmanager
def http_registry(status: int, answer: Any) -> Iterator[SchemaRegistryClient]:
    """Serve one answer to every request, and give a client of that server."""

    class Handler(RegistryHandler):
        def found(self, path: str) -> tuple[int, Any]:
            return status, answer

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield client_of(server.server_port)
        finally:
            server.shutdown()
            thread.join()


def client_of(port: int) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": f"http://127.0.0.1:{port}", "max.retries": 0})


def test_over_http_an_unknown_schema_is_refused_and_a_known_one_read() -> None:
    with http_registry(404, {"error_code": 40403, "message": "Schema not found"}) as client:
        assert refusal_of(AvroEventDecoder(registry=client).decode, framed(1, b"\x02"))[0] == "registry.schema_unknown"
    with http_registry(200, {"schema": json.dumps(record_of(("x", "long")))}) as client:
        decoder = AvroEventDecoder(registry=client)
        assert decoder.decode(framed(1, b"\x02")).attributes == {"x": (1,)}
    assert decoder.decode(framed(1, b"\x04")).attributes == {"x": (2,)}  # the registry is asked once


def test_a_registry_that_does_not_answer_is_no_fault_of_the_record() -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        down = client_of(free.getsockname()[1])
        with pytest.raises(RegistryUnavailable, match="can't be reached"):
            AvroEventDecoder(registry=down).decode(framed(1, b"\x02"))
    for status in (401, 500, 503):
        with (
            http_registry(status, {"error_code": status, "message": "not now"}) as client,
            pytest.raises(RegistryUnavailable, match="refused to give schema 1"),
        ):
            AvroEventDecoder(registry=client).decode(framed(1, b"\x02"))
    assert not issubclass(RegistryUnavailable, Refused)
