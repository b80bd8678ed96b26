"""The predicates that make an expression constant do so by themselves, and none of them can be left out."""

from __future__ import annotations

import pytest

from index.constant_core import Core, constant_core
from index.normal_form import FALSE, TRUE
from schemas.expression import And, In, Not, NotIn, Range
from schemas.filter_printer import format_filter
from schemas.filter_text import parse_filter
from tests.deep import deep


@pytest.mark.parametrize(
    ("text", "truth", "leaves"),
    [
        ("a = 7 and x = 1 and (b = 2 or b = 3) and x not in (1, 2)", False, ["x = 1", "x not in (1, 2)"]),
        ("a = 7 or not x > 5 or x > 3", True, ["not x > 5", "x > 3"]),
        ("(x = 1 or y = 1) and z > 0 and x != 1 and not y = 1", False, ["x = 1", "y = 1", "x != 1", "not y = 1"]),
        ("not (a = 1 and length(x) < 0)", True, ["not length(x) < 0"]),
        ("x equals (1) and x = 2 and y = 1", False, ["x equals (1)", "x = 2"]),
        ("length(x) < 0 or length(y) < 0", False, ["length(x) < 0", "length(y) < 0"]),
        ("a = 1 and false", False, []),
    ],
)
def test_examples(text: str, truth: bool, leaves: list[str]) -> None:
    core = constant_core(parse_filter(text))
    assert core is not None
    assert core.truth is truth
    assert [format_filter(leaf) for leaf in core.leaves] == leaves


def test_what_depends_on_the_event_has_none() -> None:
    assert constant_core(parse_filter("x > 5 and x < 3")) is None


def test_a_pair_is_found_among_thousands_and_in_deep_nesting() -> None:
    pair = (In("x", (1,)), NotIn("x", (1, 2)))
    wide = And((*(Range(f"x{i}", gt=1) for i in range(5000)), *pair))
    assert constant_core(wide) == Core(False, pair)
    assert constant_core(deep(lambda inner, _: Not(inner), 2000, And(pair))) == Core(False, pair)


def test_constants_as_written_have_an_empty_core() -> None:
    assert [constant_core(TRUE), constant_core(FALSE)] == [Core(True, ()), Core(False, ())]
