"""What is read by predicates is what the parser reads."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import Refused
from schemas.filter_quick import quick_filter
from schemas.filter_text import parse_filter
from schemas.texts import set_analyser

PREDICATES = (
    "a = 'x'", "a = 'it''s and ( or'", "b between 1 and 3", "b BETWEEN 1 AND 3", "c in ('y', 'z')", "not c in ('y')",
    "c not in ('y', 'and')", "d exists", "(a) = 'x'", "(b + 1) * 2 > 3", "all(d exists, b = 1)", "true", "a = 'x' ^0.5",
    "e has any ('p', 'q')", "\"and\" = 1", "length(a) > 3", "1 < b <= 4", "b", "a = 'x", "not (b = 1)", "-- or\nb = 1",
    "between = 1", "a mod 2 = 1", "a = ';'", "d exists;",
)  # fmt: skip
TEXTS = st.recursive(
    st.sampled_from(PREDICATES),
    lambda inner: st.one_of(
        inner.map("({})".format),
        st.tuples(inner, st.sampled_from([" and ", " or ", " AND\n", ")or(", " ", "; and "]), inner).map("".join),
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_a_text_that_is_read_quickly_is_read_as_by_the_parser(text: str) -> None:
    quick = quick_filter(text)
    if quick is not None:
        assert quick == parse_filter(text)


PIECES = (
    "a", "b", "a.b", "and", "or", "AND", "not", "between", "in", "exists", "true", "time", "is null", "mod",
    "1", "1.", ".5", "1e5", "1e", "0x", "-", "'x'", "'", "=", "!=", "<", "^", "(", ")", ",", ".", "&&", "|", "_", "é",
    " ", " ", "\n", " a = 1", " b = 'x'", " and ", " or ", "a=1", "c in ('y')", "²", "\x1c", "\u200b",
)  # fmt: skip


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=4), st.sampled_from(["", " "]), st.lists(st.sampled_from(PIECES)))
def test_words_and_signs_without_blanks_between_them_are_read_as_by_the_parser(
    before: list[str], blank: str, after: list[str]
) -> None:
    text = f"a = {''.join(before)}and{blank}b = 2{''.join(after)}"
    quick = quick_filter(text)
    if quick is not None:
        assert quick == parse_filter(text)


@pytest.mark.parametrize("text", ["a = 1.and b = 2", "a = 1 or.5 < b", "a = 1 and.b = 2", "a = 1.5.or b = 2"])
def test_a_connective_beside_a_point_is_none(text: str) -> None:
    assert quick_filter(text) is None
    with pytest.raises(Refused):
        parse_filter(text)


@pytest.mark.parametrize(
    "text", ["a = 'x'and b = 2", "(a=1)and(b=2)", "a = 'x'or(b = 2)and a.b=1", "a < 1.5 and a = 1. or a = .5"]
)
def test_a_connective_beside_a_quote_or_parenthesis_is_one(text: str) -> None:
    assert quick_filter(text) == parse_filter(text) is not None


def test_a_text_that_is_left_to_the_parser_is_left_in_linear_time() -> None:
    started = time.process_time()
    assert quick_filter("a in ((" + "1 " * 100_000) is None
    assert time.process_time() - started < 5.0  # a minute and more when each word looks for the end of the list


@pytest.mark.parametrize(
    "text", ["a = 'x' and (b between 1 and 3 or c in ('y', 'z'))", "(a = 'x')", "a = 1 OR d exists"]
)
def test_texts_of_predicates_and_connectives_are_read_quickly(text: str) -> None:
    assert quick_filter(text) == parse_filter(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(",
        "a = 'x' and",
        "a = 'x')",
        "not b = 1",
        "a = 'x' b = 1",
        "(a = 'x'",
        "a = 1 -- or b = 1",
    ],
)
def test_others_are_left_to_the_parser(text: str) -> None:
    assert quick_filter(text) is None


def test_what_is_refused_is_refused_as_before() -> None:
    with pytest.raises(Refused):
        parse_filter("a = 'x' and and")
    assert quick_filter("a = 'x' and and") is None


def test_a_predicate_is_read_by_the_analyser_of_the_day() -> None:
    text = "text has 'in progress' and a = 1"
    try:
        set_analyser("whole")
        assert quick_filter(text) == parse_filter(text)
    finally:
        set_analyser("words")
    assert quick_filter(text) is None  # two words
