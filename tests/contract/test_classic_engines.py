"""The contract of `index.engine` for the engines from the literature, over what each of them can express.

Subscriptions that an engine refuses are left out, and counted: an engine that refused what it is for would fail.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.array_file import open_arrays, write_arrays
from index.classic import conjunctions
from index.classic.counting import Counting
from index.classic.dewey import Dewey
from index.classic.interval import Interval
from index.classic.kindex_cnf import KIndexCnf
from index.classic.kindex_dnf import KIndexDnf
from index.classic.propagation import Propagation
from index.classic.pscan import PScan
from index.classic.scan import Scan
from index.classic.tree_conjunction_scan import ConjunctionScan
from index.classic.tree_expansion import DnfExpansion
from index.classic.tree_scan import TreeScan
from index.engine import Engine, Matcher, SelectiveEngine
from index.engines import ENGINES, engine_named
from index.event_block import EventBlock
from index.oracle import match_subscription
from schemas.errors import Refused, TocsinError
from schemas.expression import And, Contains, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.json_codec import decode_subscription
from schemas.json_event import decode_event
from schemas.records import Event, Subscription
from schemas.values import SCORE_SCALE, Value
from stream.settings_tables import Engine as EngineName
from tests import strategies as drawn
from tests.strategies import NOT_FINITE, NUMBERS, STRINGS

Make = Callable[[], SelectiveEngine]

DNF: dict[str, Make] = {
    "counting": Counting,
    "counting, enumeration": lambda: Counting("enumeration"),
    "kindex-dnf": KIndexDnf,
    "kindex-dnf, enumeration": lambda: KIndexDnf(ranges="enumeration"),
    "propagation": Propagation,
    "dnf-expansion": DnfExpansion,
}
TREES: dict[str, Make] = {
    "scan": Scan,
    "pscan": PScan,
    "dewey": Dewey,
    "interval": Interval,
    "tree-scan": TreeScan,
    "conjunction-scan": ConjunctionScan,
}
CNF: dict[str, Make] = {"kindex-cnf": KIndexCnf, "kindex-cnf, enumeration": lambda: KIndexCnf(ranges="enumeration")}
WHOLE: dict[str, Make] = {**DNF, **TREES}
"""Those that take any tree of a modest size."""
ALL: dict[str, Make] = {**WHOLE, **CNF}

CASES: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parents[1] / "data" / "cases.json").read_text())

examples = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)

Row = tuple[int, int, int]
"""event, ordinal, points."""

WEIGHTS = (-2.0, -0.5, 0.0, 0.25, 1.0, 3.0)


@pytest.fixture(params=ALL)
def engine(request: pytest.FixtureRequest) -> SelectiveEngine:
    return ALL[request.param]()


@pytest.fixture(params=WHOLE)
def whole(request: pytest.FixtureRequest) -> SelectiveEngine:
    """An engine that takes any tree of a modest size."""
    return WHOLE[request.param]()


def rows(matcher: Matcher, block: EventBlock, dead: Iterable[int] = ()) -> list[Row]:
    gone = np.array(sorted(dead), np.uint32)
    found = matcher.match(block, gone if len(gone) else None)
    assert [column.dtype for column in found] == [np.int32, np.int32, np.int64]
    return list(zip(*(column.tolist() for column in found), strict=True))


def expected(population: Sequence[Subscription], happened: Sequence[Event], dead: Iterable[int] = ()) -> list[Row]:
    """Return what the oracle says, each event's first ``top``."""
    gone = set(dead)
    answer: list[Row] = []
    for e, event in enumerate(happened):
        scored = [(match_subscription(s, event), o) for o, s in enumerate(population) if o not in gone]
        found = sorted((-points, ordinal) for points, ordinal in scored if points is not None)
        answer += [(e, ordinal, -negated) for negated, ordinal in found[: event.top]]
    return answer


