"""The ends of what values may be, through the codecs and the oracle."""

from __future__ import annotations

import math
from typing import Any

import pytest

from index.oracle import leaf_values, matches
from schemas.avro_codec import AvroEventDecoder, encode_event_avro
from schemas.errors import Refused
from schemas.expression import (
    And,
    Contains,
    ContainsAll,
    Derive,
    EndsWith,
    EqualsSet,
    Exists,
    Expression,
    Glob,
    In,
    Keywords,
    Matches,
    Not,
    Range,
    StartsWith,
    Within,
)
from schemas.json_codec import decode_event, decode_subscription, encode_event, encode_subscription
from schemas.limits import Limits
from schemas.records import Event, Subscription
from schemas.values import INT64_MAX, INT64_MIN, Value
from tests.fuzz.hostile import SCALARS

WIDE = Limits(record_bytes=2**24, list_length=200_000, depth=2_000)
MEGABYTE = "ab" * 2**19
PLANES = "".join(chr(plane * 0x10000 + offset) for plane in range(17) for offset in (1, 0x41, 0xD7FF, 0xFFFD, 0xFFFF))


def through(expression: Expression) -> Expression:
    """Return a tree as a subscriber's record brings it."""
    return decode_subscription("s", encode_subscription(Subscription("s", expression)), WIDE).expression


def heard(*values: Value) -> list[Event]:
    """Return an event as JSON and as Avro bring it."""
    event = Event({"a": values})
    finite = all(not isinstance(value, float) or math.isfinite(value) for value in values)
    by_avro = AvroEventDecoder().decode(encode_event_avro(event), None, WIDE)
    return [by_avro, decode_event(encode_event(event), None, WIDE)] if finite else [by_avro]


@pytest.mark.parametrize(
    ("value", "true", "false"),
    [
        (INT64_MAX, In("a", (INT64_MAX,)), In("a", (float(2**63), INT64_MAX - 1))),
        (INT64_MIN, In("a", (-float(2**63),)), Range("a", gt=INT64_MIN)),
        (2**53 + 1, Range("a", gt=2**53, lt=2**53 + 2), In("a", (float(2**53), 2**53 + 2))),
        (INT64_MAX, Range("a", lt=float(2**63)), Range("a", ge=float(2**63))),
        (-0.0, EqualsSet("a", (0,)), Range("a", lt=0)),
        (5e-324, Range("a", gt=0, lt=1e-323), In("a", (0,))),
        (5e-324, In(Derive("multiply", "a", (0.5,)), (0,)), Range("a", le=0)),
        (math.nan, And((Exists("a"), Not(Range("a", gt=0)))), In(Derive("abs", "a"), (0,))),
        (math.inf, Range("a", gt=1.7e308), Range("a", lt=1.7e308)),
        (-math.inf, Range(Derive("abs", "a"), gt=1.7e308), Exists(Derive("mod", "a", (2,)))),
        (INT64_MAX, In(Derive("add", "a", (-1,)), (INT64_MAX - 1,)), In(Derive("add", "a", (0,)), (INT64_MAX - 1,))),
        (INT64_MAX, In(Derive("mod", "a", (10,)), (7,)), In(Derive("mod", "a", (10.0,)), (8,))),
        ("", And((Exists("a"), Matches("a", ""), Glob("a", ""))), Keywords("a", any=("b",))),
        ("", In(Derive("length", "a"), (0,)), StartsWith("a", "b")),
        ("\0", Matches("a", r"\x00"), In("a", ("",))),
        (PLANES, Matches("a", f"(?s).{{{len(PLANES)}}}"), In("a", (PLANES[:-1],))),
        (PLANES, Glob("a", "?" * len(PLANES)), Glob("a", "?" * (len(PLANES) + 1))),
        (PLANES, In(Derive("length", "a"), (len(PLANES),)), Contains("a", PLANES[::-1])),
        (PLANES, And((StartsWith("a", PLANES[:5]), EndsWith("a", PLANES[-5:]))), StartsWith("a", PLANES[1:])),
    ],
    ids=lambda case: repr(case)[:60],
)
def test_a_leaf_is_right_at_the_ends_of_its_values(value: Value, true: Expression, false: Expression) -> None:
    true, false = through(true), through(false)
    for event in heard(value):
        assert matches(true, event)
        assert not matches(false, event)


def test_each_character_of_every_plane_is_itself_alone() -> None:
    for character in PLANES:
        leaf = through(And((StartsWith("a", character), EndsWith("a", character), Glob("a", f"[{character}]"))))
        assert matches(leaf, heard(character)[0])
        assert not matches(leaf, heard(chr(ord(character) - 1))[0])


