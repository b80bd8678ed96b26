"""JSON events: what an object means, what is refused and where."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.check import Limits
from schemas.errors import Refused
from schemas.json_codec import decode_event, encode_event
from schemas.records import Event
from schemas.values import INT64_MAX, INT64_MIN, WEIGHT_LIMIT, distinct_values
from tests import strategies


def encoded(record: Any) -> bytes:
    return record if isinstance(record, bytes) else json.dumps(record).encode()


def spelled(values: object) -> str:
    """Return a text in which 1, 1.0 and true differ, and NaN equals NaN."""
    return repr(values)


@pytest.mark.parametrize(
    ("record", "attributes"),
    [
        ({}, {}),
        ({"a": "x", "b": 1, "c": 1.0, "d": True}, {"a": ("x",), "b": (1,), "c": (1.0,), "d": (True,)}),
        ({"a": 0, "b": False, "c": "", "d": -0.0}, {"a": (0,), "b": (False,), "c": ("",), "d": (-0.0,)}),
        ({"a": None, "b": [], "c": {}, "d": [None, [], {}], "e": {"f": None}}, {}),
        ({"geo": {"lat": 1.5, "at": {"city": "x"}}}, {"geo.lat": (1.5,), "geo.at.city": ("x",)}),
        ({"a": ["x", "y"]}, {"a": ("x", "y")}),
        ({"a": ["x", ["y", ["z", None]], "x"]}, {"a": ("x", "y", "z")}),
        ({"a": [{"b": 1, "c": "x"}, {"b": 2}, {"b": 1}]}, {"a.b": (1, 2), "a.c": ("x",)}),
        ({"a": [1, {"b": 2}, 3]}, {"a": (1, 3), "a.b": (2,)}),
        ({"geo.lat": 1, "geo": {"lat": [2, 1]}}, {"geo.lat": (1, 2)}),
        ({"geo": {"lat": 1}, "geo.lat": 2}, {"geo.lat": (1, 2)}),
        ({"a": [1, 1.0, True, "1", "true", 1]}, {"a": (1, True, "1", "true")}),
        ({"a": [2**53, 2**53 + 1, float(2**53)]}, {"a": (2**53, 2**53 + 1)}),
        ({"a": [INT64_MIN, INT64_MAX]}, {"a": (INT64_MIN, INT64_MAX)}),
        ({"": 1, "a": {"": 2}}, {"": (1,), "a.": (2,)}),
        ({"a": {"$weights": 1}}, {"a.$weights": (1,)}),
        (b' {"a" : 35, "b": 35.0, "c": 3.5e1, "d": -0} ', {"a": (35,), "b": (35.0,), "c": (35.0,), "d": (0,)}),
        (b'{"a": "\\ud83d\\ude00", "b": "\\u0000"}', {"a": ("\U0001f600",), "b": ("\0",)}),
        (b'{"a": 1, "a": 2}', {"a": (2,)}),
        (b'{"a": 1e-400}', {"a": (0.0,)}),
    ],
)
def test_any_object_is_an_event(record: Any, attributes: dict[str, tuple[object, ...]]) -> None:
    assert spelled(decode_event(encoded(record)).attributes) == spelled(attributes)


json_values = st.recursive(
    st.none() | strategies.event_values(finite=True),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(("a", "b", "a.b", "")), inner, max_size=3)
    ),
    max_leaves=15,
)


def slowly_flattened(name: str | None, value: Any) -> list[tuple[str, Any]]:
    """Return (dotted name, value) pairs in the order in which they are written."""
    if isinstance(value, dict):
        inner = [slowly_flattened(k if name is None else f"{name}.{k}", v) for k, v in value.items()]
        return [pair for pairs in inner for pair in pairs]
    assert name is not None
    if isinstance(value, list):
        return [pair for item in value for pair in slowly_flattened(name, item)]
    return [] if value is None else [(name, value)]


@given(st.dictionaries(st.sampled_from(("a", "b", "a.b", "")), json_values, max_size=4))
def test_attributes_are_the_distinct_values_of_every_dotted_name(record: dict[str, Any]) -> None:
    wanted: dict[str, list[Any]] = {}
    for name, value in slowly_flattened(None, record):
        wanted.setdefault(name, []).append(value)
    attributes = decode_event(encoded(record)).attributes
    assert attributes.keys() == wanted.keys()
    for name, values in wanted.items():
        assert spelled(attributes[name]) == spelled(distinct_values(values))


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        (None, {}),
        ({}, {}),
        ({"age": 2}, {"age": (2.0,)}),
        ({"tags": 0.5}, {"tags": (0.5, 0.5, 0.5)}),
        ({"tags": {"a": 2}}, {"tags": (2.0, 1.0, 1.0)}),
        ({"tags": {"1": 2}}, {"tags": (1.0, 2.0, 1.0)}),
        ({"tags": {'"a"': 2, "a": 3, "true": 4}}, {"tags": (2.0, 1.0, 4.0)}),
        ({"age": {"20.0": -3}}, {"age": (-3.0,)}),
        ({"age": {"2e1": -3, "20": -3.0}}, {"age": (-3.0,)}),
        ({"both": {"1": 2}}, {"both": (2.0, 2.0)}),
        ({"both": {"1": 2, '"1"': 3}}, {"both": (2.0, 3.0)}),
        ({"quoted": {'"x"': 2, "x": 3}}, {"quoted": (2.0, 2.0)}),
        ({"quoted": {'"x"': 2, '"\\"x\\""': 3}}, {"quoted": (2.0, 3.0)}),
        ({"geo.lat": 7}, {"geo.lat": (7.0,)}),
        ({"absent": 2, "geo": {"lat": 2}, "age": {"21": 5, "null": 1, "[20]": 2, "{": 3}}, {}),
        ({"age": WEIGHT_LIMIT}, {"age": (WEIGHT_LIMIT,)}),
    ],
)
def test_weights_are_one_number_a_value_in_the_order_of_the_values(given: Any, weights: Any) -> None:
    record = {"age": 20, "tags": ["a", 1, True], "both": [1, "1"], "quoted": ["x", '"x"'], "geo": {"lat": 1.5}}
    event = decode_event(encoded(record | {"$weights": given}))
    assert spelled(event.weights) == spelled(weights)
    assert "$weights" not in event.attributes


def test_top_and_time_are_carried() -> None:
    assert decode_event(b'{"$top": 3, "a": 1}', 17) == Event({"a": (1,)}, top=3, time=17)
    assert decode_event(b'{"$top": null}') == Event({})


@pytest.mark.parametrize(
    ("record", "code", "path"),
    [
        (b"", "event.empty", ""),
        (b" \n", "event.empty", ""),
        (b"{", "event.json", "byte 1"),
        (b'{"a":1', "event.json", "byte 6"),
        (b'{"a" 1}', "event.json", "byte 5"),
        (b'{"a":1}}', "event.json", "byte 7"),
        (b'{"a":1}{"a":2}', "event.json", "byte 7"),
        (b'{"a":1}\n{"a":2}', "event.json", "byte 8"),
        (b'{"a":1}\xff', "event.utf8", "byte 7"),
        (b'{"a":"\\x"}', "event.json", "byte 7"),
        (b'{"a":NaN}', "event.json", "byte 5"),
        (b'{"a":Infinity}', "event.json", "byte 5"),
        (b'{"a":01}', "event.json", "byte 6"),
        (b'{"a":1,}', "event.json", "byte 7"),
        (b"{'a':1}", "event.json", "byte 1"),
        (b'{"a":"\\ud800"}', "event.json", None),
        (b'{"a":"\\udc00"}', "event.json", None),
        (b'{"a":"\x01"}', "event.json", "byte 6"),
        (b"\xef\xbb\xbf{}", "event.json", "byte 0"),
        (b"\xff\xfe{\x00}\x00", "event.utf8", "byte 0"),
        (b'{"a":\xff}', "event.utf8", "byte 5"),
        (b"text", "event.json", None),
        (b'{"ab":"x\xff"}', "event.utf8", "byte 8"),
        (b'{"\xc3":1}', "event.utf8", "byte 2"),
        (b'{"a":"\xed\xa0\x80"}', "event.utf8", "byte 6"),
        (b"[]", "event.not_object", "$"),
        (b'[{"a":1}]', "event.not_object", "$"),
        (b'"text"', "event.not_object", "$"),
        (b"1", "event.not_object", "$"),
        (b"true", "event.not_object", "$"),
        (b"null", "event.not_object", "$"),
        ({"$a": 1}, "event.reserved", "$.$a"),
        ({"$": 1}, "event.reserved", "$.$"),
        ({"$weights.a": 1}, "event.reserved", "$.$weights.a"),
        ({"\0a": 1}, "attribute.name", "$"),
        ({"a": {"b" * 300: 1}}, "attribute.too_long", None),
        ({"a": INT64_MAX + 1}, "value.integer_range", "$.a"),
        ({"a": {"b": [1, INT64_MIN - 1]}}, "value.integer_range", "$.a.b"),
        ({"a": 10**400}, "value.integer_range", "$.a"),
        (b'{"b":"1e400\\"","a":1e400}', "value.number_range", "byte 19"),
        (b'{"a":-1e400}', "value.number_range", "byte 5"),
        (b'{"a":[9007e99992.0]}', "value.number_range", "byte 6"),
        (b'{"a":1' + b"0" * 5000 + b"}", "value.number_range", "byte 5"),
        (b'{"a":' + b"[" * 199 + b"1" + b"]" * 199 + b"}", None, None),
        (b'{"a":' + b"[" * 200 + b"1" + b"]" * 200 + b"}", "event.too_deep", "$.a"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "attribute.too_long", None),
        (b'{"":' * 201 + b"1" + b"}" * 201, "event.too_deep", None),
        (b"[" * 100_000 + b"]" * 100_000, "event.too_deep", ""),
        (b'{"a":' * 100_000, "event.too_deep", ""),
        ({"a": 1, "$weights": 1}, "event.weights", "$.$weights"),
        ({"a": 1, "$weights": [1]}, "event.weights", "$.$weights"),
        ({"a": 1, "$weights": {"a": "2"}}, "event.weights", "$.$weights.a"),
        ({"a": 1, "$weights": {"a": True}}, "event.weights", "$.$weights.a"),
        ({"a": 1, "$weights": {"a": None}}, "event.weights", "$.$weights.a"),
        ({"a": 1, "$weights": {"a": {"1": [2]}}}, "event.weights", "$.$weights.a.1"),
        ({"a": 1, "$weights": {"a": {"1": 2, "1.0": 3}}}, "event.weights", "$.$weights.a"),
        ({"a": 1, "$weights": {"a": 2.0**20 + 1}}, "event.weights", "$.$weights.a"),
        ({"a": 1, "$weights": {"a": 10**30}}, "event.weights", "$.$weights.a"),
        ({"a": 1, "$weights": {"other": "x"}}, "event.weights", "$.$weights.other"),
        ({"$top": 0}, "event.top", "$.$top"),
        ({"$top": -1}, "event.top", "$.$top"),
        ({"$top": 1.5}, "event.top", "$.$top"),
        ({"$top": "3"}, "event.top", "$.$top"),
        ({"$top": True}, "event.top", "$.$top"),
        ({"$top": 2**31}, "event.top", "$.$top"),
        ({"$top": 10**100}, "event.top", "$.$top"),
        (b'{"a":"' + b"x" * 2**20 + b'"}', "event.record_too_large", ""),
    ],
)
def test_what_is_no_event_is_refused_with_its_code_and_path(record: Any, code: str | None, path: str | None) -> None:
    if code is None:
        decode_event(encoded(record))
        return
    with pytest.raises(Refused) as raised:
        decode_event(encoded(record))
    assert raised.value.code == code
    assert path is None or raised.value.path == path
    assert 15 < len(raised.value.message) < 400


def test_a_time_beyond_64_bits_is_refused_and_does_not_overflow_later() -> None:
    for time in (INT64_MAX + 1, INT64_MIN):
        with pytest.raises(Refused) as raised:
            decode_event(b"{}", time)
        assert raised.value.code == "event.time"


def test_limits_bound_the_values_of_one_attribute_wherever_they_stand() -> None:
    limits = Limits(list_length=3)
    assert len(decode_event(b'{"a":[1,2,3,1,2,3]}', limits=limits).attributes["a"]) == 3
    with pytest.raises(Refused, match=r"limits\.list_length") as raised:
        decode_event(b'{"a":[{"b":1},{"b":2},{"b":[3,4]}]}', limits=limits)
    assert (raised.value.code, raised.value.path) == ("value.list_too_long", "$.a.b")


def test_limits_are_what_an_event_may_just_have() -> None:
    value = encoded({"name": ["x"]})
    assert decode_event(value, limits=Limits(record_bytes=len(value), attribute_length=4)).attributes
    deep = b'{"a":' * 301 + b"1" + b"}" * 301
    with pytest.raises(Refused, match="deeper than 300 levels"):
        decode_event(deep, limits=Limits(depth=2_000))


@pytest.mark.parametrize("key", ["True", "1.0", "[" * 100_000, "[1]", "null"])
def test_a_key_of_weights_that_names_no_value_is_ignored(key: str) -> None:
    event = decode_event(encoded({"a": [True, "x"], "$weights": {"a": {key: 2.0}}}))
    assert event.weights == {}


def test_weights_of_a_text_that_reads_like_a_number_come_back_as_its_own() -> None:
    event = Event({"a": ("35", 35, "x")}, {"a": (2.0, 3.0, 4.0)})
    assert decode_event(encode_event(event)) == event


def test_a_deep_event_is_refused_also_where_the_stack_is_nearly_used_up() -> None:
    event = b'{"":' * 150 + b"1" + b"}" * 150

    def at_depth(left: int) -> str:
        if left > 0:
            return at_depth(left - 1)
        try:
            decode_event(event)
        except Refused as refused:
            return refused.code
        return ""

    assert at_depth(sys.getrecursionlimit() - len(inspect.stack(0)) - 100) == "event.too_deep"


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        (rb'{"x":"\ud800a"}', 6, r"\ud800 is half of a surrogate pair"),
        (rb'{"x":"\\\uDBFF"}', 8, r"\uDBFF is half of a surrogate pair"),
        (rb'{"\ud800":1}', 2, "stands alone"),
        (rb'{"x":"\ud800\n"}', 6, "stands alone"),
        (rb'{"x":"\ud83d\ude00 \\ud800', 26, "ends in the middle"),
        (rb'{"x":"\ud800', 12, "ends in the middle"),
        (rb'{"x":"\\ud800 a', 15, "ends in the middle"),
        (rb'{"x":"\ud800\udc00"', 19, "ends in the middle"),
        (rb'{"x":tru', 8, "ends in the middle"),
    ],
)
def test_half_of_a_surrogate_pair_is_no_end_of_the_text(text: bytes, place: int, said: str) -> None:
    with pytest.raises(Refused) as raised:
        decode_event(text)
    assert (raised.value.code, raised.value.path) == ("event.json", f"byte {place}")
    assert said in raised.value.message


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (b"\xef\xbb\xbf{}", "begins with a byte order mark; leave that out"),
        (b'{"a":\xff}', "encode it as UTF-8"),
        (b'{"a":1}\n{"a":2}', "a record is one JSON object"),
        (b"a,b", "a record is one JSON object"),
        (b'{"a":"b\nc"}', r"write it as \n"),
        (b"{'a':1}", "a string in double quotes"),
        ({"$top": True}, "top is true,"),
        ({"$top": [None]}, "top is [null],"),
        ({"a": 1, "$weights": {"a": None}}, "a number, not null"),
        ({"a": True, "$weights": {"a": {"true": False}}}, "a number, not false"),
        (b'{"a":1,"$top":1e999}', "write a smaller one"),
    ],
)
def test_what_was_found_is_quoted_as_json_writes_it_with_a_cure(record: Any, said: str) -> None:
    with pytest.raises(Refused) as raised:
        decode_event(encoded(record))
    assert said in raised.value.message
