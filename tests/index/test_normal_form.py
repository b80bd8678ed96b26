"""The normal form means what the expression means, and has the shape that engines count on."""

from __future__ import annotations

import pytest
from hypothesis import given

from index.normal_form import FALSE, TRUE, normalise
from index.oracle import matches, score
from schemas.expression import (
    And,
    Contains,
    Derive,
    Exists,
    Expression,
    In,
    Matches,
    Not,
    NotExists,
    NotIn,
    Or,
    Range,
    Within,
)
from schemas.records import Event
from tests.deep import deep
from tests.strategies import events, expressions, rich_events, rich_expressions

A, B = In("a", (1,)), In("b", (2,), (0.5,))
SILENT_A = In("a", (1,), (0.0,))
SILENT_B = In("b", (2,), (0.0,))
C, D = Exists("c"), Range("d", gt=0)


@given(expressions(), events())
def test_truth_and_score_stay_the_same(expression: Expression, event: Event) -> None:
    normal = normalise(expression)
    assert matches(normal, event) == matches(expression, event)
    if matches(expression, event):
        assert score(normal, event) == score(expression, event)


@given(rich_expressions(), rich_events())
def test_truth_and_score_stay_the_same_over_every_leaf(expression: Expression, event: Event) -> None:
    normal = normalise(expression)
    assert matches(normal, event) == matches(expression, event)
    assert score(normal, event) == score(expression, event)


@given(expressions() | rich_expressions())
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
            assert isinstance(arg, Range | Matches | Contains | Within)
        case NotIn():
            assert not node.strong
        case _:
            assert isinstance(node, In | Range | Exists | NotExists | Matches | Contains | Within)
            assert not isinstance(node, Range) or node.type is None
            assert not isinstance(node, Contains) or not node.ignore_case


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
        # what an argument says twice, or its opposite
        (And((A, SILENT_A)), A),
        (And((In("a", (1, 2)), In("a", (2, 1), (0.0, 0.0)))), In("a", (1, 2))),
        (And((C, A, NotIn("a", (1,)))), FALSE),
        (And((C, NotExists("c"))), FALSE),
        (And((D, Not(D), A)), FALSE),
        (Or((SILENT_A, C, NotIn("a", (1.0,)))), TRUE),
        (Or((A, NotIn("a", (1,)))), Or((A, NotIn("a", (1,))))),
        (Or((D, Not(D), B)), Or((TRUE, B))),
        (And((In("a", (1,)), NotIn("a", (True,)))), And((In("a", (1,)), NotIn("a", (True,))))),
        # presence follows from a value, absence from none
        (And((Exists("a"), A)), A),
        (And((A, NotExists("a"))), FALSE),
        (And((NotIn("a", (1,)), NotExists("a"))), NotExists("a")),
        (Or((SILENT_A, Exists("a"))), Exists("a")),
        (Or((A, Exists("a"))), Or((A, Exists("a")))),
        (Or((NotIn("a", (1,)), NotExists("a"))), NotIn("a", (1,))),
        (Or((NotIn("a", (1,)), Exists("a"))), TRUE),
        (And((Exists(Derive("lower", "a")), In("a", (1,)))), And((Exists(Derive("lower", "a")), In("a", (1,))))),
        # absorption, which an argument that scores may forbid
        (Or((A, And((A, C)))), A),
        (Or((And((C, A, D)), And((A, C)))), And((A, C))),
        (Or((And((A, C)), And((C, A)))), And((A, C))),
        (Or((A, And((A, B)))), Or((A, And((A, B))))),
        (Or((SILENT_A, And((A, C)))), Or((SILENT_A, And((A, C))))),
        (Or((C, And((A, A)), And((A, A, D)))), Or((C, And((A, A))))),
        (And((A, Or((SILENT_A, C)))), A),
        (And((A, Or((A, C)))), And((A, Or((A, C))))),
        (And((Or((C, D, SILENT_B)), Or((D, C)))), Or((D, C))),
        (And((In("a", (1,)), In("a", (True,)))), And((In("a", (1,)), In("a", (True,))))),
        (Or((In("a", (1,)), In("a", (True,)), In("a", (1.0,)))), Or((In("a", (1,)), In("a", (True,))))),
    ],
)
def test_examples(expression: Expression, normal: Expression) -> None:
    assert repr(normalise(expression)) == repr(normal)


def test_many_branches_are_absorbed_in_bounded_work() -> None:
    grid = [And((In("x", (i,)), In("y", (j,)))) for i in range(60) for j in range(60)]
    longer = [And((*branch.args, C)) for branch in grid]
    normal = normalise(Or((*longer, *grid)))
    assert isinstance(normal, Or)
    assert set(grid) <= set(normal.args)
    assert len(normal.args) < len(grid) + len(longer)


def test_groups_of_two_are_not_multiplied_out() -> None:
    groups = And(tuple(Or((Contains("a", f"{i}"), In("b", (i,)))) for i in range(20)))
    assert normalise(groups) == groups


def test_doubles_are_kept_where_they_score_twice() -> None:
    event = Event({"a": (1,)})
    assert score(normalise(And((A, A))), event) == 2 * score(A, event)


@pytest.mark.parametrize("deepen", [Not, lambda inner: And((inner, B)), lambda inner: Or((inner, B))])
def test_nesting_may_be_deep(deepen) -> None:  # type: ignore[no-untyped-def]
    expression = deep(lambda inner, _: deepen(inner), 5000, A)
    assert normalise(expression) in (SILENT_A, And((A, *(B,) * 5000)), Or((A, B)))
