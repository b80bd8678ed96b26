"""Similar subscriptions: what makes no difference to the normal form makes none here, and the nearest come first."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.similar import Relation, similar
from schemas.expression import And, Expression, In, Not, Or
from schemas.filter_text import parse_filter
from schemas.records import Subscription
from tests.strategies import rich_expressions

WANTED = "origin in ('JFK', 'LGA') and dep_delay > 60"


def relation(a: str, b: str, **members: Any) -> Relation | None:
    found = similar([Subscription("s", parse_filter(b), **members)], Subscription("", parse_filter(a), **members), 1)
    return found[0].relation if found else None


def shuffled(expression: Expression, chance: random.Random) -> Expression:
    """Return the tree with arguments and listed values in another order, and here and there NOT NOT around an AND."""
    match expression:
        case And(args) | Or(args):
            return type(expression)(tuple(chance.sample([shuffled(arg, chance) for arg in args], len(args))))
        case Not(arg):
            return Not(shuffled(arg, chance))
        case In(attribute, values, weights):
            order = chance.sample(range(len(values)), len(values))
            return In(
                attribute,
                tuple(values[i] for i in order),
                None if weights is None else tuple(weights[i] for i in order),
            )
    return expression


@settings(max_examples=100)
@given(rich_expressions(max_leaves=8), st.randoms(use_true_random=False))
def test_the_order_of_arguments_and_values_makes_no_difference(expression: Expression, chance: random.Random) -> None:
    other = Subscription("s", shuffled(expression, chance))
    (found,) = similar([other], Subscription("", expression), 1)
    assert (found.relation, found.similarity) == (Relation.SAME, 1.0)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("dep_delay > 60.0 and origin in ('LGA', 'JFK')", Relation.SAME),
        ("not (not dep_delay > 60 or origin not in ('JFK', 'LGA')) and origin in ('JFK', 'LGA')", Relation.SAME),
        ("origin in ('JFK'^2, 'LGA') and dep_delay > 60", Relation.WEIGHTS),
        ("origin in ('JFK', 'LGA') or dep_delay > 60", Relation.LEAVES),
        ("origin in ('JFK', 'LGA') and dep_delay >= 60", Relation.NEAR),
        ("carrier = 'B6'", None),
    ],
)
def test_how_two_filters_compare(other: str, expected: Relation | None) -> None:
    assert relation(WANTED, other) == expected


def test_a_filter_without_predicates_resembles_its_like_only() -> None:
    assert relation("true", "a > 1 or not a > 1") is Relation.SAME
    assert relation("true", "a = 1") is None


def test_values_of_two_types_are_two_values() -> None:
    assert relation("a = 1", "a = true") is Relation.NEAR
    assert relation("a = 1", "a = '1'") is Relation.NEAR
    assert relation("a = 1", "a = 1.0") is Relation.SAME


ZEROS = ("x > 0", "x >= 0", "x < 0", "x <= 0", "x between 0 and 1", "x > ''", "x < 'a'", "x >= 0 and x <= 0", "x = 0")


@pytest.mark.parametrize(("a", "b"), [*itertools.combinations(ZEROS, 2)])
def test_a_bound_of_zero_or_of_an_empty_text_is_a_bound(a: str, b: str) -> None:
    assert relation(a, b) in (Relation.NEAR, None)
    assert relation(a, a.replace("0", "0.0")) is relation(a, a.replace("0", "-0.0")) is Relation.SAME


def test_bounds_of_zero_are_as_near_as_other_bounds() -> None:
    def similarities(*texts: str) -> list[float]:
        subscriptions = [Subscription(str(i), parse_filter(text)) for i, text in enumerate(texts)]
        return [found.similarity for found in similar(subscriptions, Subscription("", parse_filter(texts[0])), 10)]

    zeros = similarities("x > 0", "x >= 0", "x > 1", "x < 0")
    assert zeros == similarities("x > 7", "x >= 7", "x > 8", "x < 7")
    assert zeros == [1.0, 0.714285714, 0.5, 0.333333333]


def test_a_leaf_and_its_negation_share_nothing() -> None:
    assert relation("a > 1", "not a > 1") is None
    assert relation("a = 1", "a != 1") is None


def test_leaves_that_the_normal_form_writes_out_are_compared_by_what_they_mean() -> None:
    assert relation("ip in cidr ('10.0.0.0/8', '10.1.0.0/16')", "ip in cidr '10.0.0.0/8'") is Relation.SAME
    assert relation("a contains all ('x', 'y')", "a = 'y' and a = 'x'") is Relation.WEIGHTS


def test_a_double_negation_makes_a_difference_in_weights_around_what_scores_and_none_around_other_predicates() -> None:
    assert relation("not not a = 1", "a = 1") is Relation.WEIGHTS
    assert relation("not (not a = 1 and not b = 1)", "a = 1 or b = 1") is Relation.WEIGHTS
    assert relation("not not a > 1", "a > 1") is Relation.SAME
    assert relation("not not not a = 1", "not a = 1") is Relation.SAME


def test_mode_and_threshold_are_part_of_what_a_subscription_says() -> None:
    text = "a = 1^2 and b exists^3"
    assert relation(text, "b exists^3 and a = 1^2", mode="relaxed") is Relation.SAME
    assert relation(text, "b exists^4 and a = 1^2", mode="relaxed") is Relation.WEIGHTS
    wanted = Subscription("", parse_filter(text), mode="threshold", threshold=0.5)
    other = Subscription("s", parse_filter(text), mode="threshold", threshold=0.75)
    assert similar([other], wanted, 1)[0].relation is Relation.LEAVES


def test_bounds_are_nearer_the_more_they_have_in_common_and_what_has_little_is_not_told() -> None:
    filters = {
        "e-same": "price > 100",
        "d-inside": "price >= 100",
        "c-other": "price > 101",
        "b-opposite": "price < 100",
        "a-little": "price < 7 and kind = 'a' and origin = 'JFK'",
    }
    subscriptions = [Subscription(id_, parse_filter(text)) for id_, text in filters.items()]
    found = similar(subscriptions, Subscription("", parse_filter("price > 100")), 10)
    assert [entry.subscription.id for entry in found] == ["e-same", "d-inside", "c-other", "b-opposite"]


def test_the_nearest_share_most_and_ties_go_by_id() -> None:
    filters = {
        "z-same": WANTED,
        "one-origin": "origin = 'JFK' and dep_delay > 60",
        "b-origin-only": "origin in ('JFK', 'LGA')",
        "a-delay-only": "dep_delay > 60",
        "other-bound": "dep_delay > 90",
        "foreign": "carrier = 'B6'",
    }
    subscriptions = [Subscription(id_, parse_filter(text)) for id_, text in filters.items()]
    found = similar(subscriptions, Subscription("", parse_filter(WANTED)), 10)
    assert [entry.subscription.id for entry in found] == [
        "z-same",
        "one-origin",
        "a-delay-only",
        "b-origin-only",
        "other-bound",
    ]
    assert [round(entry.similarity, 3) for entry in found] == [1.0, 0.778, 0.5, 0.5, 0.286]
    assert len(similar(subscriptions, subscriptions[0], 2)) == 2


def test_two_thousand_levels_are_compared() -> None:
    expression: Expression = In("a", (2,))
    for level in range(1_000):
        expression = Not(Or((In("b", (level,)), expression))) if level % 2 else And((In("c", (level,)), expression))
    (found,) = similar([Subscription("deep", expression)], Subscription("", Not(Not(expression))), 1)
    assert found.relation in (Relation.SAME, Relation.WEIGHTS)
