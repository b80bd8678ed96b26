"""Avro topics through the running job: framed by a schema id, by a schema file, and with a registry that is down."""

from __future__ import annotations

import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import fastavro

from schemas.avro_codec import encode_event_avro, encode_subscription_avro, framed
from schemas.json_codec import decode_subscription
from schemas.json_event import decode_event
from tests.e2e.harness import Client, JobUnderTest, running_job
from tests.e2e.registry import SchemaRegistry

FLIGHT: dict[str, Any] = {
    "type": "record",
    "name": "Flight",
    "fields": [
        {"name": "carrier", "type": "string"},
        {"name": "delay", "type": ["null", "int"]},
        {
            "name": "origin",
            "type": {"type": "record", "name": "Airport", "fields": [{"name": "code", "type": "string"}]},
        },
    ],
}
FILTERS = {"late": "delay > 60", "jfk": "origin.code = 'JFK'^0.5", "ua": "carrier = 'UA'"}


def _shipped(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(files("schemas").joinpath(name).read_text())
    return schema


def _flight(carrier: str, delay: int | None, origin: str, schema: dict[str, Any] = FLIGHT) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, {"carrier": carrier, "delay": delay, "origin": {"code": origin}})
    return stream.getvalue()


def _subscription(text: str) -> bytes:
    return encode_subscription_avro(decode_subscription("id", json.dumps({"filter": text}).encode()))


def _ids(client: Client, place: tuple[int, int]) -> list[str]:
    return [n["subscription"] for n in client.matches_of(place)]


def _settle(job: JobUnderTest, client: Client) -> None:
    client.await_committed(job.subscriptions_group, job.topics.subscriptions)
    client.await_committed(job.events_group, job.topics.events)


def test_framed_records_are_read_by_their_schema_id_and_wait_while_the_registry_is_down(
    broker: Any, tmp_path: Path
) -> None:
    """A batch with a schema that can't be asked for waits, through a restart of the job too, and nothing is skipped."""
    with SchemaRegistry() as registry:
        flight, generic = registry.register(FLIGHT), registry.register(_shipped("event.avsc"))
        subscription = registry.register(_shipped("subscription.avsc"))
        formats = {"events.format": "avro_registry", "subscriptions.format": "avro_registry"}
        with running_job(broker.bootstrap_servers, tmp_path, **formats, **{"registry.url": registry.url}) as running:
            job, client = running
            topics = job.topics
            bodies = [(id_, framed(subscription, _subscription(text))) for id_, text in FILTERS.items()]
            bodies[1:1] = [("bad-prefix", b"{}"), ("bad-schema", framed(4711, b"\x02"))]
            client.send_all(topics.subscriptions, bodies)
            event = decode_event(json.dumps({"carrier": "UA", "$top": 1, "delay": 99}).encode())
            good = [
                framed(flight, _flight("UA", 75, "JFK")),
                framed(generic, encode_event_avro(event)),
                framed(flight, _flight("B6", None, "JFK")),
            ]
            broken = framed(flight, _flight("UA", 75, "JFK")[:-2])
            places = client.send_all(topics.events, [(None, value) for value in [good[0], broken, *good[1:]]])
            _settle(job, client)
            assert [_ids(client, place) for place in places] == [["ua", "jfk", "late"], [], ["ua"], ["jfk"]]
            letters = sorted((letter["key"], letter["tocsin.reason"]) for letter in client.letters if letter["key"])
            assert letters == [(b"bad-prefix", "subscription.avro_prefix"), (b"bad-schema", "registry.schema_unknown")]
            assert [n["tocsin.reason"] for n in client.letters if n["value"] == broken] == ["event.avro"]

            wider = FLIGHT | {"fields": [*FLIGHT["fields"], {"name": "seats", "type": "int", "default": 9}]}
            new = registry.register(wider)
            registry.stop()
            stream = io.BytesIO()
            record = {"carrier": "UA", "delay": 1, "origin": {"code": "LGA"}, "seats": 3}
            fastavro.schemaless_writer(stream, wider, record)
            # of one partition, so that no micro-batch holds the second without the first
            body = framed(new, stream.getvalue())
            waiting = client.send_all(topics.events, [("one partition", body), ("one partition", good[2])])
            job.await_words("a batch waits and is tried again in 1 s: the schema registry can't be reached for schema")
            assert job.stop() == 0
            job.start()  # it knows no schema now, not even those it had read
            job.await_words("ready")
            client.poll(1)
            assert [_ids(client, place) for place in waiting] == [[], []]
            registry.start()
            _settle(job, client)
            assert [_ids(client, place) for place in waiting] == [["ua"], ["jfk"]]
            assert len(client.letters) == 3, "waiting makes no dead letters"
            assert job.stop() == 0


def test_plain_records_are_read_by_the_schema_file_and_the_subscription_schema(broker: Any, tmp_path: Path) -> None:
    schema_file = tmp_path / "flight.avsc"
    schema_file.write_text(json.dumps(FLIGHT))
    formats = {"events.format": "avro", "events.schema_file": schema_file, "subscriptions.format": "avro"}
    with running_job(broker.bootstrap_servers, tmp_path, **formats) as (job, client):
        subscriptions = [(id_, _subscription(text)) for id_, text in FILTERS.items()]
        client.send_all(job.topics.subscriptions, [subscriptions[0], ("bad", b"\xff" * 9), *subscriptions[1:]])
        client.unsubscribe(["ua"])
        values = [_flight("UA", 75, "JFK"), b"\x02", _flight("UA", None, "JFK")]
        places = client.send_all(job.topics.events, [(None, value) for value in values])
        _settle(job, client)
        assert [_ids(client, place) for place in places] == [["jfk", "late"], [], ["jfk"]]
        assert sorted(letter["tocsin.reason"] for letter in client.letters) == ["event.avro", "subscription.avro"]
        assert job.stop() == 0
