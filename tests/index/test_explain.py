"""Explanations: they agree with the oracle, the terms make the score, and the nearest are told."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.explain.evidence import evidence
from index.explain.explanation import explain, in_time
from index.explain.nearest import nearest
from index.explain.outline import NEVER
from index.explain.plain import as_plain
from index.oracle import match_subscription, matches
from schemas.expression import And, Exists, Expression, In, Not, NotIn, Or, Range
from schemas.records import Event, Subscription
from schemas.values import score_term
from tests.index.explained import EVENT, explained, missing
from tests.strategies import events, rich_events, rich_subscription, rich_subscriptions
from tests.strategies import subscription as valid_subscription


@settings(max_examples=60)
@given(rich_subscription("s"), rich_events())
def test_an_explanation_gives_the_oracles_answer_score_and_truth_of_each_node(
    subscription: Subscription, event: Event
) -> None:
    explanation = explain(subscription, event)
    assert explanation.points == match_subscription(subscription, event)
    tree = explanation.tree
    assert tree.holds == [matches(node, event) for node in tree.nodes]
    assert (explanation.distance == 0) == explanation.matches


@settings(max_examples=60)
@given(rich_subscription("s"), rich_events())
def test_the_terms_of_the_leaves_that_count_sum_to_the_score(subscription: Subscription, event: Event) -> None:
    explanation = explain(subscription, event)
    if explanation.points is None:
        return
    if explanation.scores is not None:
        counting = [place for place, counts in enumerate(explanation.scores.counts) if counts]
        total = sum(term.points for place in counting for term in explanation.terms.get(place, ()))
    else:
        assert explanation.weighing is not None
        assert explanation.weighing.total is not None
        total = explanation.weighing.total
        if subscription.mode == "relaxed":
            assert total == sum(points or 0 for points in explanation.weighing.points.values())
    assert total + explanation.priority == explanation.points


@settings(max_examples=60)
@given(rich_subscriptions(min_size=1), rich_events(), st.integers(1, 4))
def test_the_nearest_are_those_that_the_fewest_leaves_kept_away(
    subscriptions: list[Subscription], event: Event, limit: int
) -> None:
    found = nearest(subscriptions, event, limit)
    explanations = [explain(subscription, event) for subscription in subscriptions]
    assert found.scanned == len(subscriptions)
    assert found.matching == sorted(e.subscription.id for e in explanations if e.matches)
    near = sorted((e.distance, -len(e.evidence), e.subscription.id) for e in explanations if 0 < e.distance < NEVER)
    assert [s.id for s in found.near] == [id_ for _, _, id_ in near[:limit]]


def test_a_list_of_1_and_one_of_true_are_not_mixed_up_in_a_scan() -> None:
    subscriptions = [Subscription("number", In("a", (1,))), Subscription("truth", In("a", (True,)))]
    assert nearest(subscriptions, EVENT, 1).matching == ["number"]
    assert nearest(subscriptions[::-1], EVENT, 1).matching == ["number"]


def test_what_is_missing_is_the_cheapest_way_to_a_match() -> None:
    explanation = explained("a = 2 and (b = 'z' and c = 3 or d exists and not b = 'x' or not a = 1)")
    assert missing(explanation) == ["a = 2", "a = 1"]
    assert explanation.distance == 2


def test_the_strong_form_of_an_inequality_is_not_what_the_equality_denies() -> None:
    explanation = explained("not (a = 1 or a strong != 1)")
    assert (missing(explanation), explanation.distance) == (["a = 1"], 1)
    assert nearest([explanation.subscription], EVENT, 3).near == [explanation.subscription]
    assert explained("not (a = 1 or a strong != 1)", Event({})).matches


def test_a_tree_that_is_false_whatever_its_leaves_are_is_never_near() -> None:
    explanation = explained("a = 1 and false")
    assert explanation.missing == ()
    assert math.isinf(explanation.distance)
    assert as_plain(explanation)["distance"] is None
    assert nearest([explanation.subscription], EVENT, 3).near == []


def test_the_branch_of_an_or_that_gives_the_most_counts_and_of_equal_ones_the_first() -> None:
    explanation = explained("b = 'x'^2 or b = 'y'^3 or b = 'y'^3 or b = 'z'^9", priority=1.5)
    assert explanation.scores is not None
    assert explanation.scores.counts == [True, False, True, False, False]
    assert as_plain(explanation)["score"] == 7.5
    (term,) = explanation.terms[2]
    assert (term.value, term.event_weight, term.weight) == ("y", 2.0, 3.0)
    explanation = explained("a = 1 and b = 'x' or b = 'y'^3")
    assert explanation.scores is not None
    assert explanation.scores.counts == [True, False, False, False, True]
    explanation = explained("b = 'y'^-3 or b = 'x'^-2 or b = 'y'^-1")
    assert explanation.scores is not None
    assert (explanation.scores.points[0], explanation.scores.counts) == (
        score_term(0.5, -2.0),
        [True, False, True, False],
    )


def test_nothing_under_a_not_counts() -> None:
    explanation = explained("a = 1^4 and not not b = 'x'^9")
    assert as_plain(explanation)["score"] == 4.0
    assert [node["score"] for node in as_plain(explanation)["nodes"]] == [4.0, 4.0, 0.0, None, None]
    explanation = explained("not (b = 'x'^9 and a = 2)")
    assert [node["score"] for node in as_plain(explanation)["nodes"]] == [0.0, None, None, None]


def test_an_event_out_of_the_validity_is_one_step_away_and_its_leaves_are_not_blamed() -> None:
    explanation = explained("a = 1", not_before=2_000_000)
    assert (explanation.matches, explanation.holds, explanation.in_time) == (False, True, False)
    assert (explanation.missing, explanation.distance) == ((), 1)
    assert explained("a = 2", not_after=5).distance == 2


@pytest.mark.parametrize("mode", [{}, {"mode": "relaxed"}, {"mode": "threshold", "threshold": 1.0}])
def test_a_scan_counts_the_validity_as_one_step_in_every_mode(mode: dict[str, Any]) -> None:
    late = explained("a = 1", not_before=2_000_000, **mode)
    far = msgspec.structs.replace(late.subscription, id="far", expression=In("a", (2,)))
    found = nearest([far, late.subscription], EVENT, 2)
    assert (found.matching, found.near) == ([], [late.subscription, far])
    assert explain(far, EVENT).distance == 2


@given(valid_subscription("s", max_leaves=1), events())
def test_validity_is_judged_as_the_oracle_does(subscription: Subscription, event: Event) -> None:
    always_true = msgspec.structs.replace(subscription, expression=And(()))
    assert in_time(subscription, event) == (match_subscription(always_true, event) is not None)


def test_a_threshold_names_the_heaviest_leaves_that_reach_it() -> None:
    weighted = "a = 1^3 and c exists^1 and d exists^2 and e exists^4"
    explanation = explained(weighted, mode="threshold", threshold=0.65)
    assert missing(explanation) == ["e exists^4"]
    plain = as_plain(explanation)
    assert (plain["share"], plain["threshold"]) == (0.3, 0.65)
    assert missing(explained(weighted, mode="threshold", threshold=0.85)) == ["d exists^2", "e exists^4"]


def test_relaxed_wants_one_leaf_that_has_a_weight() -> None:
    assert missing(explained("c exists^0 or d exists or e exists", mode="relaxed")) == ["d exists"]


def test_two_thousand_levels_are_explained() -> None:
    expression: Expression = In("a", (2,))
    for level in range(1_000):
        expression = Not(Or((expression, Range("a", gt=level)))) if level % 2 else And((Exists("a"), expression))
    subscription = Subscription("deep", expression)
    explanation = explain(subscription, EVENT)
    assert explanation.points == match_subscription(subscription, EVENT)
    assert len(msgspec.json.decode(msgspec.json.encode(as_plain(explanation)))["nodes"]) == len(explanation.tree.nodes)
    assert nearest([subscription], EVENT, 1).scanned == 1


@pytest.mark.parametrize(
    ("filter_", "seen"),
    [
        ("b in ('y', 'z')", {"met": ["y"]}),
        ("b not in ('y', 'z')", {"against": ["y"]}),
        ("a > 0", {"met": [1]}),
        ("a > 1", {"values": [1]}),
        ("gone > 1", {"values": []}),
        ("b exists", {"met": ["x", "y"]}),
        ("b not exists", {"against": ["x", "y"]}),
        ("b contains all ('x', 'z')", {"met": ["x"], "lacking": ["z"]}),
        ("b within ('x', 'z')", {"met": ["x"], "against": ["y"]}),
        ("b equals ('x', 'z')", {"met": ["x"], "against": ["y"], "lacking": ["z"]}),
        ("b starts with 'x'", {"met": ["x"]}),
        ("b matches '[y]'", {"met": ["y"]}),
        ("length(b) = 1", {"values": [1], "met": [1]}),
        ("text has all ('storm', 'hail')", {"met": ["storm"], "lacking": ["hail"]}),
        ("text has any ('storm', 'hail')", {"met": ["storm"], "lacking": []}),
    ],
)
def test_a_leaf_shows_what_it_saw(filter_: str, seen: dict[str, Any]) -> None:
    (leaf,) = as_plain(explained(filter_))["nodes"]
    assert {name: leaf[name] for name in seen} == seen


@settings(max_examples=60)
@given(rich_subscription("s"), rich_events())
def test_evidence_says_the_same_as_the_truth_of_a_leaf(subscription: Subscription, event: Event) -> None:
    explanation = explain(subscription, event)
    for place, found in explanation.evidence.items():
        leaf: Any = explanation.tree.nodes[place]
        if isinstance(leaf, NotIn):
            holds = not found.against and (bool(found.values) or not leaf.strong)
        elif leaf.__struct_config__.tag == "not_exists":
            holds = not found.against
        else:
            holds = bool(found.met) and not found.against and not found.missing
        assert holds == explanation.tree.holds[place]


@settings(max_examples=60)
@given(rich_subscription("s"), rich_events(finite=True))
def test_an_explanation_is_json(subscription: Subscription, event: Event) -> None:
    plain = as_plain(explain(subscription, event))
    assert json.loads(msgspec.json.encode(plain))["matches"] is plain["matches"]


def test_as_data_each_node_says_what_it_takes_to_turn_it_and_what_it_adds() -> None:
    plain = as_plain(explained("a = 2 and c = 3 and b = 'x'"))
    assert (plain["missing"], [node["flips"] for node in plain["nodes"]]) == ([1, 2], [2, 1, 1, 1])
    assert as_plain(explained("a = 1"))["missing"] == []
    for mode in ({"mode": "relaxed"}, {"mode": "threshold", "threshold": 0.5}):
        nodes = as_plain(explained("a = 1^2 and c = 3", **mode))["nodes"]
        assert [(node["score"], node["counts"]) for node in nodes[1:]] == [(2.0, True), (None, False)]


def test_evidence_of_many_values_is_whole() -> None:
    values = tuple(range(5_000))
    assert evidence(Range("a", ge=4_000), Event({"a": values})).met == values[4_000:]
