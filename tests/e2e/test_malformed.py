"""Malformed subscriptions and events: no crash, no match, each in the dead letters with its reason."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from schemas.errors import Refused
from schemas.json_codec import decode_subscription
from schemas.json_event import decode_event
from tests.e2e.harness import running_job

WANTED = 300
"""Malformed records of each kind."""

GOOD_SUBSCRIPTION = {
    "expression": {
        "op": "and",
        "args": [
            {"op": "in", "attribute": "origin", "values": ["JFK", "LGA"], "weights": [0.5, 0.25]},
            {"op": "not", "arg": {"op": "range", "attribute": "delay", "ge": 10, "lt": 20}},
            {"op": "not_in", "attribute": "carrier", "values": ["UA"], "strong": True},
        ],
    },
    "priority": 1.5,
    "labels": {"who": "traveller"},
}
GOOD_FILTER = {"filter": "origin = 'JFK'^0.5 and delay between 10 and 20 or not carrier in ('UA', 'AA')"}
GOOD_EVENT = {"origin": "JFK", "delay": [5, 99], "carrier": "B6", "geo": {"lat": 40.6}, "$weights": {"origin": 2}}


def _mutate(good: bytes, rng: random.Random) -> bytes:
    """Damage a good record in one to three places: bytes dropped, doubled, swapped for others, or the end cut off."""
    data = bytearray(good)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data))
        kind = rng.randrange(5)
        if kind == 0:
            del data[at : at + rng.randint(1, 4)]
        elif kind == 1:
            data[at:at] = data[at : at + rng.randint(1, 6)]
        elif kind == 2:
            data[at] = rng.randrange(256)
        elif kind == 3:
            data[at:at] = rng.choice(
                [b"null", b"[]", b"{", b'"', b"1e999", b"-", b"\\u0000", b",", b"99999999999999999999"]
            )
        else:
            del data[at:]
        if not data:
            data = bytearray(good[:1])
    return bytes(data)


def _malformed(goods: list[bytes], decode: Callable[[bytes], object], seed: int) -> list[tuple[bytes, str]]:
    """Return damaged records, each with the reason it is refused for; a record that stays good is passed over."""
    rng = random.Random(seed)
    found: list[tuple[bytes, str]] = []
    while len(found) < WANTED:
        record = _mutate(rng.choice(goods), rng)
        try:
            decode(record)
        except Refused as refused:
            found.append((record, refused.code))
    return found


def test_malformed_records_are_dead_letters_and_good_ones_beside_them_match(broker: Any, tmp_path: Path) -> None:
    subscriptions = _malformed(
        [json.dumps(GOOD_SUBSCRIPTION).encode(), json.dumps(GOOD_FILTER).encode()],
        lambda value: decode_subscription("id", value),
        seed=1,
    )
    events = _malformed([json.dumps(GOOD_EVENT).encode()], decode_event, seed=2)
    assert len({reason for _, reason in subscriptions}) >= 8, "the fuzz should meet many reasons"
    with running_job(broker.bootstrap_servers, tmp_path, max_events_per_batch=100, spool_bytes=10_000) as (job, client):
        topics = job.topics
        client.subscribe({"kept": GOOD_SUBSCRIPTION, "steady": {"filter": "carrier exists"}})
        client.send_all(topics.subscriptions, [(f"bad-{i}", value) for i, (value, _) in enumerate(subscriptions)])
        client.send(topics.subscriptions, "kept", subscriptions[0][0])  # refused: the earlier body stays in force
        client.send_subscription_without_key(GOOD_FILTER)
        places = []
        for i, (value, _) in enumerate(events):
            client.send_all(topics.events, [(f"bad-{i}", value)])
            if i % 10 == 0:
                places += client.publish([GOOD_EVENT])
        client.await_committed(job.events_group, topics.events)
        client.await_committed(job.subscriptions_group, topics.subscriptions)

        found = client.matches_by_event()
        assert set(found) == set(places), "only good events have matches"
        for place in places:
            assert [(n["subscription"], n["score"]) for n in found[place]] == [("kept", 2.5), ("steady", 0.0)]
        wanted: list[tuple[bytes | None, bytes, str, str]] = [
            (f"bad-{i}".encode(), value, reason, topics.subscriptions)
            for i, (value, reason) in enumerate(subscriptions)
        ]
        wanted += [(f"bad-{i}".encode(), value, reason, topics.events) for i, (value, reason) in enumerate(events)]
        wanted.append((b"kept", subscriptions[0][0], subscriptions[0][1], topics.subscriptions))
        wanted.append((None, json.dumps(GOOD_FILTER).encode(), "key.null", topics.subscriptions))
        got = [(n["key"], n["value"], n["tocsin.reason"], n["tocsin.topic"]) for n in client.letters]
        assert sorted(got, key=repr) == sorted(wanted, key=repr)
        for letter in client.letters:
            assert len(letter["tocsin.message"]) > 15
            assert int(letter["tocsin.partition"]) >= 0
            assert int(letter["tocsin.offset"]) >= 0
        assert job.stop() == 0
