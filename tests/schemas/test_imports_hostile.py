"""Filters of other systems that nobody means well: numbers, expressions, nesting and values of any kind are refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.check import check_expression
from schemas.errors import Refused
from schemas.expression import Matches
from schemas.imports.bool_queries import from_bool_query
from schemas.imports.event_patterns import from_event_pattern
from schemas.patterns import compile_pattern

WITH_NUMBER: list[tuple[Any, Callable[[Any], Any]]] = [
    (from_bool_query, lambda number: {"term": {"a": number}}),
    (from_bool_query, lambda number: {"terms": {"a": ["x", number]}}),
    (from_bool_query, lambda number: {"range": {"a": {"gt": number}}}),
    (from_bool_query, lambda number: {"term": {"a": {"value": 1, "boost": number}}}),
    (from_bool_query, lambda number: {"terms": {"a": [1], "boost": number}}),
    (from_bool_query, lambda number: {"match": {"a": {"query": "x", "boost": number}}}),
    (from_bool_query, lambda number: {"match": {"a": number}}),
    (from_bool_query, lambda number: {"match_all": {"boost": number}}),
    (from_bool_query, lambda number: {"bool": {"minimum_should_match": number}}),
    (from_bool_query, lambda number: {"bool": {"must": [number]}}),
    (from_event_pattern, lambda number: {"a": ["x", number]}),
    (from_event_pattern, lambda number: {"a": [{"numeric": ["=", number]}]}),
    (from_event_pattern, lambda number: {"a": [{"numeric": [">", 0, "<", number]}]}),
    (from_event_pattern, lambda number: {"a": [{"anything-but": [number]}]}),
    (from_event_pattern, lambda number: {"a": [{"exists": number}]}),
    (from_event_pattern, lambda number: {"a": number}),
]


@pytest.mark.parametrize("place", range(len(WITH_NUMBER)))
@pytest.mark.parametrize("number", [10**400, -(10**5000), 2**63, math.nan, math.inf, -math.inf], ids=type)
def test_a_number_that_no_attribute_holds_is_refused_where_it_stands(place: int, number: Any) -> None:
    kind, around = WITH_NUMBER[place]
    with pytest.raises(Refused) as caught:
        kind(around(number))
    assert caught.value.code in ("import.unsupported", "value.integer_range", "value.not_finite", "weights.range")
    assert re.match(r"\$\.(?!expression)", caught.value.path)
    assert len(caught.value.message) < 250


def test_an_expression_that_is_none_is_not_made_one_by_what_is_put_around_it() -> None:
    for pattern in ("a)b(c", "a(", ")", "(a", "[z-a]", "a{3,2}", "a{1001}"):
        with pytest.raises(Refused) as caught:
            from_bool_query({"regexp": {"a": pattern}})
        assert (caught.value.code, caught.value.path) == ("pattern.syntax", "$.regexp.a")


@given(st.text(r"ab^$()[]{}|*+?.\\-dn2,~\n", max_size=8))
@settings(max_examples=1000)
def test_any_expression_is_one_by_itself_or_refused(pattern: str) -> None:
    try:
        tree = from_bool_query({"regexp": {"a": pattern}})
    except Refused as refused:
        path = refused.path
    else:
        assert isinstance(tree, Matches)
        compile_pattern(tree.pattern.removeprefix("(?s:").removesuffix(")"))
        path = "$.regexp.a"
    assert path == "$.regexp.a"


@pytest.mark.parametrize("kind", [from_event_pattern, from_bool_query])
def test_what_is_quoted_may_be_nested_without_end(kind: Any) -> None:
    foreign: list[Any] = []
    for _ in range(100_000):
        foreign = [foreign]
    with pytest.raises(Refused, match=r"but \[\[.* was found"):
        kind(foreign)


@pytest.mark.parametrize("kind", [from_event_pattern, from_bool_query])
def test_nesting_without_end_is_refused(kind: Any) -> None:
    foreign: Any = {"term": {"a": 1}} if kind is from_bool_query else {"a": [1]}
    for _ in range(500):
        foreign = {"bool": {"must": foreign}} if kind is from_bool_query else {"a": foreign}
    with pytest.raises(Refused) as caught:
        kind(foreign)
    assert caught.value.code == "expression.too_deep"


WORDS = (
    *("a", "bool", "must", "should", "must_not", "term", "terms", "range", "match", "value", "boost", "gte", "query"),
    *("prefix", "suffix", "anything-but", "numeric", "exists", "$or", "equals-ignore-case", "wildcard", "regexp", ">"),
)


def foreign_values() -> st.SearchStrategy[Any]:
    plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(WORDS)
    return st.recursive(
        plain,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
        max_leaves=8,
    )


@given(st.sampled_from([from_event_pattern, from_bool_query]), foreign_values())
@settings(max_examples=500)
def test_any_value_becomes_an_allowed_tree_or_is_refused(kind: Any, foreign: Any) -> None:
    try:
        tree = kind(foreign)
    except Refused as refused:
        path = refused.path
    else:
        check_expression(tree)
        path = "$"
    assert path.startswith("$")