def expressible(engine: SelectiveEngine, population: Sequence[Subscription]) -> list[Subscription]:
    """Return the subscriptions that the engine takes; check and build must agree on each of the others."""
    taken = []
    for subscription in population:
        try:
            engine.check(subscription)
        except Refused:
            with pytest.raises(Refused, match=r"cannot express") as refused:
                engine.build([subscription])
            assert refused.value.code == "engine.unsupported"
            assert repr(subscription.id) in str(refused.value)
        else:
            taken.append(subscription)
    return taken


def agree(engine: Engine, population: Sequence[Subscription], happened: Sequence[Event]) -> Matcher:
    matcher = engine.open(engine.build(population))
    assert rows(matcher, EventBlock.from_events(happened)) == expected(population, happened)
    return matcher


def leaf(rng: random.Random) -> Expression:
    name, values = rng.choice("pqrst"), tuple(rng.sample(range(7), rng.choice((1, 1, 2, 3, 6))))
    match rng.randrange(7):
        case 0:
            return NotIn(name, values, rng.random() < 0.5)
        case 1:
            return Range(name, ge=min(values), lt=max(values) + 1)
        case 2:
            return rng.choice((Exists(name), NotExists(name), Not(Range(name, gt=3))))
        case 3:
            return In(name, values)
    return In(name, values, tuple(rng.choice(WEIGHTS) for _ in values))


def group(
    rng: random.Random, connective: type[And] | type[Or], make: Callable[[random.Random], Expression]
) -> And | Or:
    args = tuple(make(rng) for _ in range(rng.choice((1, 2, 2, 3, 4))))
    return And(args) if connective is And else Or(args)


def tree(rng: random.Random, depth: int = 3) -> Expression:
    if depth == 0 or rng.random() < 0.15:
        return leaf(rng)
    if rng.random() < 0.1:
        return Not(tree(rng, depth - 1))
    return group(rng, rng.choice((And, Or)), lambda rng: tree(rng, depth - 1))


def dnf(rng: random.Random) -> Expression:
    return group(rng, Or, lambda rng: group(rng, And, leaf))


def cnf(rng: random.Random) -> Expression:
    return group(rng, And, lambda rng: group(rng, Or, leaf))


def drawn_population(rng: random.Random, make: Callable[[random.Random], Expression], size: int) -> list[Subscription]:
    def one(i: int) -> Subscription:
        priority = rng.choice((0.0, 0.0, 0.5, -1.0))
        return Subscription(f"{i:04d}", make(rng), priority, not_before=rng.choice((None, None, None, 5)))

    return [one(i) for i in range(size)]


def event(rng: random.Random, top: tuple[int | None, ...] = (None, 1, 3, 9)) -> Event:
    held: dict[str, tuple[Value, ...]]
    held = {name: tuple(rng.sample(range(7), rng.choice((1, 1, 2, 4)))) for name in "pqrst" if rng.random() < 0.8}
    weighted = {name: tuple(rng.choice((-1.0, 0.0, 0.5, 2.0)) for _ in values) for name, values in held.items()}
    return Event(held, weighted if rng.random() < 0.5 else {}, rng.choice(top), rng.choice((None, 4, 5)))


@pytest.mark.parametrize("seed", range(2))
def test_disjunctive_normal_forms_answer_as_the_oracle(whole: SelectiveEngine, seed: int) -> None:
    rng = random.Random(seed)
    population = drawn_population(rng, dnf, 120)
    assert expressible(whole, population) == population
    agree(whole, population, [event(rng) for _ in range(40)])


@pytest.mark.parametrize("seed", range(2))
def test_conjunctive_normal_forms_answer_as_the_oracle(engine: SelectiveEngine, seed: int) -> None:
    rng = random.Random(seed)
    population = drawn_population(rng, cnf, 120)
    assert expressible(engine, population) == population
    agree(engine, population, [event(rng) for _ in range(40)])


