"""JSON subscriptions: what the members mean, what is refused and where."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from schemas.check import Limits
from schemas.errors import Refused
from schemas.expression import And, Exists, Expression, In, Or, Range
from schemas.json_codec import decode_id, decode_subscription, encode_subscription
from schemas.records import Subscription

A = {"op": "exists", "attribute": "a"}


def encoded(record: Any) -> bytes:
    return record if isinstance(record, bytes) else json.dumps(record).encode()


def test_every_member_is_understood() -> None:
    record = {
        "expression": {
            "op": "and",
            "args": [
                A,
                {"op": "in", "attribute": "b", "values": [1, True, 1.5, "1"], "weights": [1, 2, 0.5, -3]},
                {"op": "range", "attribute": "c", "gt": 1, "le": 2.0},
            ],
        },
        "priority": 3,
        "mode": "all",
        "not_before": "2026-05-01T02:00:00.25+02:00",
        "not_after": "2026-05-01T00:00:01Z",
        "labels": {"who": "é"},
    }
    members = (Exists("a"), In("b", (1, True, 1.5, "1"), (1.0, 2.0, 0.5, -3.0)), Range("c", gt=1, le=2.0))
    start = 1_777_593_600_000_000
    wanted = Subscription("s", And(members), 3.0, "all", None, start + 250_000, start + 1_000_000, {"who": "é"})
    assert repr(decode_subscription("s", encoded(record))) == repr(wanted)


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1970-01-02", 86_400_000_000),
        ("1970-01-01T00:00:59.9999999Z", 59_999_999),
        ("1970-01-01T00:00:60Z", 60_000_000),
        ("1970-01-01 02:00:00.5+02:00", 500_000),
    ],
)
def test_validity_bounds_are_read_as_times_in_filters_are(text: str, microseconds: int) -> None:
    found = decode_subscription("s", encoded({"filter": "a = 1", "not_before": text, "not_after": text}))
    assert (found.not_before, found.not_after) == (microseconds, microseconds)


@pytest.mark.parametrize("op", ["and", "not"])
def test_a_tree_as_deep_as_the_limits_can_be_set_is_decoded_and_encoded(op: str) -> None:
    limits = Limits(depth=300)
    opening, closing = ('{"op":"not","arg":', "}") if op == "not" else ('{"op":"and","args":[', "]}")
    deepest = '{"op":"exists","attribute":"a"}'
    value = f'{{"expression":{opening * 300}{deepest}{closing * 300}}}'.encode()
    subscription = decode_subscription("s", value, limits)
    assert decode_subscription("s", encode_subscription(subscription), limits) == subscription
    with pytest.raises(Refused) as raised:
        decode_subscription("s", value.replace(b'"exists"', b'"no"'), limits)
    assert raised.value.code == "operator.unknown"


def test_a_member_that_is_null_counts_as_left_out() -> None:
    record = dict.fromkeys(("filter", "priority", "mode", "threshold", "not_before", "not_after", "labels"))
    assert decode_subscription("s", encoded(record | {"expression": A})) == Subscription("s", Exists("a"))


def test_of_two_members_with_one_name_the_last_counts_but_two_operators_are_refused() -> None:
    value = b'{"expression":{"op":"exists","attribute":"a","attribute":"b"},"priority":1,"priority":2}'
    assert decode_subscription("s", value) == Subscription("s", Exists("b"), 2.0)
    with pytest.raises(Refused) as raised:
        decode_subscription("s", b'{"expression":{"op":"exists","attribute":"a","op":"not_exists"}}')
    assert raised.value.code == "subscription.type"


@pytest.mark.parametrize("value", [b"origin = 'JFK'", b'"origin = 1"'])
def test_a_filter_that_is_given_alone_is_told_where_it_goes(value: bytes) -> None:
    with pytest.raises(Refused) as raised:
        decode_subscription("s", value)
    example = re.search(r"such as (\{.*?\})", raised.value.message)
    assert example is not None
    assert decode_subscription("s", example[1].encode()).expression == In("origin", ("JFK",))


def test_a_tree_has_at_most_as_many_predicates_as_the_limit() -> None:
    with pytest.raises(Refused) as raised:
        decode_subscription("s", encoded(expression(op="and", args=[A, A, A])), Limits(leaves=2))
    assert (raised.value.code, raised.value.path) == ("expression.too_many_leaves", "$.expression.args[2]")


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_a_tree_is_at_most_as_deep_as_the_limit_however_low_that_is(depth: int) -> None:
    tree: dict[str, Any] = A
    read: Expression = Exists("a")
    for level in range(depth):
        tree = {"op": "or" if level % 2 else "and", "args": [tree]}
        read = Or((read,)) if level % 2 else And((read,))
    assert decode_subscription("s", encoded({"expression": tree}), Limits(depth=depth)).expression == read
    with pytest.raises(Refused) as raised:
        decode_subscription("s", encoded(expression(op="and", args=[tree])), Limits(depth=depth))
    assert (raised.value.code, raised.value.path) == ("expression.too_deep", "$.expression" + ".args[0]" * depth)


def expression(**node: Any) -> dict[str, Any]:
    return {"expression": node}


@pytest.mark.parametrize(
    ("record", "code", "path"),
    [
        (b"", "subscription.empty", ""),
        (b"{", "subscription.json", "byte 1"),
        (b'{"filter" "a"}', "subscription.json", "byte 10"),
        (b'{"expression":{"op":"no such"}', "subscription.json", "byte 30"),
        (b'{"filter":"\xff"}', "subscription.utf8", "byte 11"),
        (b"[]", "subscription.type", "$"),
        (b"null", "subscription.type", "$"),
        (b'"a = 1"', "subscription.type", "$"),
        ({}, "subscription.filter_or_expression", "$"),
        ({"expression": None}, "subscription.filter_or_expression", "$"),
        ({"expression": A, "filter": "a exists"}, "subscription.filter_or_expression", "$"),
        ({"expresion": A}, "subscription.unknown_member", "$.expresion"),
        ({"expression": A, "not_befor": "2026-05-01T00:00:00Z"}, "subscription.unknown_member", "$.not_befor"),
        (expression(op="exists", attribute="a", strong=True), "subscription.unknown_member", "$.expression.strong"),
        (expression(op="not", args=[A]), "subscription.unknown_member", "$.expression.args"),
        (
            expression(op="and", args=[A, {"op": "range", "attribute": "a", "gte": 1}]),
            "subscription.unknown_member",
            "$.expression.args[1].gte",
        ),
        (expression(op="exits", attribute="a"), "operator.unknown", "$.expression.op"),
        (expression(op="AND", args=[]), "operator.unknown", "$.expression.op"),
        (
            expression(op="or", args=[A, {"op": "not", "arg": {"op": ""}}]),
            "operator.unknown",
            "$.expression.args[1].arg.op",
        ),
        (expression(op="range", attribute="a", gt="yesterday", type="time"), "range.time", "$.expression.gt"),
        (expression(op="range", attribute="a", gt=1, type="date"), "range.type", "$.expression.type"),
        (
            expression(op="in", attribute={"mod": 4}, values=[1]),
            "subscription.unknown_member",
            "$.expression.attribute.mod",
        ),
        (
            expression(op="in", attribute={"derive": "lower", "of": {"derive": "x", "off": 1}}, values=[1]),
            "subscription.unknown_member",
            "$.expression.attribute.of.off",
        ),
        (
            expression(op="in", attribute={"derive": "mod"}, values=[1]),
            "subscription.missing_member",
            "$.expression.attribute",
        ),
        (
            expression(op="exists", attribute={"derive": "sqrt", "of": "a"}),
            "derive.function",
            "$.expression.attribute.derive",
        ),
        (
            expression(op="exists", attribute={"derive": "~fold", "of": "a"}),
            "derive.function",
            "$.expression.attribute.derive",
        ),
        (expression(op="matches", attribute="a", pattern="("), "pattern.syntax", "$.expression.pattern"),
        (expression(op="cidr", attribute="a", networks=["10.0.0.1/8"]), "cidr.syntax", "$.expression.networks[0]"),
        (expression(op="keywords", attribute="a", all=["a b"]), "keywords.token", "$.expression.all[0]"),
        (
            expression(op="starts_with", attribute="a", text="x", ignore_case=1),
            "subscription.type",
            "$.expression.ignore_case",
        ),
        (expression(), "subscription.missing_member", "$.expression"),
        (expression(attribute="a"), "subscription.missing_member", "$.expression"),
        (expression(op="exists"), "subscription.missing_member", "$.expression"),
        (expression(op="in", attribute="a"), "subscription.missing_member", "$.expression"),
        (expression(op="and", args=[{"op": "not"}]), "subscription.missing_member", "$.expression.args[0]"),
        (expression(op=1), "subscription.type", "$.expression.op"),
        (expression(op="and", args=A), "subscription.type", "$.expression.args"),
        (expression(op="and", args=[None]), "subscription.type", "$.expression.args[0]"),
        (expression(op="not", arg=[A]), "subscription.type", "$.expression.arg"),
        (expression(op="exists", attribute=1), "subscription.type", "$.expression.attribute"),
        (expression(op="in", attribute="a", values="x"), "subscription.type", "$.expression.values"),
        (expression(op="in", attribute="a", values=["x", None]), "subscription.type", "$.expression.values[1]"),
        (expression(op="in", attribute="a", values=[["x"]]), "subscription.type", "$.expression.values[0]"),
        (expression(op="in", attribute="a", values=[{"x": 1}]), "subscription.type", "$.expression.values[0]"),
        (
            expression(op="in", attribute="a", values=["x"], weights=["1"]),
            "subscription.type",
            "$.expression.weights[0]",
        ),
        (
            expression(op="in", attribute="a", values=["x"], weights=[True]),
            "subscription.type",
            "$.expression.weights[0]",
        ),
        (expression(op="not_in", attribute="a", values=["x"], strong=1), "subscription.type", "$.expression.strong"),
        (expression(op="range", attribute="a", gt=True), "subscription.type", "$.expression.gt"),
        (expression(op="range", attribute="a", gt=[1]), "subscription.type", "$.expression.gt"),
        (expression(op="or", args=[A, {"op": "x"}, {"op": "y"}]), "operator.unknown", "$.expression.args[1].op"),
        ({"expression": "a = 1"}, "subscription.type", "$.expression"),
        ({"expression": [A]}, "subscription.type", "$.expression"),
        ({"filter": 1}, "subscription.type", "$.filter"),
        ({"expression": A, "priority": "1"}, "subscription.type", "$.priority"),
        ({"expression": A, "priority": True}, "subscription.type", "$.priority"),
        ({"expression": A, "priority": 10**400}, "value.number_range", "$.priority"),
        ({"expression": A, "labels": {"a": 1}}, "subscription.type", None),
        ({"expression": A, "labels": ["a"]}, "subscription.type", "$.labels"),
        ({"expression": A, "not_before": 1}, "subscription.type", "$.not_before"),
        ({"expression": A, "not_before": "2026-05"}, "subscription.type", "$.not_before"),
        ({"expression": A, "not_after": "2026-05-01T00:00:00"}, "subscription.type", "$.not_after"),
        ({"expression": A, "not_after": "2026-13-01T00:00:00Z"}, "subscription.type", "$.not_after"),
        ({"expression": A, "not_before": "0001-01-01T00:00:00+23:59"}, "validity.range", "$.not_before"),
        (
            {"expression": A, "not_before": "2026-05-01T00:00:01Z", "not_after": "2026-05-01T00:00:00Z"},
            "validity.inverted",
            "$.not_after",
        ),
        ({"expression": A, "mode": "any"}, "mode.unknown", "$.mode"),
        ({"expression": A, "mode": "threshold"}, "threshold.missing", "$.threshold"),
        ({"expression": A, "mode": "relaxed", "threshold": 0.5}, "threshold.without_mode", "$.threshold"),
        ({"expression": {"op": "not", "arg": A}, "mode": "relaxed"}, "mode.shape", "$.expression"),
        ({"expression": A, "mode": "threshold", "threshold": 0}, "threshold.range", "$.threshold"),
        ({"expression": A, "mode": "threshold", "threshold": 1.01}, "threshold.range", "$.threshold"),
        ({"expression": A, "threshold": 0.5}, "threshold.without_mode", "$.threshold"),
        ({"expression": A, "priority": 2**20 + 1}, "weights.range", "$.priority"),
        (b'{"expression":{"op":"range","attribute":"a","gt":1e400}}', "value.number_range", "byte 49"),
        (expression(op="in", attribute="a", values=[1] * 5, weights=[2**20] * 5), "weights.sum", "$"),
        (
            expression(op="and", args=[{"op": "in", "attribute": "a", "values": [1], "weights": [2**20]}] * 5),
            "weights.sum",
            "$",
        ),
        (expression(op="exists", attribute="a", weight=2), "weights.position", "$.expression.weight"),
        (expression(op="in", attribute="a", values=[]), "value.empty_list", "$.expression.values"),
        (expression(op="in", attribute="a", values=[2**63]), "value.integer_range", "$.expression.values[0]"),
        (expression(op="range", attribute="a"), "range.no_bound", "$.expression"),
        (expression(op="range", attribute="a", gt=None), "range.no_bound", "$.expression"),
        (
            expression(op="or", args=[A, {"op": "range", "attribute": "a", "ge": 20, "le": 10}]),
            "range.inverted",
            "$.expression.args[1].le",
        ),
        (
            b'{"expression":' + b'{"op":"not","arg":' * 250 + b'{"op":"and","args":[]}' + b"}" * 251,
            "expression.too_deep",
            None,
        ),
        (b'{"expression":' + b'{"op":"not","arg":' * 50_000, "expression.too_deep", ""),
        (b'{"filter":"' + b"x" * 2**20 + b'"}', "subscription.record_too_large", ""),
    ],
)
def test_what_is_no_subscription_is_refused_with_its_code_and_path(record: Any, code: str, path: str | None) -> None:
    with pytest.raises(Refused) as raised:
        decode_subscription("s", encoded(record))
    assert raised.value.code == code
    assert path is None or raised.value.path == path
    assert 15 < len(raised.value.message) < 400


@pytest.mark.parametrize(
    ("record", "near"),
    [
        (expression(op="exits", attribute="a"), "exists"),
        (expression(op="not-in", attribute="a", values=[1]), "not_in"),
        (expression(op="in", attribute="a", value=[1]), "values"),
        (expression(op="in", field="a", values=[1]), "attribute"),
        ({"expression": A, "prority": 1}, "priority"),
        (expression(op="range", attribute="a", gte=1), "ge"),
        (expression(op="range", attribute="a", lte=1), "le"),
        (expression(op="range", attribute="a", gtt=1), "gt"),
        (expression(op="version", attribute="a", gte="1"), "ge"),
        (expression(op="nin", attribute="a", values=[1]), "not_in"),
        (expression(op="eq", attribute="a", values=[1]), "in"),
        (expression(op="GTE", attribute="a", values=[1]), "range"),
        (expression(op="begins_with", attribute="a", text="x"), "starts_with"),
        (expression(op="all", args=[A]), "and"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest_known_one(record: dict[str, Any], near: str) -> None:
    with pytest.raises(Refused, match=rf"did you mean {near}\?"):
        decode_subscription("s", encoded(record))


@pytest.mark.parametrize("tree", [{"origin": ["JFK"]}, {"bool": {"must": []}}, {"and": [A]}])
def test_what_has_no_operator_is_told_what_has_and_where_trees_come_from(tree: Any) -> None:
    with pytest.raises(Refused, match=r"schemas\.imports") as raised:
        decode_subscription("s", encoded({"expression": tree}))
    example = re.search(r"\{.*\}", raised.value.message)
    assert example is not None
    assert decode_subscription("s", encoded({"expression": json.loads(example[0])})).expression == In(
        "origin", ("JFK",)
    )


@pytest.mark.parametrize("op", ["xor", "nor", "nand"])
def test_no_operator_is_proposed_for_one_that_means_something_else(op: str) -> None:
    with pytest.raises(Refused, match="known are and, or, not"):
        decode_subscription("s", encoded(expression(op=op, args=[A])))


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (None, "key.null"),
        (b"", "key.empty"),
        (b"a\xff", "key.utf8"),
        (b"\xed\xa0\x80", "key.utf8"),
        (b"x" * 4097, "key.too_long"),
    ],
)
def test_a_key_that_names_no_subscription_is_refused(key: bytes | None, code: str) -> None:
    with pytest.raises(Refused) as raised:
        decode_id(key)
    assert raised.value.code == code


@pytest.mark.parametrize("id_", [" ", "é\U0001f600", "a\0b", "x" * 4096])
def test_any_other_text_is_an_id(id_: str) -> None:
    assert decode_id(id_.encode()) == id_


@pytest.mark.parametrize("label", [5, None, True, ["a"], {"a": "b"}])
def test_a_label_that_is_no_string_is_named(label: Any) -> None:
    with pytest.raises(Refused, match="labels are strings") as raised:
        decode_subscription("s", encoded({"filter": "a = 1", "labels": {"desk": "ops", "team": label}}))
    assert (raised.value.code, raised.value.path) == ("subscription.type", "$.labels.team")
