"""Explanations: they agree with the oracle, the terms make the score, and no smaller set of leaves turns the answer."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.explain.evidence import evidence
from index.explain.explanation import Explanation, explain, in_time
from index.explain.nearest import nearest
from index.explain.outline import NEVER, outline
from index.explain.plain import as_plain
from index.explain.together import turning
from index.oracle import leaf_holds, match_subscription, matches, relaxed_score, threshold_shares
from schemas.expression import And, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.filter_text import parse_filter
from schemas.records import Event, Subscription
from schemas.shares import share_wanted
from schemas.values import score_term, value_key
from tests.strategies import events, expressions, rich_events, rich_subscription, rich_subscriptions
from tests.strategies import subscription as valid_subscription

EVENT = Event({"a": (1,), "b": ("x", "y"), "text": ("A storm is coming",)}, {"b": (0.5, 2.0)}, time=1_000_000)


def explained(filter_: str, event: Event = EVENT, **members: Any) -> Explanation:
    return explain(Subscription("s", parse_filter(filter_), **members), event)


def missing(explanation: Explanation) -> list[str]:
    plain = as_plain(explanation)
    return [plain["nodes"][place]["filter"] for place in plain["missing"]]


def is_leaf(node: Expression) -> bool:
    return not isinstance(node, And | Or | Not)


def can_weigh(leaf: Any) -> bool:
    given = getattr(leaf, "weights", None) or [getattr(leaf, "weight", None)]
    return any(weight is None or weight != 0 for weight in given)


def with_truths(expression: Expression, truths: Iterator[bool]) -> Expression:
    """Return the tree with its leaves, in the order in which they are written, replaced by AND() and OR()."""
    match expression:
        case And(args):
            return And(tuple(with_truths(arg, truths) for arg in args))
        case Or(args):
            return Or(tuple(with_truths(arg, truths) for arg in args))
        case Not(arg):
            return Not(with_truths(arg, truths))
    return And(()) if next(truths) else Or(())


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


@settings(max_examples=200)
@given(expressions(max_leaves=6), events())
def test_the_smallest_set_turns_the_answer_and_no_smaller_set_does(expression: Expression, event: Event) -> None:
    tree = outline(expression, lambda leaf: leaf_holds(leaf, event))
    leaves = [place for place, node in enumerate(tree.nodes) if is_leaf(node)]
    if len(leaves) > 9:
        return

    def turned_by(chosen: tuple[int, ...]) -> bool:
        truths = iter([tree.holds[place] != (place in chosen) for place in leaves])
        return matches(with_truths(expression, truths), event) is not tree.holds[0]

    sizes = (size for size in range(len(leaves) + 1) if any(map(turned_by, combinations(leaves, size))))
    assert tree.flips[0] == next(sizes, NEVER)
    chosen = tree.smallest_set()
    assert turned_by(tuple(chosen)) == bool(chosen)
    assert len(chosen) == (0 if tree.flips[0] == NEVER else tree.flips[0])


@settings(max_examples=200)
@given(expressions(max_leaves=6), events())
def test_predicates_that_turn_together_turn_the_answer_and_no_fewer_do(expression: Expression, event: Event) -> None:
    tree = outline(expression, lambda leaf: leaf_holds(leaf, event))
    places = [place for place, node in enumerate(tree.nodes) if is_leaf(node)]
    positive = [_positive(tree.nodes[place]) for place in places]
    predicates = list(dict.fromkeys(positive))
    if len(places) > 9:
        return

    def turned_by(chosen: tuple[object, ...]) -> bool:
        truths = iter([tree.holds[at] != (what in chosen) for at, what in zip(places, positive, strict=True)])
        return matches(with_truths(expression, truths), event) is not tree.holds[0]

    found = turning(tree)
    sizes = (size for size in range(len(predicates) + 1) if any(map(turned_by, combinations(predicates, size))))
    assert found.fewest == next(sizes, NEVER)
    assert found.predicates == len(predicates)
    chosen = tuple(what for at, what in zip(places, positive, strict=True) if at in found.places)
    assert turned_by(chosen) == found.turns == bool(found.places)
    assert found.is_least


@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_of_many_predicates_that_stand_in_many_places_the_fewest_are_found(seed: int, width: int) -> None:
    rng, predicates = np.random.default_rng([seed, width]), 16
    clauses = [rng.choice(predicates, width, replace=False).tolist() for _ in range(30)]
    tree = And(tuple(Or(tuple(In("a", (p,)) for p in clause)) for clause in clauses))
    sets = np.arange(1 << predicates)
    turns = np.logical_and.reduce([sets & sum(1 << p for p in clause) != 0 for clause in clauses])
    fewest = int(np.bitwise_count(sets[turns]).min())

    found = turning(outline(tree, lambda leaf: False))

    assert (found.fewest, found.turns, found.is_least) == (fewest, True, True)
    marked = {tree_leaf.values[0] for tree_leaf in _leaves_at(tree, found.places)}
    assert len(marked) == fewest
    assert all(marked & set(clause) for clause in clauses)


def test_where_the_search_ends_early_a_set_that_turns_the_tree_is_told_and_that_fewer_may_do() -> None:
    rng = np.random.default_rng(5)
    clauses = [rng.choice(60, 3, replace=False).tolist() for _ in range(120)]
    tree = And(tuple(Or(tuple(In("a", (p,)) for p in clause)) for clause in clauses))

    found = turning(outline(tree, lambda leaf: False), 20_000)

    marked = {leaf.values[0] for leaf in _leaves_at(tree, found.places)}
    assert (found.turns, found.is_least) == (True, False)
    assert found.fewest == len(marked) < 40
    assert all(marked & set(clause) for clause in clauses)


def _leaves_at(tree: Expression, places: tuple[int, ...]) -> list[In]:
    nodes = outline(tree, lambda leaf: False).nodes
    return [node for place in places if isinstance(node := nodes[place], In)]


def _positive(leaf: Any) -> object:
    """Return what a leaf or its exact negation says."""
    if isinstance(leaf, NotIn) and leaf.strong:
        return _positive(Exists(leaf.attribute)), _positive(In(leaf.attribute, leaf.values))
    if isinstance(leaf, In | NotIn):
        return leaf.attribute, frozenset(map(value_key, leaf.values))
    if isinstance(leaf, Exists | NotExists):
        return leaf.attribute, "exists"
    return repr([getattr(leaf, name) for name in leaf.__struct_fields__ if not name.startswith("weight")])


@pytest.mark.parametrize(
    ("text", "away", "distance"),
    [
        ("a = 1 and (a = 1 and b = 2 or c = 1 and d = 2)", ["a = 1", "a = 1", "b = 2"], 2),
        ("a = 1 and a != 1", [], NEVER),
        ("(a = 1 or b = 1) and a != 1", ["b = 1"], 1),
        ("x = 1 and (x = 1 or b = 3)", ["x = 1", "x = 1"], 1),
        ("a = 1 and a strong != 1", ["a = 1", "a strong != 1"], 2),
        (
            # by one that is in most reasons after another: c, d, e
            "(d = 1 or a = 1) and (e = 1 or b = 1) and (c = 1 or a = 1) and (c = 1 or a = 1) and (c = 1 or b = 1) "
            "and (c = 1 or b = 1)",
            ["a = 1", "b = 1", "a = 1", "a = 1", "b = 1", "b = 1"],
            2,
        ),
        ("d exists and (d is null or b = 1)", ["d exists", "d not exists", "b = 1"], 2),
        ("a in (1, 2) and (a in (2.0, 1) or b = 3)", ["a in (1, 2)", "a in (2.0, 1)"], 1),
        ("a has 'x'^2 and (a has all ('x') or b = 3)", ["a has all ('x'^2)", "a has all ('x')"], 1),
        ("a strong != 1 and (a strong != 1 or b = 3)", ["a strong != 1", "a strong != 1"], 1),
    ],
)
def test_a_predicate_in_several_places_is_one(text: str, away: list[str], distance: float) -> None:
    explanation = explain(Subscription("s", parse_filter(text)), Event({}))
    assert (missing(explanation), explanation.distance) == (away, distance)


def test_where_the_search_ends_before_a_set_is_found_it_is_not_said_that_there_is_none() -> None:
    tree = outline(parse_filter("(a = 1 or b = 1) and a != 1"), lambda leaf: leaf_holds(leaf, Event({})))
    found = turning(tree, 1)
    assert (found.turns, found.is_least) == (False, False)
    assert found.places
    assert found.fewest < NEVER
    assert turning(tree).turns


@settings(max_examples=60)
@given(rich_subscription("s", max_leaves=5), rich_events())
def test_in_the_other_modes_too_no_smaller_set_turns_the_answer(subscription: Subscription, event: Event) -> None:
    if subscription.mode == "all":
        return
    explanation = explain(subscription, event)
    leaves = list(explanation.evidence)
    nodes: Any = explanation.tree.nodes
    predicates = list(dict.fromkeys(_positive(nodes[place]) for place in leaves))

    def turned_by(turned: tuple[object, ...]) -> bool:
        """A predicate that is turned contributes all that it can where it did not, and nothing where it did."""
        chosen = {place for place in leaves if _positive(nodes[place]) in turned}
        if subscription.threshold is None:
            held = [relaxed_score(nodes[place], event) is not None for place in leaves]
            can = [can_weigh(nodes[place]) for place in leaves]
            now = any(h != (p in chosen) and (h or c) for p, h, c in zip(leaves, held, can, strict=True))
        else:
            shares = [threshold_shares(nodes[place], event) for place in leaves]
            aim = [possible if not explanation.holds else 0 for _, possible in shares]
            met = [a if p in chosen else s for p, (s, _), a in zip(leaves, shares, aim, strict=True)]
            now = Fraction(sum(met), sum(p for _, p in shares)) >= share_wanted(subscription.threshold)
        return now is not explanation.holds

    sizes = (size for size in range(len(predicates) + 1) if any(map(turned_by, combinations(predicates, size))))
    assert explanation.turning.fewest == next(sizes, NEVER)
    assert explanation.turning.predicates == len(predicates)
    found = {_positive(nodes[place]) for place in explanation.turning.places}
    assert explanation.turning.places == tuple(place for place in leaves if _positive(nodes[place]) in found)
    assert turned_by(tuple(found)) == bool(found)


def test_in_the_other_modes_too_a_predicate_in_several_places_is_one() -> None:
    explanation = explained("a = 2 and a = 2 and c = 3", mode="threshold", threshold=0.6)
    assert (missing(explanation), explanation.distance) == (["a = 2", "a = 2"], 1)
    assert explanation.turning.predicates == 2
    explanation = explained("a > 2^2 and a > 2 and c = 3", mode="threshold", threshold=0.6)
    assert (missing(explanation), explanation.turning.predicates) == (["a > 2^2", "a > 2"], 2)


def test_a_share_that_is_just_the_threshold_is_enough() -> None:
    met = explained("a = 1 and c = 3", mode="threshold", threshold=0.5)
    assert (met.matches, met.turning.places) == (True, (1,))
    assert explained("a = 1 and b = 'x'", mode="threshold", threshold=0.5).turning.fewest == 2
    assert explained("a = 2 and c = 3", mode="threshold", threshold=0.5).distance == 1


def test_of_predicates_that_weigh_too_little_one_that_is_not_met_is_missing_first() -> None:
    assert missing(explained("a = 2^0 and a = 2", mode="relaxed")) == ["a = 2^0", "a = 2"]
    assert missing(explained("b in ('x'^0, 'z'^5) and c = 3", mode="relaxed")) == ["c = 3"]
    assert missing(explained("b in ('x'^0, 'z'^5) and c = 3^0", mode="relaxed")) == ["b in ('x'^0, 'z'^5)"]


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