@pytest.mark.parametrize("seed", range(2))
def test_bushy_trees_answer_as_the_oracle(engine: SelectiveEngine, seed: int) -> None:
    """All engines but kindex-cnf take them all; that one takes those it can without changing a score."""
    rng = random.Random(seed)
    population = drawn_population(rng, tree, 100)
    taken = expressible(engine, population)
    assert len(taken) >= (40 if engine.name == "kindex-cnf" else 100)
    agree(engine, taken, [event(rng) for _ in range(40)])


@examples
@given(population=drawn.subscriptions(max_size=10), happened=st.lists(drawn.events(), max_size=6), data=st.data())
def test_whatever_is_drawn_answers_as_the_oracle(
    engine: SelectiveEngine, population: list[Subscription], happened: list[Event], data: st.DataObject
) -> None:
    """The dead are left out, a matcher remembers nothing, and a file's maps answer as the arrays that were built."""
    taken = expressible(engine, population)
    matcher = agree(engine, taken, happened)
    block = EventBlock.from_events(happened)
    dead = data.draw(st.sets(st.sampled_from(range(len(taken))))) if taken else set()
    assert rows(matcher, block, dead) == expected(taken, happened, dead)
    assert rows(matcher, block) == expected(taken, happened)


def test_hypothesis_draws_are_mostly_expressible(engine: SelectiveEngine) -> None:
    """So the test above tests something."""
    counts = {"taken": 0, "all": 0}

    @settings(max_examples=12, deadline=None, database=None, derandomize=True)
    @given(population=drawn.subscriptions(min_size=1, max_size=10, max_leaves=6))
    def count(population: list[Subscription]) -> None:
        counts["taken"] += len(expressible(engine, population))
        counts["all"] += len(population)

    count()
    assert counts["taken"] >= counts["all"] * 0.4


def test_maps_of_a_file_answer_as_the_arrays_that_were_built(engine: SelectiveEngine, tmp_path: Path) -> None:
    rng = random.Random(7)
    population, happened = drawn_population(rng, cnf, 40), [event(rng) for _ in range(20)]
    parts = engine.build(population)
    again = engine.build(list(population))
    assert parts.keys() == again.keys()
    assert all(parts[name].tobytes() == again[name].tobytes() for name in parts)
    write_arrays(tmp_path / "arrays", "test", {}, dict(parts))
    matcher = engine.open(open_arrays(tmp_path / "arrays", "test").arrays)
    assert matcher.count == 40
    assert rows(matcher, EventBlock.from_events(happened)) == expected(population, happened)


def test_neither_the_number_nor_the_order_of_events_nor_the_split_changes_an_answer(engine: SelectiveEngine) -> None:
    rng = random.Random(3)
    population, pool = drawn_population(rng, cnf, 60), [event(rng, (None,)) for _ in range(5)]
    alone = [[row[1:] for row in expected(population, [one])] for one in pool]
    order = rng.choices(range(5), k=200)
    block = EventBlock.from_events([pool[i] for i in order])
    assert rows(engine.open(engine.build(population)), block) == [
        (e, *p) for e, i in enumerate(order) for p in alone[i]
    ]
    together = []
    for part in range(3):
        own = range(part, 60, 3)
        matcher = engine.open(engine.build([population[o] for o in own]))
        together += [(e, own[o], points) for e, o, points in rows(matcher, block)]
    assert sorted(together) == sorted((e, *pair) for e, i in enumerate(order) for pair in alone[i])


def test_numbers_and_texts_compare_exactly(engine: SelectiveEngine) -> None:
    tests: list[Expression] = []
    for bounds in ((*NUMBERS, math.inf, -math.inf), STRINGS):
        for b in bounds:
            tests += [Range("x", gt=b), Range("x", ge=b), Range("x", lt=b), Range("x", le=b), Not(Range("x", ge=b))]
        tests += [Range("x", ge=low, le=high) for low in bounds for high in bounds if low < high]  # type: ignore[operator]
    tests += [In("x", (v,)) for v in (*NUMBERS, *STRINGS, True, False)]
    tests += [NotIn("x", (v, "z"), strong) for v in (1, 1.0, True, "1", 0, False, "") for strong in (False, True)]
    happened = [Event({"x": (v,)}) for v in (*NUMBERS, *NOT_FINITE, *STRINGS, True, False)]
    happened += [Event({"x": (math.nan, 5, 2**53 + 1)}), Event({"x": (True, "b", 2)}), Event({"y": (1,)})]
    population = [Subscription(f"{i:06d}", one) for i, one in enumerate(tests)]
    agree(engine, population, happened)


