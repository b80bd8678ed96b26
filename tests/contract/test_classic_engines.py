"""The engines from the literature beyond the contract: what they take, what they skip, what they refuse and how."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import product
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.classic import clauses
from index.classic.counting import Counting
from index.classic.kindex_cnf import KIndexCnf
from index.classic.kindex_dnf import KIndexDnf
from index.classic.propagation import Propagation, PropagationMatcher
from index.engine import SelectiveEngine
from index.engines import ENGINES, engine_named
from index.event_block import EventBlock
from schemas.errors import Refused, TocsinError
from schemas.expression import And, Contains, Expression, In, Not, NotIn, Or
from schemas.json_codec import decode_subscription
from schemas.records import Event, Subscription
from stream.settings_tables import Engine as EngineName
from tests import strategies as drawn
from tests.contract.support import (
    CASES,
    agree,
    classic_engine,
    dense_cnf,
    dense_dnf,
    dense_event,
    dense_population,
    dense_tree,
    examples,
    expected,
    expressible,
    rows,
)

__all__ = ["classic_engine"]


@pytest.mark.parametrize("seed", range(2))
def test_every_engine_but_that_of_cnfs_takes_any_dnf(classic_engine: SelectiveEngine, seed: int) -> None:
    rng = random.Random(seed)
    population = dense_population(rng, dense_dnf, 120)
    taken = expressible(classic_engine, population)
    assert taken == population or isinstance(classic_engine, KIndexCnf)
    agree(classic_engine, taken, [dense_event(rng) for _ in range(40)])


@pytest.mark.parametrize("seed", range(2))
def test_every_engine_takes_any_cnf(classic_engine: SelectiveEngine, seed: int) -> None:
    rng = random.Random(seed)
    population = dense_population(rng, dense_cnf, 120)
    assert expressible(classic_engine, population) == population
    agree(classic_engine, population, [dense_event(rng) for _ in range(40)])


@pytest.mark.parametrize("seed", range(2))
def test_every_engine_but_that_of_cnfs_takes_any_tree_of_a_modest_size(
    classic_engine: SelectiveEngine, seed: int
) -> None:
    """That one takes those it can without changing a score."""
    rng = random.Random(seed)
    population = dense_population(rng, dense_tree, 100)
    taken = expressible(classic_engine, population)
    assert len(taken) >= (40 if isinstance(classic_engine, KIndexCnf) else 100)
    agree(classic_engine, taken, [dense_event(rng) for _ in range(40)])


@examples
@given(population=drawn.rich_subscriptions(max_size=10), happened=st.lists(drawn.rich_events(), max_size=5))
def test_leaves_that_reach_the_engines_as_lists_and_ranges_answer_as_the_oracle(
    classic_engine: SelectiveEngine, population: list[Subscription], happened: list[Event]
) -> None:
    agree(classic_engine, expressible(classic_engine, population), happened)


def test_hypothesis_draws_are_mostly_expressible(classic_engine: SelectiveEngine) -> None:
    """So the laws of the contract test something."""
    counts = {"taken": 0, "all": 0}

    @settings(max_examples=12, deadline=None, database=None, derandomize=True)
    @given(population=drawn.subscriptions(min_size=1, max_size=10, max_leaves=6))
    def count(population: list[Subscription]) -> None:
        counts["taken"] += len(expressible(classic_engine, population))
        counts["all"] += len(population)

    count()
    assert counts["taken"] >= counts["all"] * 0.4


def test_most_of_the_matching_cases_are_expressible(classic_engine: SelectiveEngine) -> None:
    bodies = [
        decode_subscription(id_, json.dumps(body).encode())
        for case in CASES["matching"]
        for id_, body in case["subscriptions"].items()
        if id_ not in case.get("refused", [])
    ]
    assert len(expressible(classic_engine, bodies)) >= 0.75 * len(bodies)


PRUNED: dict[str, tuple[Callable[[bool], KIndexDnf | KIndexCnf], Callable[[random.Random], Expression]]] = {
    "kindex-dnf": (KIndexDnf, dense_dnf),
    "kindex-cnf": (KIndexCnf, dense_cnf),
}


@pytest.mark.parametrize("name", PRUNED)
@pytest.mark.parametrize("seed", range(2))
def test_pruning_skips_much_and_changes_no_answer_ties_included(name: str, seed: int) -> None:
    """Weights and priorities are few, so that there are many ties at the threshold."""
    make, expression = PRUNED[name]
    rng = random.Random(seed)
    population = dense_population(rng, expression, 400)
    happened = [dense_event(rng, (1, 2, 5, 10)) for _ in range(60)]
    pruned, unpruned = make(True).open(make(True).build(population)), make(False).open(make(False).build(population))
    block = EventBlock.from_events(happened)
    assert rows(pruned, block) == rows(unpruned, block) == expected(population, happened)
    assert pruned.counters.candidates < unpruned.counters.candidates
    assert pruned.counters.skipped_by_list > 100
    assert unpruned.counters[3:] == (0, 0)
    if name == "kindex-dnf":
        assert pruned.counters.skipped_sizes > 20


def test_without_a_top_nothing_is_pruned() -> None:
    rng = random.Random(1)
    matcher = agree(KIndexDnf(), dense_population(rng, dense_dnf, 50), [dense_event(rng, (None,)) for _ in range(20)])
    assert isinstance(matcher.counters.candidates, int)  # type: ignore[attr-defined]
    assert matcher.counters[3:] == (0, 0)  # type: ignore[attr-defined]


def test_a_sample_of_events_chooses_other_clusters_and_the_same_answers() -> None:
    rng = random.Random(2)
    population, happened = dense_population(rng, dense_dnf, 80), [dense_event(rng) for _ in range(40)]
    sampled = Propagation(EventBlock.from_events(happened))
    agree(sampled, population, happened)
    names = ("cluster_start", "pointer")
    mine, other = sampled.build(population), Propagation().build(population)
    assert any(mine[name].tobytes() != other[name].tobytes() for name in names)


def test_the_access_predicates_are_the_cheapest_choice_there_is() -> None:
    """Least is verified, of all choices, when each conjunction hangs on the literal that holds in the fewest events."""
    rng = random.Random(4)
    population = [Subscription(f"{i}", And(tuple(In(n, (rng.randrange(3),)) for n in "pqr"))) for i in range(6)]
    happened = [dense_event(rng, (None,)) for _ in range(200)]
    engine = Propagation(EventBlock.from_events(happened))
    matcher = engine.open(engine.build(population))
    matcher.match(EventBlock.from_events(happened))

    def holds(leaf: In, event: Event) -> bool:
        return leaf.values[0] in event.attributes.get(str(leaf.attribute), ())

    costs: list[list[int]] = []
    for subscription in population:
        assert isinstance(subscription.expression, And)
        leaves = [leaf for leaf in subscription.expression.args if isinstance(leaf, In)]
        costs.append([sum(holds(leaf, event) for event in happened) for leaf in leaves])
    assert isinstance(matcher, PropagationMatcher)
    assert matcher.counters.candidates == min(sum(choice) for choice in product(*costs))


def test_counters_tell_what_was_read(classic_engine: SelectiveEngine) -> None:
    """Every engine verifies something, and reads no more than there is in the events' lists."""
    rng = random.Random(6)
    population = dense_population(rng, dense_cnf, 60)
    matcher = agree(classic_engine, population, [dense_event(rng) for _ in range(20)])
    counters = matcher.counters  # type: ignore[attr-defined]
    assert 0 <= counters.read <= counters.entries
    assert counters.candidates > 0
    assert counters.entries > 0 or classic_engine.name in ("scan", "tree-scan")


