"""The workloads: what the records say is what their columns say, and their shapes are those that are claimed."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.workloads.ads import ATTRIBUTES, Ads
from benchmarks.workloads.dnf import Dnf, Leaves
from benchmarks.workloads.keywords import Queries
from benchmarks.workloads.mixed import Mixed
from benchmarks.workloads.ranges import Ranges
from benchmarks.workloads.registry import WORKLOADS, workload
from benchmarks.workloads.statistics import (
    matches_by_oracle,
    statistics,
    walk_leaves,
)
from benchmarks.workloads.trees import WITH_GROUP, WITH_PAIR, Forest, Trees
from benchmarks.workloads.uniform import SHAPES, Uniform
from index import oracle
from schemas.check import check_subscription
from schemas.expression import And, Expression, Keywords, Leaf, Not, Or
from schemas.records import Event, Subscription
from schemas.values import SCORE_SCALE

Truth = npt.NDArray[np.bool_]


def said(subscriptions: Sequence[Subscription], events: Sequence[Event]) -> list[list[int | None]]:
    """Return the oracle's points, events by subscriptions."""
    return [[oracle.match_subscription(s, event) for s in subscriptions] for event in events]


def answers(subscriptions: Sequence[Subscription], events: Sequence[Event]) -> Truth:
    return np.array([[points is not None for points in row] for row in said(subscriptions, events)])


def leaf_truth(leaves: Leaves, attribute: npt.NDArray[np.int64], value: npt.NDArray[np.int64]) -> Truth:
    """Return which leaves an event's columns meet; an attribute has one value at most."""
    given = dict(zip(attribute.tolist(), value.tolist(), strict=True))
    return np.array(
        [
            given.get(a, -1) in leaves.value[low:high].tolist()
            for a, (low, high) in zip(leaves.attribute.tolist(), pairwise(leaves.start.tolist()), strict=True)
        ]
    )


def dnf_points(leaves: Leaves, dnf: Dnf, met: Truth, weight: npt.NDArray[np.float64]) -> list[int | None]:
    """Return the points of each subscription: the best true conjunction's sum of w_E · w_S, from columns alone."""
    true = met[dnf.leaf] != dnf.negated
    ones = np.ones(len(dnf.leaf)) if dnf.weight is None else dnf.weight
    terms = np.rint(weight[leaves.attribute[dnf.leaf]] * ones * SCORE_SCALE).astype(np.int64)
    terms[dnf.negated] = 0
    whole = [bool(true[low:high].all()) for low, high in pairwise(dnf.conjunction_start.tolist())]
    sums = [int(terms[low:high].sum()) for low, high in pairwise(dnf.conjunction_start.tolist())]
    return [
        max((sums[c] for c in range(low, high) if whole[c]), default=None)
        for low, high in pairwise(dnf.subscription_start.tolist())
    ]


@pytest.mark.parametrize("weighting", [None, "uniform", "zipf"])
def test_ads_mean_what_their_columns_say(weighting: str | None) -> None:
    source = Ads(3, weighting)
    attribute, value = source.keys(20)
    leaves, dnf = source.catalogue.leaves, source.columns(400)
    events = source.events(20)
    names = source.catalogue.names
    expected = []
    for row, event in enumerate(events):
        weight = np.array([event.weights.get(name, (1.0,))[0] for name in names])
        expected.append(dnf_points(leaves, dnf, leaf_truth(leaves, attribute[row], value[row]), weight))
    assert said(source.subscriptions(400), events) == expected
    assert sum(points is not None for row in expected for points in row) > 20


@pytest.mark.parametrize("name", SHAPES)
def test_uniform_conjunctions_mean_what_their_columns_say(name: str) -> None:
    source = Uniform(name, 3)
    attribute, value = source.keys(20)
    leaves, dnf = source.columns(300)
    subscriptions, events = source.subscriptions(300), source.events(20)
    weight = np.ones(SHAPES[name].attributes)
    met = [leaf_truth(leaves, a, v) for a, v in zip(attribute, value, strict=True)]
    assert said(subscriptions, events) == [dnf_points(leaves, dnf, row, weight) for row in met]
    written = [leaf for s in subscriptions for leaf in in_order(s.expression)]
    truth = [[oracle.matches(leaf, event) for leaf in written] for event in events]
    assert truth == [(row != dnf.negated).tolist() for row in met]
    assert np.any(met)