def test_constants_and_empty_blocks(engine: SelectiveEngine) -> None:
    tests: list[Expression] = [
        And(()),
        NotExists("a"),
        Or((And(()), In("a", (1,), (-1.0,)))),
        Not(Or(())),
        Or(()),
        In("a", (math.nan,)),
    ]
    population = [Subscription(f"{i}", one) for i, one in enumerate(tests)]
    agree(engine, population, [Event({}), Event({"a": (1,)})])
    agree(engine, population, [])
    agree(engine, [], [Event({"a": (1,)})])


def test_more_answers_than_any_buffer_holds_are_found_once(engine: SelectiveEngine) -> None:
    population, happened, wanted = _many()
    assert len(wanted) > 2**16 + 2 * len(population)
    assert rows(engine.open(engine.build(population)), EventBlock.from_events(happened)) == wanted


@cache
def _many() -> tuple[list[Subscription], list[Event], list[Row]]:
    """Return subscriptions, each of which the events mostly meet by several clauses, and what the oracle says."""
    either = [Or((In("a", (i % 7,)), In("b", (i % 3,), (i / 8,)), Exists("c"))) for i in range(700)]
    population = [Subscription(f"{i:04d}", one) for i, one in enumerate(either)]
    happened = [Event({"a": (i % 7, 9), "b": (i % 3,), "c": (i,)}, top=None if i % 8 else 7) for i in range(112)]
    return population, happened, expected(population, happened)


@pytest.mark.parametrize("case", CASES["matching"], ids=lambda case: case["name"])
def test_the_matching_cases(engine: SelectiveEngine, case: dict[str, Any]) -> None:
    population: list[Subscription] = []
    for id_, body in sorted(case["subscriptions"].items()):
        if id_ not in case.get("refused", []):
            population.append(decode_subscription(id_, json.dumps(body).encode()))
    taken = expressible(engine, population)
    happened = [_event(item["event"]) for item in case["events"]]
    found = rows(engine.open(engine.build(taken)), EventBlock.from_events(happened))
    for e, item in enumerate(case["events"]):
        wanted = {id_ for id_ in item["matches"] if id_ in {s.id for s in taken}}
        assert {taken[ordinal].id for at, ordinal, _ in found if at == e} == wanted


def test_most_of_the_matching_cases_are_expressible(engine: SelectiveEngine) -> None:
    bodies = [
        decode_subscription(id_, json.dumps(body).encode())
        for case in CASES["matching"]
        for id_, body in case["subscriptions"].items()
        if id_ not in case.get("refused", [])
    ]
    assert len(expressible(engine, bodies)) >= 0.75 * len(bodies)


def _event(body: dict[str, Any]) -> Event:
    """Decode an event; "$nan" stands for the NaN that JSON cannot write."""
    found = decode_event(json.dumps(body).encode())
    return Event({k: tuple(math.nan if v == "$nan" else v for v in vs) for k, vs in found.attributes.items()})


@pytest.mark.parametrize("case", CASES["ranking"], ids=lambda case: case["name"])
def test_the_ranking_cases(engine: SelectiveEngine, case: dict[str, Any]) -> None:
    bodies = sorted(case["subscriptions"].items())
    population = [decode_subscription(id_, json.dumps(body).encode()) for id_, body in bodies]
    if len(expressible(engine, population)) < len(population):
        assert engine.name == "kindex-cnf" or any(s.mode != "all" for s in population)
        return
    matcher, happened = engine.open(engine.build(population)), decode_event(json.dumps(case["event"]).encode())
    scores = case.get("scores", {})
    for top, wanted in case["top"].items():
        found = rows(matcher, EventBlock.from_events([happened], int(top)))
        assert [population[ordinal].id for _, ordinal, _ in found] == wanted
        for _, ordinal, points in found:
            assert points == round(scores.get(population[ordinal].id, points / SCORE_SCALE) * SCORE_SCALE)


