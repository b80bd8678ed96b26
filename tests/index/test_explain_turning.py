"""What turns an answer: the smallest sets of leaves, and of predicates wherever they stand, and no smaller ones do."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from index.explain.explanation import explain
from index.explain.outline import NEVER, outline
from index.explain.together import turning
from index.oracle import leaf_holds, matches, relaxed_score, threshold_shares
from schemas.expression import And, Exists, Expression, In, Not, NotExists, NotIn, Or
from schemas.filter_text import parse_filter
from schemas.records import Event, Subscription
from schemas.shares import share_wanted
from schemas.values import value_key
from tests.index.explained import explained, missing
from tests.strategies import events, expressions, rich_events, rich_subscription


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
