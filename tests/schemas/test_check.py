"""What an expression and a subscription may hold, and how a refusal names the place."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings

from schemas.check import Limits, check_expression, check_subscription
from schemas.errors import Refused
from schemas.expression import And, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.records import Subscription
from schemas.values import INT64_MAX, INT64_MIN, WEIGHT_LIMIT
from tests import strategies

A = Exists("a")
FULL = In("b", (1, 2, 3, 4), (WEIGHT_LIMIT,) * 4)
"""With weights that add up to the most that is allowed."""
NAN, INF = math.nan, math.inf

REFUSED: list[tuple[Expression, str, str]] = [
    (In("a", ()), "value.empty_list", "$.expression.values"),
    (NotIn("a", ()), "value.empty_list", "$.expression.values"),
    (NotIn("a", (), True), "value.empty_list", "$.expression.values"),
    (And((A, Not(Or((A, In("a", ())))))), "value.empty_list", "$.expression.args[1].arg.args[1].values"),
    (In("a", ("x", "y"), (1.0,)), "weights.length", "$.expression.weights"),
    (In("a", ("x",), (1.0, 2.0)), "weights.length", "$.expression.weights"),
    (In("a", ("x",), ()), "weights.length", "$.expression.weights"),
    (In("a", ("x", "y"), (1.0, NAN)), "weights.range", "$.expression.weights[1]"),
    (In("a", ("x",), (INF,)), "weights.range", "$.expression.weights[0]"),
    (In("a", ("x",), (-INF,)), "weights.range", "$.expression.weights[0]"),
    (In("a", ("x",), (math.nextafter(WEIGHT_LIMIT, INF),)), "weights.range", "$.expression.weights[0]"),
    (In("a", ("x",), (-math.nextafter(WEIGHT_LIMIT, INF),)), "weights.range", "$.expression.weights[0]"),
    (In("a", ("x", "y", "x"), (1.0, 2.0, 3.0)), "weights.conflict", "$.expression.weights[2]"),
    (In("a", (1, 1.0), (1.0, 2.0)), "weights.conflict", "$.expression.weights[1]"),
    (In("a", (0, -0.0), (1.0, 2.0)), "weights.conflict", "$.expression.weights[1]"),
    (In("a", (1, NAN)), "value.not_finite", "$.expression.values[1]"),
    (NotIn("a", (INF,)), "value.not_finite", "$.expression.values[0]"),
    (Range("a", gt=NAN), "value.not_finite", "$.expression.gt"),
    (Range("a", le=-INF), "value.not_finite", "$.expression.le"),
    (In("a", ("x", INT64_MAX + 1)), "value.integer_range", "$.expression.values[1]"),
    (NotIn("a", (INT64_MIN - 1,)), "value.integer_range", "$.expression.values[0]"),
    (In("a", (10**4000,)), "value.integer_range", "$.expression.values[0]"),
    (Range("a", lt=INT64_MAX + 1), "value.integer_range", "$.expression.lt"),
    (Range("a"), "range.no_bound", "$.expression"),
    (Not(Range("a")), "range.no_bound", "$.expression.arg"),
    (Range("a", gt=1, ge=1), "range.two_bounds", "$.expression.ge"),
    (Range("a", lt=1, le=2), "range.two_bounds", "$.expression.le"),
    (Range("a", gt=1, ge=1, lt=3, le=4), "range.two_bounds", "$.expression.ge"),
    (Range("a", gt=1, le="x"), "range.type", "$.expression.le"),
    (Range("a", ge="1", lt=2), "range.type", "$.expression.lt"),
    (Range("a", ge=True), "range.type", "$.expression.ge"),
    (Range("a", ge=0, le=True), "range.type", "$.expression.le"),
    (Range("a", ge=20, le=10), "range.inverted", "$.expression.le"),
    (Range("a", gt=5, lt=5), "range.inverted", "$.expression.lt"),
    (Range("a", gt=5, le=5), "range.inverted", "$.expression.le"),
    (Range("a", ge=5, lt=5.0), "range.inverted", "$.expression.lt"),
    (Range("a", ge=2**53 + 1, le=float(2**53)), "range.inverted", "$.expression.le"),
    (Range("a", gt=-0.0, lt=0), "range.inverted", "$.expression.lt"),
    (Range("a", ge="b", le="a"), "range.inverted", "$.expression.le"),
    (Range("a", ge="\U0001f600", le="\uffff"), "range.inverted", "$.expression.le"),
    (Range("a", gt="", le=""), "range.inverted", "$.expression.le"),
    (Exists("\0a"), "attribute.name", "$.expression.attribute"),
    (Or((A, NotExists("\0"))), "attribute.name", "$.expression.args[1].attribute"),
    (In("x" * 257, ("v",)), "attribute.too_long", "$.expression.attribute"),
]

ALLOWED: list[Expression] = [
    And(()),
    Or(()),
    Not(And(())),
    Exists(""),
    Exists("a\0"),
    Exists("x" * 256),
    In("a", ("x", "x"), (1.0, 1.0)),
    In("a", (1, True, "1"), (1.0, 2.0, 3.0)),
    In("a", ("x",), (WEIGHT_LIMIT,)),
    In("a", (INT64_MIN, INT64_MAX)),
    Range("a", gt=5, lt=6),
    Range("a", ge=5, le=5),
    Range("a", ge=0, le=-0.0),
    Range("a", gt=float(2**53), lt=2**53 + 1),
    Range("a", ge="\uffff", le="\U0001f600"),
    Range("a", ge=""),
    Range("a", lt=0),
]


@pytest.mark.parametrize(("expression", "code", "path"), REFUSED)
def test_what_is_not_allowed_is_refused_with_its_code_and_path(expression: Expression, code: str, path: str) -> None:
    with pytest.raises(Refused) as raised:
        check_expression(expression)
    assert (raised.value.code, raised.value.path) == (code, path)
    assert len(raised.value.message) < 400


@pytest.mark.parametrize("expression", ALLOWED)
def test_what_is_allowed_passes(expression: Expression) -> None:
    check_expression(expression)


@given(strategies.expressions())
def test_the_shared_strategies_draw_allowed_expressions(expression: Expression) -> None:
    check_expression(expression)


@given(strategies.rich_expressions())
def test_the_shared_strategies_of_every_leaf_draw_allowed_expressions(expression: Expression) -> None:
    check_subscription(Subscription("s", expression))


@given(strategies.rich_subscriptions())
def test_the_shared_strategies_of_every_mode_draw_allowed_subscriptions(drawn: list[Subscription]) -> None:
    for each in drawn:
        check_subscription(each)


def test_the_path_begins_where_the_caller_says() -> None:
    with pytest.raises(Refused) as raised:
        check_expression(And((In("a", ()),)), path="$.filter")
    assert raised.value.path == "$.filter.args[0].values"


def nested(depth: int, tree: Expression = A) -> Expression:
    """Return a tree of so many connectives one inside another, around a leaf or what is as little."""
    for _ in range(depth):
        tree = Not(tree)
    return tree


def test_depth_is_counted_in_connectives_and_checked_without_recursion() -> None:
    check_expression(nested(200))
    check_expression(nested(200, And(())))
    for depth in (201, 20_000):
        with pytest.raises(Refused) as raised:
            check_expression(nested(depth))
        assert raised.value.code == "expression.too_deep"
        assert raised.value.path == "$.expression" + ".arg" * 200


def test_a_tree_has_at_most_as_many_leaves_as_the_limit() -> None:
    limits = Limits(leaves=3)
    check_expression(Or((A, Not(A), And((A, And(()))))), limits)
    with pytest.raises(Refused) as raised:
        check_expression(Or((A, Not(A), And((A, A)))), limits)
    assert (raised.value.code, raised.value.path) == ("expression.too_many_leaves", "$.expression.args[2].args[1]")


def test_a_list_has_at_most_as_many_values_as_the_limit() -> None:
    limits = Limits(list_length=3)
    check_expression(NotIn("a", (1, 2, 3)), limits)
    for leaf in (In("a", (1, 2, 3, 4)), NotIn("a", (1, 2, 3, 4))):
        with pytest.raises(Refused, match=r"limits\.list_length") as raised:
            check_expression(leaf, limits)
        assert (raised.value.code, raised.value.path) == ("value.list_too_long", "$.expression.values")


def subscription(expression: Expression = A, **members: object) -> Subscription:
    return Subscription("s", expression, **members)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("refused", "code", "path"),
    [
        (subscription(priority=NAN), "weights.range", "$.priority"),
        (subscription(priority=-INF), "weights.range", "$.priority"),
        (subscription(priority=2.0**20 + 1), "weights.range", "$.priority"),
        (subscription(In("a", (1, 2, 3, 4), (WEIGHT_LIMIT,) * 4), priority=-0.5), "weights.sum", "$"),
        (subscription(Or((In("a", (1, 2), (WEIGHT_LIMIT,) * 2),) * 2 + (In("b", (1,)),))), "weights.sum", "$"),
        (subscription(In("a", (1, 2, 3, 4, 5), (*(WEIGHT_LIMIT,) * 4, -1.0))), "weights.sum", "$"),
        (
            subscription(And((In("a", (1, 2, 3, 4), (WEIGHT_LIMIT - 1, *(WEIGHT_LIMIT,) * 3)), In("b", (1, 2))))),
            "weights.sum",
            "$",
        ),
        (subscription(And((FULL, A)), mode="relaxed"), "weights.sum", "$"),
        (subscription(And((FULL, Exists("a", weight=-1.0))), mode="relaxed"), "weights.sum", "$"),
        (subscription(not_before=2, not_after=1), "validity.inverted", "$.not_after"),
        (subscription(labels={"a": "é" * 8192}), "labels.too_large", "$.labels"),
    ],
)
def test_a_subscription_is_refused_for_what_its_tree_does_not_say(refused: Subscription, code: str, path: str) -> None:
    with pytest.raises(Refused) as raised:
        check_subscription(refused)
    assert (raised.value.code, raised.value.path) == (code, path)


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (subscription(In("a", (1, 2, 3, 4), (WEIGHT_LIMIT,) * 4), priority=1.0), "add up to 4,194,305 in magnitude"),
        (subscription(In("a", (1, 2, 3, 4), (WEIGHT_LIMIT,) * 4), priority=0.25), "add up to 4,194,304.25 in"),
        (subscription(priority=2.0**20 + 0.5), "the weight 1,048,576.5 is not"),
        (subscription(priority=-INF), "the weight -inf is not"),
        (subscription(In("a", (1, 1.0), (2.0, 2.0000001))), "two weights, 2 and 2.0000001"),
    ],
)
def test_a_number_is_quoted_with_the_digits_that_are_wrong(refused: Subscription, said: str) -> None:
    with pytest.raises(Refused, match=re.escape(said)):
        check_subscription(refused)


@pytest.mark.parametrize(
    "allowed",
    [
        subscription(In("a", (1, 2, 3, 4), (WEIGHT_LIMIT, -WEIGHT_LIMIT, WEIGHT_LIMIT, WEIGHT_LIMIT))),
        subscription(And((FULL, A, NotIn("a", (1, 2))))),
        subscription(In("a", (1, 2), (0.0, 5.0)), mode="threshold", threshold=1.0),
        subscription(priority=-WEIGHT_LIMIT),
        subscription(not_before=1, not_after=1),
        subscription(labels={"a": "x" * 16_383}),
    ],
)
def test_a_subscription_at_a_limit_passes(allowed: Subscription) -> None:
    check_subscription(allowed)


@settings(max_examples=40)
@given(strategies.subscriptions())
def test_the_shared_strategies_draw_allowed_subscriptions(drawn: list[Subscription]) -> None:
    for each in drawn:
        check_subscription(each)
    ids = [each.id.encode() for each in drawn]
    assert ids == sorted(set(ids))