def in_order(expression: Expression) -> list[Expression]:
    return list(expression.args) if isinstance(expression, And) else [expression]


@pytest.mark.parametrize("wide", [False, True])
def test_trees_mean_what_their_columns_say(wide: bool) -> None:
    source = Trees(3, wide)
    forest = source.columns(300)
    leaves = source.ads.catalogue.leaves
    attribute, value = source.ads.keys(40)
    met = [leaf_truth(leaves, a, v) for a, v in zip(attribute, value, strict=True)]
    expected = np.array([[tree_truth(forest, tree, row) for tree in range(300)] for row in met])
    found = answers(source.subscriptions(300), source.events(40))
    assert found.any()
    assert found.tolist() == expected.tolist()


def tree_truth(forest: Forest, tree: int, met: Truth) -> bool:
    month = forest.month[tree]
    if month >= 0 and not met[month]:
        return False
    for clause in range(forest.clauses[tree]):
        size = forest.leaves[tree, clause]
        literal = forest.literal[tree, clause, :size]
        true = met[literal >> 1] != (literal & 1)
        if forest.kind[tree, clause] == WITH_PAIR:
            holds = true[:-2].any() or true[-2:].all()
        elif forest.kind[tree, clause] == WITH_GROUP:
            holds = true[0] or (true[1] and true[2:].any())
        else:
            holds = true.any()
        if holds == forest.negated[tree, clause]:
            return False
    return True


def test_ranges_mean_what_their_columns_say_and_match_one_event_of_a_thousand() -> None:
    source = Ranges(3)
    attribute, low, high = source.columns(3000)
    values = source.values(100)
    seen = values[:, attribute]
    expected = np.all((low <= seen) & (seen <= high), axis=2)
    assert 0.0008 < expected.mean() < 0.0012
    assert answers(source.subscriptions(3000), source.events(5)).tolist() == expected[:5].tolist()
    assert expected[:5].any()
    assert all(len(set(row)) == 3 for row in attribute.tolist())


def test_keyword_queries_mean_what_their_columns_say_in_both_forms() -> None:
    source, words = Queries(3), Queries(3, words=True)
    term, taken = source.columns(300)
    asked = [set(row[mask].tolist()) for row, mask in zip(term, taken, strict=True)]
    expected = [[query <= set(terms) for query in asked] for terms in source.terms(30)]
    assert answers(source.subscriptions(300), source.events(30)).tolist() == expected
    assert answers(words.subscriptions(300), words.events(30)).tolist() == expected
    assert np.any(expected)
    assert all(isinstance(s.expression, Keywords) for s in words.subscriptions(10))


def test_terms_of_news_are_as_frequent_as_was_published_and_an_event_has_33() -> None:
    source = Queries(3, drawn="news")
    term, taken = source.columns(1_000_000)
    assert taken.sum() == pytest.approx(2_200_000, rel=0.02)
    count = np.bincount(term[taken])
    assert count[0] == pytest.approx(13_809, rel=0.1)
    assert count[9] == pytest.approx(6_047, rel=0.1)
    assert count[990:1010].mean() == pytest.approx(496.7, rel=0.1)
    assert count[9_000:11_000].mean() == pytest.approx(25.1, rel=0.15)
    assert np.mean([len(terms) for terms in source.terms(2_000)]) == pytest.approx(33, abs=0.5)


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_same_seed_gives_the_same_records_and_subscriptions_are_allowed(name: str) -> None:
    first, second = workload(name, 5), workload(name, 5)
    subscriptions = first.subscriptions(200)
    assert subscriptions == second.subscriptions(200)
    assert subscriptions != workload(name, 6).subscriptions(200)
    assert pickle.dumps(first.events(10)) == pickle.dumps(second.events(10))
    assert [s.id for s in subscriptions] == sorted({s.id for s in subscriptions})
    for subscription in subscriptions:
        check_subscription(subscription)


