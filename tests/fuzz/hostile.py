"""Records that somebody might send to do harm: good ones damaged, and ones made of extremes, for every decoder."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import fastavro

from schemas.avro_codec import encode_event_avro, encode_subscription_avro, framed
from schemas.json_codec import decode_subscription
from schemas.json_event import decode_event

FLIGHT: dict[str, Any] = {
    "type": "record",
    "name": "Flight",
    "fields": [
        {"name": "carrier", "type": "string"},
        {"name": "delay", "type": ["null", "int", "double"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "extra", "type": {"type": "map", "values": ["null", "long", "bytes", "boolean"]}},
    ],
}
LIST: dict[str, Any] = {
    "type": "record",
    "name": "List",
    "fields": [{"name": "value", "type": "long"}, {"name": "next", "type": ["null", "List"]}],
}
"""A recursive schema: two bytes of a record are a level."""

FLIGHT_ID, LIST_ID, EVENT_ID, SUBSCRIPTION_ID = 1, 2, 3, 4

EVENTS = (
    b'{"origin": "JFK", "delay": [5, 99, -1.5e3], "carrier": "B6", "geo": {"lat": 40.6}, "on": true, "none": null}',
    b'{"a": ["x", "y"], "b": [{"c": 1}, {"c": "\\u00e9"}], "$weights": {"a": {"x": 2, "y": 0.5}}, "$top": 3}',
)
FILTERS = (
    "origin = 'JFK'^0.5 and delay between 10 and 20 or not carrier in ('UA', 'AA')",
    "(a like 'x%' or b matches 'y+') and mod(c, 7) = 3 and d > time '2026-05-01T08:00:00Z' and not e exists",
    "name contains 'it''s' /* why */ and v version >= '2.5' -- so\n or tags has all ('a', 'b')",
)
TREES = (
    {
        "op": "not",
        "arg": {
            "op": "and",
            "args": [{"op": "in", "attribute": "a", "values": [1, "x", True], "weights": [1, 2, 0.5]}],
        },
    },
    {
        "op": "or",
        "args": [{"op": "range", "attribute": "d", "ge": 10, "lt": 20.5}, {"op": "exists", "attribute": "x.y"}],
    },
    {"op": "cidr", "attribute": "ip", "networks": ["10.0.0.0/8", "2001:db8::/32"]},
)
EXTRA = {"priority": 1.5, "labels": {"who": "traveller"}, "not_before": "2026-01-01T00:00:00Z"}

PIECES = (
    *(
        b"null",
        b"[]",
        b"{",
        b'"',
        b"1e999",
        b"-",
        b"\\u0000",
        b"\\ud800",
        b",",
        b"99999999999999999999",
        b"NaN",
        b"Infinity",
    ),
    *(
        b"-Infinity",
        b"\xff",
        b"\xc3\x28",
        b"\xed\xa0\x80",
        b"\x00",
        b"-0",
        b"1E400",
        b"'",
        b"(",
        b" not ",
        b"^",
        b"--",
        b"/*",
    ),
)
"""What is put into a record somewhere."""

SCALARS = (
    *("0", "-0", "-0.0", "1e308", "1e309", "-1e400", "5e-324", "1e-999", "NaN", "Infinity", "-Infinity", "nan"),
    *(str(2**63 - 1), str(2**63), str(-(2**63)), str(-(2**63) - 1), str(2**64)),
    *("9" * 309, "-" + "9" * 400, "1" + "0" * 4299, "1" + "0" * 5000, "01", "+1", "1."),
    *('"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\ufeff"', '""', '"x"', "true", "null", "{}", "[]"),
)
"""JSON texts of values at their ends, and of what is no JSON; Python spells no integer of over 4,300 digits."""

Maker = Callable[[random.Random], bytes]


@cache
def goods() -> dict[str, tuple[bytes, ...]]:
    """Return good records of every kind of `tests.fuzz.decoders.DECODERS`."""
    texts = [json.dumps({"filter": text} | EXTRA).encode() for text in FILTERS]
    trees = [json.dumps({"expression": tree} | EXTRA).encode() for tree in TREES]
    events = [encode_event_avro(decode_event(event)) for event in EVENTS]
    subscriptions = [encode_subscription_avro(decode_subscription("s", value)) for value in [*texts, *trees]]
    flight = {"carrier": "UA", "delay": 7, "tags": ["a", "b"], "extra": {"n": 2**40, "b": b"x", "t": True, "u": None}}
    flights, nested = [_avro(FLIGHT, flight)], [_avro(LIST, {"value": 1, "next": {"value": 2, "next": None}})]
    return {
        "JSON event": EVENTS,
        "JSON subscription": (*texts, *trees),
        "filter": tuple(text.encode() for text in FILTERS),
        "Avro event": tuple(events),
        "Avro event of a schema file": tuple(flights),
        "Avro event of a recursive schema": tuple(nested),
        "Avro subscription": tuple(subscriptions),
        "framed event": tuple(
            framed(id_, body)
            for id_, bodies in ((FLIGHT_ID, flights), (LIST_ID, nested), (EVENT_ID, events))
            for body in bodies
        ),
        "framed subscription": tuple(framed(SUBSCRIPTION_ID, body) for body in subscriptions),
    }


def shipped(name: str) -> dict[str, Any]:
    """Return a schema that comes with Tocsin."""
    schema: dict[str, Any] = json.loads(files("schemas").joinpath(name).read_text())
    return schema


def _avro(schema: dict[str, Any], record: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, record)
    return stream.getvalue()


def damaged(good: bytes, chance: random.Random) -> bytes:
    """Return a record with up to four places changed: dropped, doubled, overwritten, put in, swapped or cut off."""
    data = bytearray(good)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 4))):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(7)
        if kind == 0:
            del data[at : at + chance.randint(1, 8)]
        elif kind == 1:
            data[at:at] = data[at : at + chance.randint(1, 30)] * chance.choice((1, 1, 2, 50))
        elif kind == 2:
            data[at : at + 1] = bytes([chance.randrange(256)])
        elif kind == 3:
            data[at:at] = chance.choice(PIECES)
        elif kind == 4:
            data[at : at + 4] = chance.choice(PIECES)
        elif kind == 5:
            other = chance.randrange(len(data) + 1)
            data[at : at + 10], data[other : other + 10] = data[other : other + 10], data[at : at + 10]
        else:
            del data[at:]
    return bytes(data)


def _levels(chance: random.Random) -> int:
    return chance.choice((50, 199, 201, 299, 301, 900, 1100, 2000, 2001, 5000))


def _many(chance: random.Random) -> int:
    return chance.choice((9_999, 10_000, 10_001, 20_000, 20_001))


def _members(chance: random.Random) -> str:
    """Many members: with one name, with names of one hash in Java and others like it, or with long ones."""
    names: Sequence[str] = chance.choice(
        (
            ["a"] * 1000,
            ["".join(chance.choice(("Aa", "BB")) for _ in range(12)) for _ in range(4000)],
            [f"{n}\\u0000" for n in range(500)],
            ["n" * chance.choice((255, 256, 257, 2**20))],
            ["a.b", "a", "a.b.c", ""],
            ["$top", "$weights", "$other"],
            ["op", "op", "args"],
        )
    )
    return ", ".join(f'"{name}": {chance.choice(SCALARS)}' for name in names)


def extreme_event(chance: random.Random) -> bytes:
    """Return a JSON event of extremes."""
    depth, count = _levels(chance), _many(chance)
    return chance.choice(
        (
            lambda: b'{"a": ' + b"[" * depth + b"1" + b"]" * depth + b"}",
            lambda: b'{"a": ' * depth + b"1" + b"}" * depth,
            lambda: b'{"a": [' * depth + b"1" + b"]}" * depth,
            lambda: b'{"a": [' + b"1," * count,
            lambda: b'{"a": [' + ",".join(map(str, range(count))).encode() + b"]}",
            lambda: b'{"a": [' + b"0," * count + b'1], "$weights": {"a": {"0": 3}}}',
            lambda: b'{"a": "' + b"x" * chance.choice((2**20 - 9, 2**20 - 8, 2**20)) + b'"}',
            lambda: b'{"a": "' + b"\\u00e9" * 100_000 + b'"}',
            lambda: (
                f'{{"a": [{chance.choice(SCALARS)}, {chance.choice(SCALARS)}], "b": {chance.choice(SCALARS)}}}'.encode(
                    errors="replace"
                )
            ),
            lambda: f"{{{_members(chance)}}}".encode(errors="replace"),
            lambda: (
                f'{{"a": 1, "$weights": {{"a": {chance.choice(SCALARS)}}}, "$top": {chance.choice(SCALARS)}}}'.encode(
                    errors="replace"
                )
            ),
        )
    )()


def extreme_filter(chance: random.Random) -> bytes:
    """Return a filter text of extremes."""
    depth, count = _levels(chance), _many(chance)
    return chance.choice(
        (
            lambda: b"(" * depth + b"a = 1" + b")" * depth,
            lambda: b"not " * depth + b"a = 1",
            lambda: b"a = 1 and (b = 2 or (" * depth + b"c = 3" + b"))" * depth,
            lambda: b"a in (" + ",".join(map(str, range(count))).encode() + b")",
            lambda: b" or ".join(b"a = %d" % n for n in range(count)),
            lambda: b"a = '" + b"x" * 2**20 + b"'",
            lambda: b"x" * 2**20 + b" = 1",
            lambda: bytes(chance.choice(b"(),'^- a=1\n") for _ in range(3000)),
            lambda: chance.choice((b"a ", b"(", b"^", b"''", b",", b"not ", b"/* ", b"-- ", b'"')) * 60_000,
            lambda: b"abs(" * depth + b"a" + b")" * depth + b" > 1",
            lambda: (
                b"a matches '"
                + chance.choice((b"(" * 3000, b"(a+)+" * 500, b"[a-" * 900, b"a{1000}{1000}", b"\\p{X}"))
                + b"'"
            ),
            lambda: b"a like '" + b"%_" * 20_000 + b"'",
            lambda: f"a {chance.choice(('=', '<', 'in', 'between'))} {chance.choice(SCALARS)}".encode(errors="replace"),
        )
    )()


def extreme_subscription(chance: random.Random) -> bytes:
    """Return a JSON subscription of extremes."""
    depth, count = _levels(chance), _many(chance)
    one, two = chance.choice(SCALARS), chance.choice(SCALARS)
    kind = chance.randrange(9)
    if kind == 0:
        return json.dumps({"filter": extreme_filter(chance).decode(errors="replace")}).encode()
    if kind == 1:
        return f'{{"filter": "a = 1", "priority": {one}, "threshold": {two}}}'.encode(errors="replace")
    if kind == 2:
        return f'{{"filter": "a = 1", "labels": {{{_members(chance)}}}}}'.encode(errors="replace")
    if kind == 3:
        time = chance.choice(("0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "x" * 10_000))
        return json.dumps({"filter": "a = 1", "not_before": time}).encode()
    tree = (
        '{"op": "not", "arg": ' * depth + '{"op": "exists", "attribute": "a"}' + "}" * depth,
        '{"op": "and", "args": [' * depth + "]}" * depth,
        json.dumps({"op": "in", "attribute": "a", "values": list(range(count))}),
        f'{{"op": "in", "attribute": "a", "values": [{one}], "weights": [{two}]}}',
        f'{{"op": "{chance.choice(("range", "exists"))}", "attribute": "a", "ge": {one}, {_members(chance)}}}',
    )[kind - 4]
    return f'{{"expression": {tree}}}'.encode(errors="replace")


def extreme_avro(chance: random.Random) -> bytes:
    """Return Avro bytes of extremes: lengths that no body has, endless levels, numbers of too many bytes."""
    return chance.choice(
        (
            lambda: b"\xff" * chance.choice((1, 9, 10, 11, 2000)),
            lambda: b"\xfe\xff\xff\xff\x0f" + b"x" * 100,
            lambda: b"\x02\x02" * _levels(chance) + b"\x02\x00",
            lambda: b"\x01" * 3000,
            lambda: b"\x00" * chance.choice((1, 100, 10_000)),
            lambda: chance.randbytes(chance.choice((1, 7, 60, 3000))),
            lambda: b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02" + b"\x02" * 50,
        )
    )()


def framed_extreme(chance: random.Random) -> bytes:
    """Return such bytes behind a registry's prefix, a right one as a rule."""
    id_ = chance.choice((FLIGHT_ID, LIST_ID, EVENT_ID, SUBSCRIPTION_ID, 4711, 2**32 - 1))
    prefix = chance.choice((b"\x00" + id_.to_bytes(4, "big"), b"\x01\x00\x00\x00\x01", b"\x00\x00", b""))
    return prefix + extreme_avro(chance)


EXTREMES: dict[str, Maker] = {
    "JSON event": extreme_event,
    "JSON subscription": extreme_subscription,
    "filter": extreme_filter,
    "Avro event": extreme_avro,
    "Avro event of a schema file": extreme_avro,
    "Avro event of a recursive schema": extreme_avro,
    "Avro subscription": extreme_avro,
    "framed event": framed_extreme,
    "framed subscription": framed_extreme,
}
