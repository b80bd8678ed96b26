"""Notifications: the bytes on the topic are exactly those of the public contract, and come back."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.notification_codec import (
    decode_event_notification,
    decode_notification,
    encode_event_notification,
    encode_event_ref,
    encode_notification,
    event_ref,
)
from schemas.records import EventMatch, EventNotification, EventRef, Notification
from schemas.values import SCORE_SCALE
from tests import strategies

REF = event_ref("tocsin.events", 0, 981, b"k", 1_777_622_400_250)
REF_JSON = b'{"topic":"tocsin.events","partition":0,"offset":981,"key":"k","time":"2026-05-01T08:00:00.250Z"}'
BODY = msgspec.Raw(b'{"a": [1, null]}')


def test_a_match_is_written_member_by_member_in_the_contracts_order() -> None:
    value = encode_notification("s-42", SCORE_SCALE * 5 // 4, 1, REF, {"who": "é"})
    wanted = b'{"subscription":"s-42","score":1.25,"rank":1,"event":' + REF_JSON + b',"labels":{"who":"\xc3\xa9"}}'
    assert value == wanted


def test_the_events_body_is_added_as_it_came() -> None:
    value = encode_notification("s", 0, 1, REF, {}, BODY)
    assert value.endswith(b',"labels":{},"event_body":{"a": [1, null]}}')
    value = encode_event_notification(REF, [], BODY)
    assert value == b'{"event":' + REF_JSON + b',"matches":[],"event_body":{"a": [1, null]}}'


def test_all_matches_of_an_event_are_one_record_best_first() -> None:
    value = encode_event_notification(REF, [("s2", 2 * SCORE_SCALE, {"a": "b"}), (b"s1", -1, b"{}")])
    first = b'{"subscription":"s2","score":2.0,"labels":{"a":"b"}}'
    second = b'{"subscription":"s1","score":-9.5367431640625e-7,"labels":{}}'
    assert value == b'{"event":' + REF_JSON + b',"matches":[' + first + b"," + second + b"]}"


@pytest.mark.parametrize(
    ("key", "members"),
    [
        (None, {"key": None}),
        (b"", {"key": ""}),
        ("é\0".encode(), {"key": "é\0"}),
        (b"\xff", {"key": None, "key_base64": "/w=="}),
    ],
)
def test_a_key_is_text_null_or_base64(key: bytes | None, members: dict[str, str | None]) -> None:
    found = json.loads(bytes(encode_event_ref(event_ref("t", 1, 2, key, 0))))
    assert found == {"topic": "t", "partition": 1, "offset": 2, "time": "1970-01-01T00:00:00.000Z"} | members


@pytest.mark.parametrize(
    ("timestamp", "time"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_007, "2000-02-29T00:00:00.007Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "10000-01-01T00:00:00.000Z"),
        (2**63 - 1, "292278994-08-17T07:12:55.807Z"),
    ],
)
def test_any_timestamp_of_a_broker_has_a_text(timestamp: int, time: str) -> None:
    assert event_ref("t", 0, 0, None, timestamp).time == time


refs = st.builds(
    event_ref,
    st.sampled_from(("tocsin.events", "é")),
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**63 - 1),
    st.none() | st.binary(max_size=4),
    st.integers(-1, 2**48),
)
points = st.integers(-(2**62), 2**62) | st.sampled_from((0, 1, -1, SCORE_SCALE))
labels = st.dictionaries(strategies.strings(), strategies.strings(), max_size=2)
ids = st.sampled_from(strategies.IDS)


@given(ids, points, st.integers(1, 10**6), refs, labels, st.booleans())
def test_parts_given_encoded_make_the_same_bytes_and_come_back(
    id_: str, score: int, rank: int, ref: EventRef, labels: dict[str, str], with_body: bool
) -> None:
    body = BODY if with_body else None
    value = encode_notification(id_, score, rank, ref, labels, body)
    parts = (encode_event_ref(ref), msgspec.json.encode(labels))
    assert encode_notification(id_.encode(), score, rank, *parts, body) == value
    raw = msgspec.UNSET if body is None else body
    assert decode_notification(value) == Notification(id_, score / SCORE_SCALE, rank, ref, labels, raw)


@given(refs, st.lists(st.tuples(ids, points, labels), max_size=4))
def test_an_event_notification_comes_back(ref: EventRef, matches: list[tuple[str, int, dict[str, str]]]) -> None:
    value = encode_event_notification(ref, matches)
    encoded = [(id_.encode(), score, msgspec.Raw(msgspec.json.encode(labels))) for id_, score, labels in matches]
    assert encode_event_notification(encode_event_ref(ref), encoded) == value
    entries = [EventMatch(id_, score / SCORE_SCALE, labels) for id_, score, labels in matches]
    assert decode_event_notification(value) == EventNotification(ref, entries)


@pytest.mark.parametrize("value", [b"", b"{}", b"[]", b'{"subscription":1}', REF_JSON])
def test_what_is_no_notification_is_not_taken_for_one(value: bytes) -> None:
    for decode in (decode_notification, decode_event_notification):
        with pytest.raises(msgspec.DecodeError):
            decode(value)