def test_identical_conjunctions_are_indexed_once() -> None:
    same = And((In("a", (1, 2)), NotIn("b", (3,))))
    population = [Subscription(f"{i}", Or((same, In("c", (i,))))) for i in range(8)]
    parts = KIndexDnf().build(population)
    assert len(parts["size"]) == 9
    assert len(parts["owner"]) == 16


def test_what_no_set_of_keys_stands_for_is_refused_with_an_engine_that_takes_it(
    classic_engine: SelectiveEngine,
) -> None:
    with pytest.raises(Refused, match=r"contains of attribute 'a'.*cannot express; the engine 'block'") as refused:
        classic_engine.check(Subscription("s", And((In("b", (1,)), Contains("a", "x")))))
    assert refused.value.code == "engine.unsupported"
    with pytest.raises(Refused, match=r"mode 'relaxed'"):
        classic_engine.check(Subscription("s", In("a", (1,)), mode="relaxed"))


def test_what_grows_too_large_is_refused_before_it_grows() -> None:
    many = And(tuple(Or(tuple(In(f"a{i}", (j,)) for j in range(4))) for i in range(20)))
    for engine in (Counting(), KIndexDnf(), Propagation()):
        with pytest.raises(Refused, match=f"more than {clauses.CLAUSES:,} conjunctions.*engine 'scan'"):
            engine.check(Subscription("s", many))
    opposite = Not(And(tuple(Or(tuple(Not(In(f"a{i}", (j,))) for j in range(4))) for i in range(20))))
    with pytest.raises(Refused, match=r"more than 4,096 disjunctions.*engine 'scan'"):
        KIndexCnf().check(Subscription("s", opposite))


def test_an_or_over_ands_that_score_is_no_cnf() -> None:
    with pytest.raises(Refused, match=r"an OR over an AND whose leaves score.*engine 'kindex-dnf'"):
        KIndexCnf().check(Subscription("s", Or((And((In("a", (1,)), In("b", (1,)))), In("c", (1,))))))


def test_every_engine_has_its_name_and_says_what_it_takes() -> None:
    """The settings know the same names; all but the block engine may refuse, and so must offer a check."""
    assert set(get_args(EngineName)) == set(ENGINES)
    for name in ENGINES:
        assert engine_named(name).name == name
        assert isinstance(engine_named(name), SelectiveEngine) == (name != "block")
    with pytest.raises(TocsinError, match=r"there is no engine 'x'; there are block, conjunction-scan, counting"):
        engine_named("x")