PRUNED: dict[str, tuple[Callable[[bool], KIndexDnf | KIndexCnf], Callable[[random.Random], Expression]]] = {
    "kindex-dnf": (KIndexDnf, dnf),
    "kindex-cnf": (KIndexCnf, cnf),
}


@pytest.mark.parametrize("name", PRUNED)
@pytest.mark.parametrize("seed", range(2))
def test_pruning_skips_much_and_changes_no_answer_ties_included(name: str, seed: int) -> None:
    """Weights and priorities are few, so that there are many ties at the threshold."""
    make, expression = PRUNED[name]
    rng = random.Random(seed)
    population = drawn_population(rng, expression, 400)
    happened = [event(rng, (1, 2, 5, 10)) for _ in range(60)]
    pruned, unpruned = make(True).open(make(True).build(population)), make(False).open(make(False).build(population))
    block = EventBlock.from_events(happened)
    assert rows(pruned, block) == rows(unpruned, block) == expected(population, happened)
    assert pruned.counters.candidates < unpruned.counters.candidates
    assert pruned.counters.skipped_by_list > 100
    assert unpruned.counters[1:] == (0, 0)
    if name == "kindex-dnf":
        assert pruned.counters.skipped_sizes > 20


def test_without_a_top_nothing_is_pruned() -> None:
    rng = random.Random(1)
    matcher = agree(KIndexDnf(), drawn_population(rng, dnf, 50), [event(rng, (None,)) for _ in range(20)])
    assert isinstance(matcher.counters.candidates, int)  # type: ignore[attr-defined]
    assert matcher.counters[1:] == (0, 0)  # type: ignore[attr-defined]


def test_a_sample_of_events_chooses_other_clusters_and_the_same_answers() -> None:
    rng = random.Random(2)
    population, happened = drawn_population(rng, dnf, 80), [event(rng) for _ in range(40)]
    sampled = Propagation(EventBlock.from_events(happened))
    agree(sampled, population, happened)
    names = ("cluster_start", "pointer")
    mine, other = sampled.build(population), Propagation().build(population)
    assert any(mine[name].tobytes() != other[name].tobytes() for name in names)


def test_identical_conjunctions_are_indexed_once() -> None:
    same = And((In("a", (1, 2)), NotIn("b", (3,))))
    population = [Subscription(f"{i}", Or((same, In("c", (i,))))) for i in range(8)]
    parts = KIndexDnf().build(population)
    assert len(parts["size"]) == 9
    assert len(parts["owner"]) == 16


def test_what_no_set_of_keys_stands_for_is_refused_with_an_engine_that_takes_it(engine: SelectiveEngine) -> None:
    with pytest.raises(Refused, match=r"contains of attribute 'a'.*cannot express; the engine 'block'") as refused:
        engine.check(Subscription("s", And((In("b", (1,)), Contains("a", "x")))))
    assert refused.value.code == "engine.unsupported"
    with pytest.raises(Refused, match=r"mode 'relaxed'"):
        engine.check(Subscription("s", In("a", (1,)), mode="relaxed"))


def test_what_grows_too_large_is_refused_before_it_grows() -> None:
    many = And(tuple(Or(tuple(In(f"a{i}", (j,)) for j in range(4))) for i in range(20)))
    for engine in (Counting(), KIndexDnf(), Propagation()):
        with pytest.raises(Refused, match=f"more than {conjunctions.CONJUNCTIONS:,} conjunctions.*engine 'scan'"):
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
