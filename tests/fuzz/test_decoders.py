"""Hostile records: every decoder is right about each or refuses it with a reason; the fuzzer finds what does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.avro_codec import encode_event_avro
from schemas.errors import Refused
from schemas.json_codec import decode_subscription
from schemas.json_event import decode_event
from schemas.limits import Limits
from schemas.records import Event
from tests.fuzz import decoders
from tests.fuzz.decoders import Counts, trial
from tests.fuzz.hostile import EXTREMES, goods

RECORDS = 3000

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**63 - 2, 2**63 + 2)
    | st.integers(-(2**63) - 2, -(2**63) + 2)
    | st.floats()
    | st.text(max_size=20)
)
names = (
    st.sampled_from(["a", "b", "a.b", "", "$top", "$weights", "op", "args", "values", "attribute", "filter"])
    | st.text()
)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.lists(st.tuples(names, inner), max_size=5), max_leaves=25
)
"""JSON values; a list of pairs stands for an object, whose names may occur twice."""


def text_of(value: Any) -> str:
    """Return a value as JSON, with NaN and infinities spelled as many encoders do."""
    if isinstance(value, list) and value and all(isinstance(entry, tuple) for entry in value):
        return f"{{{', '.join(f'{json.dumps(name)}: {text_of(inner)}' for name, inner in value)}}}"
    if isinstance(value, list):
        return f"[{', '.join(text_of(inner) for inner in value)}]"
    return json.dumps(value)


def test_three_thousand_records_are_right_or_refused() -> None:
    counts = Counts()
    wrong = decoders.fuzz(600, 1, counts, RECORDS)
    assert wrong is None, decoders.reproduction(wrong)
    assert counts.total == RECORDS
    assert counts.right > 200
    assert len(counts.refused) > 30


def test_every_good_record_is_right() -> None:
    for kind, records in goods().items():
        for value in records:
            counts = Counts()
            assert trial(kind, value, counts) is None
            assert counts.right == 1, (kind, value, counts.refused)
    assert goods().keys() == EXTREMES.keys() == decoders.decoders().keys()


@given(st.sampled_from(["JSON event", "JSON subscription"]), trees)
@settings(max_examples=400, deadline=None)
def test_any_json_is_right_or_refused(kind: str, value: Any) -> None:
    assert trial(kind, text_of(value).encode(errors="surrogatepass"), Counts()) is None


@given(st.sampled_from(sorted(EXTREMES)), st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@settings(max_examples=400, deadline=None)
def test_any_bytes_are_right_or_refused(kind: str, value: bytes) -> None:
    assert trial(kind, value, Counts()) is None


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b'{"a": ' + b"[" * 2000 + b"]" * 2000 + b"}", "event.too_deep"),
        (b'{"a": ' * 2000 + b"1" + b"}" * 2000, "event.too_deep"),
        (b'{"a": "' + b"x" * 2**20 + b'"}', "event.record_too_large"),
        (b'{"a": "\xff"}', "event.utf8"),
        (b'{"a": NaN}', "event.json"),
        (b'{"a": -Infinity}', "event.json"),
        (b'{"a": 9223372036854775808}', "value.integer_range"),
        (b'{"a": 1e999}', "value.number_range"),
        (b'{"' + b"n" * 257 + b'": 1}', "attribute.too_long"),
        (b'{"a": [' + b",".join(b"%d" % n for n in range(20_001)) + b"]}", "value.list_too_long"),
    ],
)
def test_what_is_too_much_is_refused_for_this_reason(record: bytes, reason: str) -> None:
    with pytest.raises(Refused) as caught:
        decode_event(record)
    assert caught.value.code == reason


def test_what_is_much_and_allowed_is_right() -> None:
    assert decode_event(b'{"a": [' + b",".join(b"%d" % n for n in range(10_000)) + b"]}").attributes["a"][-1] == 9999
    text = "x" * (2**20 - 9)
    assert decode_event(b'{"a": "' + text.encode() + b'"}').attributes["a"] == (text,)
    assert decode_event(b'{"a": 1, "b": 2, "a": 3}').attributes == {"a": (3,), "b": (2,)}
    colliding = ["".join(pair) for pair in _pairs(11)]  # of one hash in Java, and in much that copies it
    event = decode_event(json.dumps(dict.fromkeys(colliding, 1)).encode())
    assert list(event.attributes) == colliding
    deep = b'{"expression": ' + b'{"op": "not", "arg": ' * 2000 + b'{"op": "exists", "attribute": "a"}' + b"}" * 2001
    assert decode_subscription("s", deep, Limits(depth=2000)).id == "s"


def _pairs(length: int) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for _ in range(length):
        found = [[*start, pair] for start in found for pair in ("Aa", "BB")]
    return found


def test_not_finite_numbers_of_avro_are_values() -> None:
    event = Event({"a": (float("nan"), float("inf"), float("-inf"))})
    assert trial("Avro event", encode_event_avro(event), counts := Counts()) is None
    assert counts.right == 1


def test_what_goes_wrong_ends_the_run_and_is_made_small(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def decode(value: bytes) -> None:
        if b"JFK" in value:
            raise KeyError("JFK")

    broken = dict.fromkeys(EXTREMES, decode)
    monkeypatch.setattr(decoders, "decoders", lambda: broken)
    assert decoders.main(["--minutes", "1", "--seed", "1"]) == 1
    printed = capsys.readouterr().out
    assert "KeyError: 'JFK'" in printed
    assert "made small: b'JFK'" in printed


def test_what_takes_too_long_or_has_no_listed_reason_goes_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(value: bytes) -> None:
        while True:
            pass

    def unlisted(value: bytes) -> None:
        raise Refused("no.such_reason", "a sentence of some length")

    monkeypatch.setattr(decoders, "HANG_SECONDS", 1)
    monkeypatch.setattr(decoders, "decoders", lambda: {"never": never, "unlisted": unlisted})
    assert trial("never", b"", Counts()) == "no answer in 1 s"
    assert trial("unlisted", b"", Counts()) == "the manual does not list the reason no.such_reason"
