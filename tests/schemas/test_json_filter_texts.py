"""The member filter of a JSON subscription: what is refused in its text has a line and a column."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.check import Limits
from schemas.errors import Refused
from schemas.expression import Exists
from schemas.json_codec import decode_subscription
from tests.schemas.test_json_subscriptions import encoded


def test_a_filter_text_is_parsed_and_its_errors_name_line_and_column() -> None:
    assert decode_subscription("s", encoded({"filter": "a exists"})).expression == Exists("a")
    with pytest.raises(Refused) as raised:
        decode_subscription("s", encoded({"filter": "a exists and\n  )"}))
    assert raised.value.code == "filter.syntax"
    assert raised.value.path == "$.filter, line 2, column 3"


LEAVES, DEPTH, LIST, NAMES = Limits(leaves=2), Limits(depth=4), Limits(list_length=2), Limits(attribute_length=3)
RELAXED = {"mode": "relaxed"}
THRESHOLD = {"mode": "threshold", "threshold": 0.5}


@pytest.mark.parametrize(
    ("text", "others", "limits", "code", "place"),
    [
        ("a = 1 and delay > 60^0.7", {}, Limits(), "weights.position", "1:22"),
        ("a = 1 and (b = 2\n or not (c = 3 and d exists))", {}, LEAVES, "expression.too_many_leaves", "2:10"),
        ("all(a = 1, any(b = 2, true, c in cidr '::/0'))", {}, LEAVES, "expression.too_many_leaves", "1:29"),
        ("a = 1 and not (b = 2\n or not (c = 3 and d = 4))", {}, DEPTH, "expression.too_deep", "2:16"),
        ("not not all(any(not a = 1))", {}, DEPTH, "expression.too_deep", "1:17"),
        ("not " * 2_000 + "a = 1", {}, Limits(), "expression.too_deep", "1:801"),
        ("a = 1 or (b = 2 and c not in (1,2,3))", {}, LIST, "value.list_too_long", "1:21"),
        ("a = 1 and 3 < 2 * year(bcde)", {}, NAMES, "attribute.too_long", "1:24"),
        ("a not has any ('x') or bcde != time '2026-05-01'", {}, NAMES, "attribute.too_long", "1:24"),
        ("a = 1 and lower(bcde) not like 'x'", {}, NAMES, "attribute.too_long", "1:17"),
        ("a = 1 or b in cidr ('::/8', '10.0.0.0/8', '11.0.0.0/8')", {}, LIST, "value.list_too_long", "1:10"),
        ("5 = a or 5 != bcde", {}, NAMES, "attribute.too_long", "1:15"),
        ("a = 1 and (b = 2 or c = 1)", RELAXED, Limits(), "mode.shape", "1:18"),
        ("a = 1 and b not in (2)", RELAXED, Limits(), "mode.shape", "1:11"),
        ("a = 1 and b not like 'x%'", RELAXED, Limits(), "mode.shape", "1:11"),
        ("a = 1 and not b = 2", RELAXED, Limits(), "mode.shape", "1:11"),
        ("true", RELAXED, Limits(), "mode.shape", "1:1"),
        ("a = 1 and b in (2^3, 4^-0.5)", THRESHOLD, Limits(), "threshold.weights", "1:24"),
        ("a = 1 and b has any ('x', 'y'^-0.5)", THRESHOLD, Limits(), "threshold.weights", "1:31"),
        ("a = 1 and b > 2^-0.5", THRESHOLD, Limits(), "threshold.weights", "1:17"),
        ("a = 1^0 and b > 2^0", THRESHOLD, Limits(), "threshold.weights", "1:9"),
    ],
)
def test_what_is_refused_in_the_tree_of_a_filter_text_has_its_line_and_column(
    text: str, others: dict[str, Any], limits: Limits, code: str, place: str
) -> None:
    line, column = place.split(":")
    with pytest.raises(Refused) as raised:
        decode_subscription("s", encoded({"filter": text, **others}), limits)
    assert (raised.value.code, raised.value.path) == (code, f"$.filter, line {line}, column {column}")


def test_what_is_refused_in_the_tree_of_a_filter_text_is_told_in_the_words_of_texts() -> None:
    with pytest.raises(Refused, match="only the values of =, in and has have weights"):
        decode_subscription("s", encoded({"filter": "a > 1^2"}))


def test_a_filter_text_has_at_most_as_many_words_as_the_limit_however_simple_it_is() -> None:
    record = encoded({"filter": "a = 1 and b = 2"})
    decode_subscription("s", record, Limits(filter_tokens=7))
    with pytest.raises(Refused) as raised:
        decode_subscription("s", record, Limits(filter_tokens=6))
    assert (raised.value.code, raised.value.path) == ("filter.too_long", "$.filter, line 1, column 15")


def test_what_is_refused_beside_the_tree_of_a_filter_text_keeps_its_path() -> None:
    with pytest.raises(Refused) as raised:
        decode_subscription("s", encoded({"filter": "a = 1", "threshold": 0.5}))
    assert raised.value.path == "$.threshold"