@pytest.mark.parametrize(
    "leaf",
    [
        *(
            In("a", (MEGABYTE[:-9],)),
            StartsWith("a", "abab"),
            EndsWith("a", "BAB", True),
            Contains("a", "abab" * 1_000),
        ),
        *(Matches("a", "(ab)+"), Matches("a", "(a|b|ab)*"), Glob("a", "*a*b*a*b"), Range("a", gt="abab", lt="ac")),
        *(In(Derive("length", "a"), (2**20 - 9,)), Keywords("a", any=(MEGABYTE[:-9],)), Within("a", (MEGABYTE[:-9],))),
        *(In(Derive("substring", "a", (2**20 - 10,)), ("ab",)),),
    ],
    ids=lambda leaf: type(leaf).__name__,
)
def test_strings_of_a_megabyte_are_values_like_others(leaf: Any) -> None:
    event = decode_event(b'{"a":"%s"}' % MEGABYTE[:-9].encode(), None, WIDE)
    # the length is odd, so that the text ends with a: what wants an even number of letters is not met
    odd = isinstance(leaf, EndsWith | Glob) or (isinstance(leaf, Matches) and leaf.pattern == "(ab)+")
    odd = odd or (isinstance(leaf, In) and leaf.values == ("ab",))
    assert matches(through(leaf), event) is not odd


def test_lists_of_ten_thousand_values_are_met_at_either_end() -> None:
    listed = tuple(range(10_000))
    for leaf in (In("a", listed), ContainsAll("a", (0, 9_999)), Within("a", listed)):
        for event in heard(0, 9_999.0):
            assert matches(through(leaf), event)
    (event, _) = heard(*range(100_000))
    assert matches(through(In("a", (99_999,))), event)
    assert len(leaf_values(event, Derive("mod", "a", (7,)))) == 7


def test_two_thousand_nots_are_no_not_and_one_more_is_one() -> None:
    tree: Expression = In("a", (1,))
    for _ in range(1_998):
        tree = Not(tree)
    (event, _) = heard(1)
    assert matches(through(tree), event)
    assert not matches(through(Not(tree)), event)


EVENT_PLACES = (
    '{"a": @}',
    '{"a": [1, @]}',
    '{"a": {"b": @}}',
    '{"a": 1, "$top": @}',
    '{"a": 1, "$weights": @}',
    '{"a": 1, "$weights": {"a": @}}',
    '{"a": 1, "$weights": {"a": {"1": @}}}',
    '{"a": 1, "$weights": {"a": {"@": 2, "1": 3}}}',
    '{"a": 1, "$weights": {"a": {"@": 2, " @": 3}}}',
)
SUBSCRIPTION_PLACES = (
    '{"filter": @}',
    '{"filter": "a = 1", "priority": @}',
    '{"filter": "a = 1", "mode": "threshold", "threshold": @}',
    '{"filter": "a = 1", "mode": @}',
    '{"filter": "a = 1", "labels": {"l": @}}',
    '{"filter": "a = 1", "not_before": @}',
    *(
        '{"filter": "' + text + '"}'
        for text in (
            "a = @",
            "a > @",
            "a = 1^@",
            "mod(a, @) = 1",
            "a + @ > 1",
            "round(a, @) = 1",
            "length(a) = @",
        )
    ),
    *(
        '{"expression": {"op": ' + node + "}}"
        for node in (
            "@",
            '"in", "attribute": "a", "values": [@]',
            '"in", "attribute": "a", "values": [1], "weights": [@]',
            '"in", "attribute": "a", "values": [@, @], "weights": [1, 2]',
            '"range", "attribute": "a", "ge": @, "le": 2',
            '"exists", "attribute": @',
            '"exists", "attribute": "a", "weight": @',
            '"keywords", "attribute": "a", "all": [@]',
            '"cidr", "attribute": "a", "networks": [@]',
            '"version", "attribute": "a", "ge": @',
        )
    ),
)


@pytest.mark.parametrize("place", [*EVENT_PLACES, *SUBSCRIPTION_PLACES])
def test_a_value_at_its_ends_is_right_or_refused_in_a_short_sentence_wherever_it_stands(place: str) -> None:
    for scalar in SCALARS:
        record = place.replace("@", scalar).encode()
        said = "it is right"
        try:
            if place in EVENT_PLACES:
                encode_event(decode_event(record))
            else:
                encode_subscription(decode_subscription("s", record))
        except Refused as refused:
            said = str(refused)
        assert 10 < len(said) < 500
