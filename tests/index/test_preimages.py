"""A range over arithmetic of an attribute, said of the attribute itself, holds for the same values, one by one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.normal_form import normalise
from index.oracle import matches
from index.preimages import range_below
from schemas.expression import Attribute, Derive, Expression, Not, Range
from schemas.records import Event
from schemas.values import INT64_MAX, INT64_MIN, Number, Value
from tests.strategies import event_values, numbers

FUNCTIONS = ("add", "subtract", "multiply", "divide")
constants = st.one_of(numbers(), st.integers(-9, 9), st.floats(-4, 4)).filter(bool)
steps = st.tuples(st.sampled_from(FUNCTIONS), constants)


@st.composite
def arithmetic_ranges(draw: st.DrawFn) -> Range:
    """Ranges with one bound or two, never inverted."""
    attribute: Attribute = "a"
    for function, c in draw(st.lists(steps, min_size=1, max_size=3)):
        attribute = Derive(function, attribute, (c,))
    bounds = st.one_of(numbers(), st.integers(-99, 99), st.floats(-9, 9), st.sampled_from((2.0**53, 2**53 - 1)))
    low, high = sorted((draw(bounds), draw(bounds)))
    given: dict[str, Any] = {draw(st.sampled_from(("gt", "ge"))): low, draw(st.sampled_from(("lt", "le"))): high}
    dropped = draw(st.sampled_from((None, *given)))
    return Range(attribute, **{name: bound for name, bound in given.items() if name != dropped})


def holds(expression: Expression, value: Value) -> bool:
    return matches(expression, Event({"a": (value,)}))


def neighbours(bound: str | Number | None) -> list[Number]:
    """Return the numbers of both types round a bound; a text has none."""
    if bound is None or isinstance(bound, str):
        return []
    double, integer = float(bound), round(bound)
    near = (math.nextafter(double, -math.inf), double, math.nextafter(double, math.inf))
    return [bound, *near, *(i for i in range(integer - 1, integer + 2) if INT64_MIN <= i <= INT64_MAX)]


@given(arithmetic_ranges(), st.lists(event_values(), max_size=9))
def test_it_holds_for_the_same_values(leaf: Range, values: list[Value]) -> None:
    plainer = range_below(leaf)
    ends: list[Any] = [*neighbours(plainer.ge), *neighbours(plainer.le)] if plainer is not leaf else []
    for value in (*values, *ends, math.nan, math.inf, -math.inf, True, "1"):
        assert holds(plainer, value) == holds(leaf, value), (plainer, value)


@given(arithmetic_ranges(), st.booleans(), st.lists(event_values(), max_size=5))
def test_the_normal_form_holds_for_the_same_values(leaf: Range, negated: bool, values: list[Value]) -> None:
    expression = Not(leaf) if negated else leaf
    for value in values:
        assert holds(normalise(expression), value) == holds(expression, value)


@pytest.mark.parametrize(
    ("leaf", "plainer"),
    [
        (Range(Derive("add", "a", (3,)), gt=5), Range("a", ge=math.nextafter(2 + 2**-51, 3))),
        (Range(Derive("subtract", "a", (0.5,)), ge=-0.0), Range("a", ge=0.5)),
        (Range(Derive("multiply", "a", (-2,)), ge=-4, le=6), Range("a", ge=-3, le=2)),
        (Range(Derive("add", "a", (2**53 + 1,)), ge=0), Range("a", ge=-(2**53) - 1)),
        (Range(Derive("multiply", "a", (0,)), ge=0), "itself"),
        (Range(Derive("add", "a", (1,)), ge=2**53), "itself"),
        (Range(Derive("add", "a", (1,)), ge="1"), "itself"),
        (Range(Derive("multiply", "a", (5e-324,)), gt=1), "itself"),
        (Range(Derive("mod", "a", (5,)), gt=1), "itself"),
        (Range("a", gt=1), "itself"),
    ],
)
def test_examples(leaf: Range, plainer: Range | str) -> None:
    assert range_below(leaf) == (leaf if plainer == "itself" else plainer)
