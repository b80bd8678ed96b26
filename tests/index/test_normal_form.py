"""The normal form means what the expression means, and has the shape that engines count on."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given

from index.normal_form import FALSE, TRUE, normalise
from index.oracle import matches, score
from schemas.expression import And, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.records import Event
from tests.strategies import events, expressions

A, B = In("a", (1,)), In("b", (2,), (0.5,))
SILENT_A = In("a", (1,), (0.0,))


@given(expressions(), events())
def test_truth_and_score_stay_the_same(expression: Expression, event: Event) -> None:
    normal = normalise(expression)
    assert matches(normal, event) == matches(expression, event)
    if matches(expression, event):
        assert score(normal, event) == score(expression, event)


@given(expressions())
def test_the_shape_is_normal_and_stays_so(expression: Expression) -> None:
    normal = normalise(expression)
    _assert_normal(normal, parent=None)
    assert normalise(normal) == normal


def _assert_normal(node: Expression, parent: type | None) -> None:
    match node:
        case And(args) | Or(args):
            assert type(node) is not parent
            assert len(args) != 1
            assert args or parent is None or (type(node) is And and parent is Or)
            for arg in args:
                _assert_normal(arg, type(node))
        case Not(arg):
            assert isinstance(arg, Range)
        case NotIn():
            assert not node.strong
        case _:
            assert isinstance(node, In | Range | Exists | NotExists)


@pytest.mark.parametrize(
    ("expression", "normal"),
    [
        (Not(A), NotIn("a", (1,))),
        (Not(Not(A)), SILENT_A),
        (Not(And((A, NotIn("b", (2,))))), Or((NotIn("a", (1,)), In("b", (2,), (0.0,))))),
        (NotIn("a", (1,), strong=True), And((Exists("a"), NotIn("a", (1,))))),
        (Not(NotIn("a", (1,), strong=True)), Or((NotExists("a"), SILENT_A))),
        (Not(Range("a", gt=1)), Not(Range("a", gt=1))),
        (Not(Exists("a")), NotExists("a")),
        (And((A, And((B, Or((A,)))))), And((A, B, A))),
        (Or((A, Or((B, A)))), Or((A, B))),
        (And((SILENT_A, Exists("c"), SILENT_A, Exists("c"))), And((SILENT_A, Exists("c")))),
        (And((A, TRUE)), A),
        (And((A, Not(TRUE))), FALSE),
        (Or((A, FALSE)), A),
        (Or((Exists("c"), TRUE, A)), Or((TRUE, A))),
        (Or((Exists("c"), TRUE)), TRUE),
        (Not(Or((A, TRUE))), FALSE),
        (And((In("a", (1,)), In("a", (True,)))), And((In("a", (1,)), In("a", (True,))))),
        (Or((In("a", (1,)), In("a", (True,)), In("a", (1.0,)))), Or((In("a", (1,)), In("a", (True,))))),
    ],
)
def test_examples(expression: Expression, normal: Expression) -> None:
    assert repr(normalise(expression)) == repr(normal)


def test_doubles_are_kept_where_they_score_twice() -> None:
    event = Event({"a": (1,)})
    assert score(normalise(And((A, A))), event) == 2 * score(A, event)


@pytest.mark.parametrize("deepen", [Not, lambda inner: And((inner, B)), lambda inner: Or((inner, B))])
def test_nesting_may_be_deep(deepen) -> None:  # type: ignore[no-untyped-def]
    expression = reduce(lambda inner, _: deepen(inner), range(5000), A)
    assert normalise(expression) in (SILENT_A, And((A, *(B,) * 5000)), Or((A, B)))
