"""Trees of up to 2,000 levels travel in JSON and Avro, and the slow way for them agrees with the quick one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas.avro_codec import AvroSubscriptionDecoder, encode_subscription_avro
from schemas.errors import Refused
from schemas.expression import And, Derive, Exists, Expression, In, Not, NotIn, Or
from schemas.filter_text import format_filter, parse_filter
from schemas.json_codec import decode_subscription, encode_subscription
from schemas.json_deep import BadTextError, TooDeepError, decode_deep
from schemas.limits import Limits
from schemas.records import Subscription
from schemas.wire_expression import _pieces, encode_expression, expression_of
from tests.strategies import rich_expressions

DEEP = Limits(depth=2_000)
NEST: dict[str, Callable[[Expression], Expression]] = {
    "not": Not,
    "and": lambda node: And((node,)),
    "or": lambda node: Or((Exists("x"), node, In("y", (1,), (0.5,)))),
}


def nested(levels: int, kind: str) -> Expression:
    """Return a tree of so many connectives one inside another; in "mixed" the three kinds take turns."""
    tree: Expression = NotIn("a", ("x", 1.5), True)
    for level in range(levels):
        tree = NEST[tuple(NEST)[level % 3] if kind == "mixed" else kind](tree)
    return tree


def same(a: Expression, b: Expression) -> bool:
    """Compare two trees without recursion."""
    pending: list[tuple[Any, Any]] = [(a, b)]
    while pending:
        x, y = pending.pop()
        if type(x) is not type(y):
            return False
        if isinstance(x, And | Or):
            if len(x.args) != len(y.args):
                return False
            pending += zip(x.args, y.args, strict=True)
        elif isinstance(x, Not):
            pending.append((x.arg, y.arg))
        elif repr(x) != repr(y):
            return False
    return True


@pytest.mark.parametrize("kind", [*NEST, "mixed"])
@pytest.mark.parametrize("form", ["json", "avro"])
def test_a_tree_of_2000_levels_travels_and_one_of_2001_is_refused(form: str, kind: str) -> None:
    encode = encode_subscription if form == "json" else encode_subscription_avro
    decode = decode_subscription if form == "json" else AvroSubscriptionDecoder().decode
    tree = nested(2_000, kind)
    written = Subscription("s", tree, 2.0, not_before=1_000_000, labels={"k": "é"})
    read = decode("s", encode(written), DEEP)
    assert same(read.expression, tree)
    assert (read.priority, read.not_before, read.labels) == (2.0, 1_000_000, {"k": "é"})
    for levels in (2_001, 5_000, 40_000):
        value = encode(Subscription("s", nested(levels, kind)))
        with pytest.raises(Refused) as raised:
            decode("s", value, Limits(depth=2_000, record_bytes=len(value)))
        assert raised.value.code == "expression.too_deep"


@pytest.mark.parametrize("levels", [1, 4, 5, 200, 2_000])
@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", '{"op":"in","attribute":"a","values":[1]}'),
        ("a != 1", '{"op":"not_in","attribute":"a","values":[1]}'),
        ("true", '{"op":"and","args":[]}'),
    ],
)
def test_levels_are_connectives_in_text_and_tree_alike_and_a_predicate_is_none(
    levels: int, text: str, tree: str
) -> None:
    for nots, allowed in ((levels, True), (levels + 1, False)):
        opening, closing = '{"op":"not","arg":', "}"
        records = (f'{{"filter":"{"not " * nots}{text}"}}', f'{{"expression":{opening * nots}{tree}{closing * nots}}}')
        for record in records:
            if allowed:
                read = decode_subscription("s", record.encode(), Limits(depth=levels)).expression
                assert same(parse_filter(format_filter(read)), read)
            else:
                with pytest.raises(Refused) as raised:
                    decode_subscription("s", record.encode(), Limits(depth=levels))
                assert raised.value.code == "expression.too_deep"


def test_the_default_depth_is_kept_by_the_slow_way_too() -> None:
    assert same(
        decode_subscription("s", encode_subscription(Subscription("s", nested(200, "and")))).expression,
        nested(200, "and"),
    )
    for levels in (201, 600, 1_500):
        with pytest.raises(Refused) as raised:
            decode_subscription("s", encode_subscription(Subscription("s", nested(levels, "and"))))
        assert raised.value.code == "expression.too_deep"


def test_what_is_wrong_in_a_deep_tree_is_named_with_its_path() -> None:
    value = encode_subscription(Subscription("s", nested(1_500, "and"))).decode()
    for old, new, code, path in (
        ('"not_in"', '"not_im"', "operator.unknown", ".op"),
        ('"strong"', '"string"', "subscription.unknown_member", ".string"),
        ('"attribute":"a",', "", "subscription.missing_member", ""),
        ('"strong":true', '"strong":1', "subscription.type", ".strong"),
        ('["x",1.5]', "[]", "value.empty_list", ".values"),
        ('["x",1.5]', "[null]", "subscription.type", ".values[0]"),
        ('["x",1.5]', "[9223372036854775808]", "value.integer_range", ".values[0]"),
        ('["x",1.5]', "[1e999]", "value.number_range", None),
        ('["x",1.5]', '["\\x"]', "subscription.json", None),
        ('"not_in"', '"not_in","op":"in"', "subscription.json", None),
    ):
        with pytest.raises(Refused) as raised:
            decode_subscription("s", value.replace(old, new).encode(), DEEP)
        assert raised.value.code == code
        assert path is None or raised.value.path == "$.expression" + ".args[0]" * 1_500 + path
    for old, new, code in (
        ('{"expression"', '{"filter":"a exists","expression"', "subscription.filter_or_expression"),
        ('{"expression"', '{"labels":{"a":1},"expression"', "subscription.type"),
        ('{"expression"', '{"prority":1,"expression"', "subscription.unknown_member"),
        ('{"expression"', '[{"expression"', "subscription.json"),
        ("}" * 2, "}", "subscription.json"),
    ):
        with pytest.raises(Refused) as raised:
            decode_subscription("s", value.replace(old, new, 1).encode(), DEEP)
        assert raised.value.code == code
    with pytest.raises(Refused) as raised:
        decode_subscription("s", value.replace('"x"', '"\udcff"').encode(errors="surrogateescape"), DEEP)
    assert raised.value.code == "subscription.utf8"


def test_a_wrong_type_in_a_deep_tree_is_found_behind_its_neighbours() -> None:
    found = '{"op":"and","args":[{"op":"exists","attribute":"a"},{"op":"exists","attribute":5}]}'
    value = '{"expression":' + '{"op":"not","arg":' * 1_000 + found + "}" * 1_001
    with pytest.raises(Refused) as raised:
        decode_subscription("s", value.encode(), DEEP)
    assert raised.value.path == "$.expression" + ".arg" * 1_000 + ".args[1].attribute"


@given(rich_expressions())
def test_the_slow_way_writes_and_reads_what_the_quick_one_does(tree: Expression) -> None:
    text = msgspec.json.encode(tree)
    assert b"".join(_pieces(tree)) == encode_expression(tree) == text
    assert repr(expression_of(decode_deep(text, 100), "$")) == repr(tree)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(st.text(max_size=3).filter(lambda n: n != "op"), children, max_size=3)
    ),
)


@given(JSON, st.booleans())
def test_the_slow_reader_reads_json_as_the_quick_one_does(value: Any, spaced: bool) -> None:
    text = json.dumps(value, indent=1 if spaced else None).encode()
    assert repr(decode_deep(text, 100)) == repr(msgspec.json.decode(text))


@given(
    st.lists(
        st.sampled_from(
            ["{", "}", "[", "]", ",", ":", '"a"', "1", "-", "1.5e3", "true", "nul", " ", "\n", "\v", "\\", '"', "é"]
        )
    )
)
@example(["[", "1", "}"])
@example(["[", "1", ",", "]"])
@example(["1", ",", "1"])
@example(["{", '"a"', ":", "1", "]"])
@example(["{", '"a"', ":", "1", ",", "}"])
def test_the_slow_reader_accepts_exactly_what_the_quick_one_does(pieces: list[str]) -> None:
    text = "".join(pieces).encode()
    try:
        wanted = repr(msgspec.json.decode(text))
    except msgspec.DecodeError:
        wanted = "refused"
    try:
        found = repr(decode_deep(text, 100))
    except (BadTextError, msgspec.DecodeError):
        found = "refused"
    assert found == wanted


def test_the_slow_reader_stops_at_its_depth() -> None:
    assert decode_deep(b"[[]]", 2) == [[]]
    with pytest.raises(TooDeepError):
        decode_deep(b'[{"a":[]}]', 2)


def test_functions_may_be_applied_to_functions_eight_deep() -> None:
    attribute: Any = "a"
    for _ in range(8):
        attribute = Derive("abs", attribute)
    value = encode_subscription(Subscription("s", Exists(attribute)))
    assert decode_subscription("s", value).expression == Exists(attribute)
    for levels in (1, 3_000):
        text = json.dumps({"expression": {"op": "exists", "attribute": "@"}})
        opening, closing = '{"derive":"abs","of":' * (8 + levels), "}" * (8 + levels)
        with pytest.raises(Refused) as raised:
            decode_subscription("s", text.replace('"@"', f'{opening}"a"{closing}').encode())
        assert raised.value.code == ("derive.too_deep" if levels == 1 else "expression.too_deep")
