"""What is found to be true or false whatever the event is so; neighbours that say much of each other mean the same."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.derived_results import Verdict, verdict
from index.explain.explanation import explain
from index.normal_form import FALSE, TRUE, normalise
from index.oracle import match_subscription, matches, score
from index.weighted_leaves import truth, weighted_leaves
from schemas.expression import (
    And,
    Attribute,
    Contains,
    ContainsAll,
    Derive,
    EndsWith,
    EqualsSet,
    Exists,
    Expression,
    In,
    Keywords,
    Leaf,
    Matches,
    Not,
    NotExists,
    NotIn,
    Or,
    Range,
    StartsWith,
    Within,
)
from schemas.filter_text import parse_filter
from schemas.records import Event, Mode, Subscription
from schemas.texts import fold
from schemas.values import Value
from tests.deep import deep

VALUES: tuple[Value, ...] = (1, 2, 2.0, 3, True, "a", "ab", "abc", "B", "2026-05-01", "")
NUMBERS = (0, 1, 2, 2.5, 3)
TEXTS = ("a", "ab", "abc", "b", "A", "")
ATTRIBUTES: tuple[Attribute, ...] = (
    *("x", "x", "x", "y"),
    *(Derive("lower", "x"), Derive("upper", "x"), Derive("length", "x"), Derive("mod", "x", (2,))),
    *(Derive("month", "x"), Derive("substring", "x", (1, 2)), Derive("length", Derive("lower", "x"))),
    *(Derive("substring", Derive("lower", "x"), (1, 1)), Derive("abs", "x"), Derive("round", "x")),
    Derive("length", Derive("length", "x")),
)
KINDS: tuple[Any, ...] = (In, In, In, NotIn, Within, EqualsSet, ContainsAll, Range, Range, Exists, NotExists, str)
"""Kinds of leaves, ``str`` for those over texts; the commonest several times."""

OVER_TEXTS: tuple[Callable[[Attribute, str, bool], Leaf], ...] = (StartsWith, EndsWith, Contains)

ALWAYS, NEVER = "always", "never"


@cache
@st.composite
def leaves(draw: st.DrawFn) -> Expression:
    attribute = draw(st.sampled_from(ATTRIBUTES))
    kind = draw(st.sampled_from(KINDS))
    if kind is str:
        return draw(st.sampled_from(OVER_TEXTS))(attribute, draw(st.sampled_from(TEXTS)), draw(st.booleans()))
    if kind is Range:
        return draw(ranges(attribute))
    if kind in (Exists, NotExists):
        like: list[Leaf] = [kind(attribute), Matches(attribute, "a.*"), Keywords(attribute, any=("a", "ab"))]
        return draw(st.sampled_from(like))
    values = tuple(draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=3)))
    if kind is In and draw(st.booleans()):
        return In(attribute, values, (draw(st.sampled_from((0.0, 1.0, -1.0))),) * len(values))
    listed: Leaf = kind(attribute, values, True) if kind is NotIn and draw(st.booleans()) else kind(attribute, values)
    return listed


@st.composite
def ranges(draw: st.DrawFn, attribute: str | Derive) -> Range:
    low, high = sorted(draw(st.lists(st.sampled_from(draw(st.sampled_from((NUMBERS, TEXTS)))), min_size=2, max_size=2)))
    bounds: dict[str, Any] = {draw(st.sampled_from(("gt", "ge"))): low, draw(st.sampled_from(("lt", "le"))): high}
    bounds.pop(draw(st.sampled_from(("", *bounds))), None)
    return Range(attribute, **bounds)


@cache
def trees() -> st.SearchStrategy[Expression]:
    """Trees of which parts are often beside their own negations."""
    return st.recursive(leaves(), _grow, max_leaves=10)


def _grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(inner | inner.map(Not), min_size=2, max_size=4).map(tuple)
    beside = st.tuples(inner, several).map(lambda pair: (*pair[1], Not(pair[0]), pair[0]))
    return st.one_of(several.map(And), several.map(Or), inner.map(Not), beside.map(And), beside.map(Or))


@cache
def events() -> st.SearchStrategy[Event]:
    values = st.lists(st.sampled_from((*VALUES, -1, 1.5, float("nan"), "ABC", "c")), max_size=3, unique_by=repr)
    held = st.fixed_dictionaries({}, optional={"x": values.map(tuple), "y": values.map(tuple)})
    return held.map(lambda found: Event({name: _distinct(listed) for name, listed in found.items() if listed}))


def _distinct(values: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(value for value in values if not (value == 2.0 and type(value) is float))


@given(trees(), st.lists(events(), min_size=1, max_size=6))
def test_the_normal_form_among_neighbours_means_what_was_written(expression: Expression, met: list[Event]) -> None:
    for event in met:
        for written in (expression, Not(Not(expression))):
            normal = normalise(written)
            assert matches(normal, event) == matches(written, event)
            assert score(normal, event) == score(written, event)


@given(trees())
def test_the_normal_form_among_neighbours_stays_as_it_is(expression: Expression) -> None:
    normal = normalise(expression)
    assert normalise(normal) == normal


@given(leaves(), leaves(), st.lists(events(), min_size=4, max_size=8))
def test_two_leaves_that_contradict_each_other_do_so_in_every_event(
    a: Expression, b: Expression, met: list[Event]
) -> None:
    for written in (And((a, Not(b))), Or((Not(a), b)), And((a, b)), Or((a, b))):
        normal = normalise(Not(Not(written)))
        if normal in (TRUE, FALSE):
            assert {matches(written, event) for event in met} == {normal == TRUE}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x in (1) and x not in (1, 2)", NEVER),
        ("x not in (1) or x in (1, 2)", ALWAYS),
        ("x in (1, 2) and x != 1 and x != 2", NEVER),
        ("x > 5 and not x > 3", NEVER),
        ("x between 4 and 5 and not x > 3", NEVER),
        ("not x > 5 or x > 3", ALWAYS),
        ("x > 5 and not x > 10 and not x <= 10", NEVER),
        ("x starts with 'abc' and not x starts with 'ab'", NEVER),
        ("x ends with 'abc' and not x ends with 'bc'", NEVER),
        ("x contains 'abc' and not x contains 'b'", NEVER),
        ("x starts with 'abc' and not x contains 'b'", NEVER),
        ("x in ('abc', 'abd') and not x starts with 'ab'", NEVER),
        ("x in (6, 7) and not x > 5", NEVER),
        ("x = 'abc' and not x ends with 'c'", NEVER),
        ("x = 'Abc' and not x starts with 'a' ignore case", NEVER),
        ("x = 'Foo bar' and not x has 'foo'", NEVER),
        ("x has 'foo' and not x has any of ('foo', 'bar')", NEVER),
        ("ip in cidr '10.1.0.0/16' and not ip in cidr '10.0.0.0/8'", NEVER),
        ("v version > '1.2' and not v version > '1.1'", NEVER),
        ("lower(x) = 'a' and x not exists", NEVER),
        ("x = 7 and x % 2 != 1", NEVER),
        ("x equals (1) and x = 2", NEVER),
        ("x within (1) and not x within (1, 2)", NEVER),
        ("x > 5 and x within (1, 2)", NEVER),
        ("(x = 1 and y = 2) or not (x = 1 and y = 2)", ALWAYS),
        ("(x = 1 or y = 1) and not x = 1 and not y = 1", NEVER),
        ("((x = 1 or y = 1) and (z = 1 or w = 1)) and not ((x = 1 or y = 1) and (z = 1 or w = 1))", NEVER),
        ("length(x) < 0", NEVER),
        ("length(substring(x, 1, 3)) > 3", NEVER),
        ("length(x) >= 0 or length(x) not exists", ALWAYS),
        ("x % 4 = 5", NEVER),
        ("x % 4 = 4", NEVER),
        ("lower(x) = 'A'", NEVER),
        ("upper(x) starts with 'a'", NEVER),
        ("upper(x) ends with 'a'", NEVER),
        ("upper(x) contains 'a'", NEVER),
        ("substring(x, 1, 2) = 'abc'", NEVER),
        ("year(x) = '2020'", NEVER),
        ("month(x) = 13", NEVER),
        ("hour(x) > 23", NEVER),
        ("abs(x) < 0", NEVER),
        ("round(x) = 1.5", NEVER),
        ("year(x) != '2020'", ALWAYS),
        # several values may meet what no single one does, and other kinds of values do not meet the negation
        ("x > 5 and x < 3", None),
        ("x in (1) and x in (2)", None),
        ("x in (1, 3) and x not in (1, 2)", None),
        ("x > 3 and not x > 5", None),
        ("x exists and not x > 5 and not x <= 5", None),
        ("x starts with 'ab' and not x starts with 'abc'", None),
        ("x = 5 and not lower(x) = 'a'", None),
        ("x = 2 and x not in (true, '2')", None),
        ("abs(x) >= 0 or abs(x) not exists", None),  # NaN
        ("x % 4 = -3", None),
        ("length(x) < 1", None),
    ],
)
def test_examples(text: str, says: str | None) -> None:
    normal = normalise(Not(Not(parse_filter(text))))
    assert {repr(TRUE): ALWAYS, repr(FALSE): NEVER}.get(repr(normal)) == says


SCORING, SILENT = In("x", (1,), (2.0,)), In("x", (1,), (0.0,))


@pytest.mark.parametrize(
    ("expression", "normal"),
    [
        # an argument of an OR that never has a say may go though it scores; what is left joins the AND
        (And((NotIn("x", (1, 2)), Or((SCORING, Exists("y"))))), And((NotIn("x", (1, 2)), Exists("y")))),
        (
            And((NotIn("x", (1,)), Or((And((SCORING, In("y", (1,)))), In("z", (1,)))))),
            And((NotIn("x", (1,)), In("z", (1,)))),
        ),
        # one of an AND in an OR only where nothing scores
        (Or((NotIn("x", (1,)), And((SILENT, Exists("y"))))), Or((NotIn("x", (1,)), Exists("y")))),
        (Or((NotIn("x", (1,)), And((SCORING, Exists("y"))))), Or((NotIn("x", (1,)), And((SCORING, Exists("y")))))),
        (Or((SCORING, NotIn("x", (1,)))), Or((SCORING, NotIn("x", (1,))))),
    ],
)
def test_what_scores_goes_only_where_it_never_has_a_say(expression: Expression, normal: Expression) -> None:
    assert repr(normalise(expression)) == repr(normal)


def test_a_weighted_leaf_that_never_holds_keeps_its_part_in_the_sum() -> None:
    leaves = (Range(Derive("length", "x"), lt=0), StartsWith(Derive("lower", "x"), "A"), Exists("x"))
    modes: tuple[tuple[Mode, float | None], ...] = (("relaxed", None), ("threshold", 0.5))
    for mode, threshold in modes:
        subscription = Subscription("s", Or(leaves), 0.0, mode, threshold)
        assert len(weighted_leaves(subscription)) == 3
        assert truth(subscription) == Exists("x")
    assert match_subscription(subscription, Event({"x": ("A",)})) is None


def test_a_subscription_that_no_event_matches_is_explained() -> None:
    for text in ("x = 1 and x not in (1, 2)", "length(x) < 0", "(x = 1 or y = 1) and x != 1 and y != 1"):
        subscription = Subscription("s", parse_filter(text))
        found = explain(subscription, Event({"x": (1,)}))
        assert not found.holds
        assert found.evidence


def test_results_of_a_month_are_all_known() -> None:
    month = Derive("month", "x")
    assert normalise(In(month, tuple(range(1, 13)), (0.0,) * 12)) == Exists(month)
    weighted = In(month, tuple(range(1, 13)))
    assert normalise(weighted) == weighted
    assert verdict(Range(month, le=12)) is Verdict.WHEN_PRESENT


@pytest.mark.parametrize("function", [str.lower, str.upper, fold])
def test_no_letter_of_a_result_is_changed_again(function) -> None:  # type: ignore[no-untyped-def]
    """All letters in all contexts: of a capital sigma its place in the word makes either of two."""
    letters = map(chr, range(sys.maxunicode + 1))
    assert all(function(letter) == letter for each in letters for letter in function(each))
    assert all(function(letter) == letter for letter in function("ΑΣ ΑΣΑ"))


def test_many_neighbours_take_linear_time() -> None:
    """Each of these would take minutes if arguments were compared with one another."""
    many = range(5000)
    values = tuple(range(10_000))
    wide: list[Expression] = [
        Or((*(In("x", (i,)) for i in many), *(NotIn("x", (i, i + 1)) for i in many))),
        And((*(Range("x", gt=i) for i in many), *(Not(Range("x", gt=i + 5000)) for i in many))),
        And((*(Contains("x", f"a{i}") for i in many), *(Not(Contains("x", f"b{i}")) for i in many))),
        And((In("x", values), Or(tuple(Not(Range("x", lt=9999 - i % 2)) for i in many)))),
        And((In("x0", (1,)), *(Or((NotIn(f"x{i}", (1,)), In(f"x{i + 1}", (1,)))) for i in reversed(many)))),
    ]
    start = time.process_time()
    for expression in wide:
        normalise(expression)
    assert time.process_time() - start < 30


def test_units_are_propagated_through_deep_nesting() -> None:
    expression = deep(
        lambda inner, i: And((In(f"x{i}", (1,)), Or((NotIn(f"x{i}", (1,)), inner)))), 500, NotIn("x0", (1,))
    )
    assert normalise(expression) == FALSE
