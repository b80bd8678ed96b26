"""JSON there and back, and damaged records: what comes back is the same, what is accepted is sound."""

from __future__ import annotations

import json
import random
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.check import check_subscription
from schemas.errors import Refused
from schemas.json_codec import decode_event, decode_subscription, encode_event, encode_subscription
from schemas.records import Event, Subscription
from schemas.values import INT64_MAX, INT64_MIN, distinct_values
from tests import strategies


def spelled(values: object) -> str:
    """Return a text in which 1, 1.0 and true differ, and NaN equals NaN."""
    return repr(values)


@given(strategies.events(finite=True))
def test_an_event_comes_back_with_its_types(event: Event) -> None:
    back = decode_event(encode_event(event), event.time)
    assert spelled(back.attributes) == spelled(event.attributes)
    assert back.weights == event.weights
    assert (back.top, back.time) == (event.top, event.time)


@given(strategies.events())
def test_an_event_with_nan_is_still_encoded_as_json(event: Event) -> None:
    back = decode_event(encode_event(event))
    finite = {
        name: kept
        for name, values in event.attributes.items()
        if (kept := tuple(v for v in values if not isinstance(v, float) or abs(v) <= sys.float_info.max))
    }
    assert spelled(back.attributes) == spelled(finite)


@given(strategies.subscriptions(max_size=2))
def test_a_subscription_comes_back_with_its_types(subscriptions: list[Subscription]) -> None:
    for subscription in subscriptions:
        back = decode_subscription(subscription.id, encode_subscription(subscription))
        assert spelled(back.expression) == spelled(subscription.expression)
        assert back == subscription


def damaged(good: bytes, rng: random.Random) -> bytes:
    """Damage a record in one to three places: bytes dropped, doubled, replaced, tokens put in, the end cut off."""
    data = bytearray(good)
    tokens = [
        b"null",
        b"[]",
        b"{}",
        b'"',
        b"1e999",
        b"-",
        b"\\u0000",
        b",",
        b"9" * 20,
        b"[" * 300,
        b"NaN",
        b"\\ud800",
        b"\xff",
    ]
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            del data[at : at + rng.randint(1, 4)]
        elif kind == 1:
            data[at:at] = data[at : at + rng.randint(1, 8)]
        elif kind == 2:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 3:
            data[at:at] = rng.choice(tokens)
        else:
            del data[at:]
    return bytes(data)


def is_json(value: bytes) -> bool:
    """Return whether Python's own reader takes it, without its extensions."""

    def no_constant(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(value.decode(), parse_constant=no_constant)
    except (ValueError, RecursionError):
        return False
    return True


@settings(max_examples=50)
@given(strategies.events(finite=True), st.randoms(use_true_random=False))
def test_a_damaged_event_is_refused_or_a_sound_event(event: Event, rng: random.Random) -> None:
    good = encode_event(event)
    for _ in range(30):
        value = damaged(good, rng)
        try:
            decoded = decode_event(value)
        except Refused:
            continue
        assert is_json(value)
        for name, values in decoded.attributes.items():
            assert values
            assert spelled(distinct_values(values)) == spelled(values)
            assert all(isinstance(v, str | bool | float) or INT64_MIN <= v <= INT64_MAX for v in values)
            assert len(decoded.weights.get(name, values)) == len(values)
        assert decoded.weights.keys() <= decoded.attributes.keys()


@settings(max_examples=50)
@given(strategies.subscription("s"), st.randoms(use_true_random=False))
def test_a_damaged_subscription_is_refused_or_an_allowed_subscription(
    subscription: Subscription, rng: random.Random
) -> None:
    good = encode_subscription(subscription)
    for _ in range(30):
        value = damaged(good, rng)
        try:
            decoded = decode_subscription("s", value)
        except Refused:
            continue
        assert is_json(value)
        check_subscription(decoded)
        assert decode_subscription("s", encode_subscription(decoded)) == decoded
