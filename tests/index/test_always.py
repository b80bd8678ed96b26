"""The always-list: who is on it, why, and what would take it off."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings

from index.always import Kind, Member, always_member
from index.oracle import match_subscription
from index.weighted_leaves import truth
from schemas.expression import Expression, In, Not, NotIn, Or
from schemas.filter_text import parse_filter
from schemas.records import Event, Subscription
from tests.strategies import rich_subscription


def judged(subscription: Subscription) -> Member | None:
    return always_member(subscription, truth(subscription))


@settings(max_examples=200)
@given(rich_subscription("s"))
def test_on_the_list_is_just_what_an_event_without_attributes_matches(subscription: Subscription) -> None:
    """There every predicate that wants a value is false and every negated one true."""
    empty = match_subscription(msgspec.structs.replace(subscription, not_before=None, not_after=None), Event({}))
    assert (judged(subscription) is not None) == (empty is not None)


@pytest.mark.parametrize(
    ("filter_", "kind", "said"),
    [
        ("a != 1", Kind.EXCLUSIONS, "values of a;"),
        ("not a > 1 and b not exists", Kind.EXCLUSIONS, "values of a, b;"),
        ("not lower(a) starts with 'x'", Kind.EXCLUSIONS, "values of a;"),
        ("a != 1 and b != 1 and c != 1 and d != 1", Kind.EXCLUSIONS, "values of a, b, c, …;"),
        ("a = 1 or b != 2", Kind.BRANCH, "values of b;"),
        ("a = 1 and (b = 1 or c != 1) or d != 4 and e not exists", Kind.BRANCH, "values of d, e;"),
        ("a != 1 and (b = 1 or c != 1)", Kind.BRANCH, "values of c;"),
        ("a = 1^2 or true", Kind.TRUE, "true for every event"),
        ("true", Kind.TRUE, "true for every event"),
    ],
)
def test_the_advice_names_what_only_excludes(filter_: str, kind: Kind, said: str) -> None:
    member = judged(Subscription("s", parse_filter(filter_)))
    assert member is not None
    assert (member.kind, said in member.advice) == (kind, True), member.advice


@pytest.mark.parametrize(
    "filter_", ["a = 1", "a = 1 and b != 2", "a strong != 1", "false", "a within (1)", "a > 1 or b exists"]
)
def test_one_predicate_that_wants_a_value_keeps_a_subscription_off_the_list(filter_: str) -> None:
    assert judged(Subscription("s", parse_filter(filter_))) is None


def test_two_thousand_levels_are_judged() -> None:
    expression: Expression = NotIn("a", (1,))
    for level in range(1_000):
        expression = Not(Not(Or((In("b", (level,)), expression))))
    member = judged(Subscription("s", expression))
    assert member is not None
    assert member.kind is Kind.BRANCH