def test_equal_leaves_of_ads_are_one_object() -> None:
    leaves = [leaf for s in Ads().subscriptions(2000) for leaf in walk_leaves(s.expression)]
    assert len({id(leaf) for leaf in leaves}) == len(set(leaves)) < len(leaves) / 2


def test_flights_have_what_lifts_scores_over_bounds() -> None:
    events = workload("flights").events(500)
    tags = np.array([len(event.attributes.get("tags", ())) for event in events])
    assert 0.2 < np.mean(tags > 1) < 0.5
    assert 0.03 < np.mean([max(event.weights.get("tags", (0.0,))) > 1 for event in events]) < 0.2


def test_an_unknown_workload_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no workload 'adds'; there are ads, "):
        workload("adds")


SHAPE = {
    "ads": (1.6, 3.65, 92, 5600),
    "ads-uniform": (1.6, 3.65, 92, 5600),
    "w1": (1, 2, 13, 88_000),
    "w2": (1, 3, 20, 50_000),
    "w3": (1, 4, 30, 3),
    "trees": (1, 9.6, 92, 5000),
    "trees-wide": (1, 8.6, 92, 56_000),
    "ranges": (1, 3, 10, 1000),
    "keywords": (1, 2.2, 33, 67_000),
    "flights": (1, 3.2, 43.4, 14_000),
}
"""Conjunctions a subscription, predicates a conjunction, keys an event, matches an event at a million."""


@pytest.mark.parametrize("name", SHAPE)
def test_workloads_have_the_shape_that_the_benchmark_claims(name: str) -> None:
    source = workload(name)
    subscriptions, events = source.subscriptions(30_000), source.events(128)
    found = statistics(subscriptions, events, matches_by_oracle(subscriptions, events, 50_000))
    conjunctions, predicates, keys, matches = SHAPE[name]
    assert found.conjunctions == pytest.approx(conjunctions, rel=0.05)
    assert found.predicates == pytest.approx(predicates, rel=0.02)
    assert found.keys == pytest.approx(keys, rel=0.02)
    assert found.matches * 1e6 / 30_000 == pytest.approx(matches, rel=0.25, abs=20)


def test_trees_have_six_to_twelve_leaves_and_are_three_or_four_levels_deep() -> None:
    subscriptions = Trees(wide=True).subscriptions(2000)
    leaves = [sum(1 for _ in walk_leaves(s.expression)) for s in subscriptions]
    assert (min(leaves), max(leaves)) == (6, 12)
    depths = np.bincount([depth(s.expression) for s in subscriptions])
    assert depths[3:5].sum() > 0.6 * len(subscriptions)
    assert any(isinstance(node, Not) for s in subscriptions for node in in_order(s.expression))


def depth(expression: Expression) -> int:
    """Return the levels of AND, OR and leaves."""
    if isinstance(expression, And | Or):
        return 1 + max(depth(arg) for arg in expression.args)
    return depth(expression.arg) if isinstance(expression, Not) else 1


def test_mixed_has_every_leaf_and_mode_and_matches_now_and_then() -> None:
    source = Mixed()
    subscriptions, events = source.subscriptions(1000), source.events(100)
    kinds = {type(leaf) for s in subscriptions for leaf in walk_leaves(s.expression)}
    assert kinds == set(Leaf.__args__)
    assert {s.mode for s in subscriptions} == {"all", "relaxed", "threshold"}
    assert 0.1 < matches_by_oracle(subscriptions, events, 2000) / len(subscriptions) < 0.9


def test_the_ads_catalogue_covers_all_attributes() -> None:
    stock = Ads().catalogue
    assert len(stock.names) == ATTRIBUTES + 1 == len(set(stock.leaves.attribute.tolist()))
