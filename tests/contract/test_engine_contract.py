"""The contract of `index.engine`, for every engine: add an engine to ``ENGINES`` and it inherits the whole suite."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.array_file import open_arrays, write_arrays
from index.block.engine import BlockEngine
from index.engine import Engine, Matcher
from index.event_block import EventBlock
from index.oracle import match_subscription
from schemas.errors import Refused
from schemas.expression import And, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.json_codec import decode_subscription
from schemas.json_event import decode_event
from schemas.records import Event, Subscription
from schemas.values import SCORE_SCALE
from tests.strategies import NOT_FINITE, NUMBERS, STRINGS, events, subscriptions

ENGINES: dict[str, Callable[[], Engine]] = {
    "block": BlockEngine,
    "block-1": lambda: BlockEngine(1),
    "block-2": lambda: BlockEngine(2),
    "block-4": lambda: BlockEngine(4),
    "block-8": lambda: BlockEngine(8),
}
"""Name to engine; one that can be made in several ways stands here several times."""

CASES: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parents[1] / "data" / "cases.json").read_text())
# A fixture of hypothesis's tests is the engine alone, which keeps nothing between examples.
examples = settings(
    max_examples=int(os.environ.get("TOCSIN_TEST_EXAMPLES", "30")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

Row = tuple[int, int, int]
"""event, ordinal, points."""


@pytest.fixture(params=ENGINES, scope="module")
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]()


def opened(engine: Engine, population: Sequence[Subscription]) -> Matcher:
    return engine.open(engine.build(population))


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


def numbered(expressions: Iterable[Expression]) -> list[Subscription]:
    return [Subscription(f"{i:06d}", expression) for i, expression in enumerate(expressions)]


@examples
@given(population=subscriptions(max_size=12), happened=st.lists(events(), max_size=6))
def test_matches_and_scores_equal_the_oracles(
    engine: Engine, population: list[Subscription], happened: list[Event]
) -> None:
    found = rows(opened(engine, population), EventBlock.from_events(happened))
    assert found == expected(population, happened)


@pytest.mark.parametrize("seed", range(4))
def test_bushy_trees_over_few_values_answer_as_the_oracle(engine: Engine, seed: int) -> None:
    """Every branch of these trees decides some answer: each leaf is true for about half of the events."""
    rng = random.Random(seed)
    population = [
        Subscription(f"{i:03d}", _tree(rng, 5), rng.choice((0.0, 0.0, 0.5)), not_before=rng.choice((None, None, 5)))
        for i in range(80)
    ]
    happened = [_dense_event(rng) for _ in range(70)]
    assert rows(opened(engine, population), EventBlock.from_events(happened)) == expected(population, happened)


def _tree(rng: random.Random, depth: int) -> Expression:
    if depth == 0 or rng.random() < 0.15:
        return _leaf(rng)
    if rng.random() < 0.1:
        return Not(_tree(rng, depth - 1))
    args = tuple(_tree(rng, depth - 1) for _ in range(rng.randint(2, 3)))
    return And(args) if rng.random() < 0.5 else Or(args)


def _leaf(rng: random.Random) -> Expression:
    name, values = rng.choice("pqrst"), tuple(rng.sample(range(7), rng.choice((1, 1, 2, 3, 6))))
    match rng.randrange(8):
        case 0:
            return NotIn(name, values, rng.random() < 0.5)
        case 1:
            return Range(name, ge=min(values), lt=max(values) + 1)
        case 2:
            return rng.choice((Exists, NotExists))(name)
        case 3:
            return In(name, values)
        case 4:
            return In(name, values, (rng.choice((-1.5, 0.25)),) * len(values))
    return In(name, values, tuple(rng.choice((-2.0, -1.0, 0.0, 0.5, 1.0, 3.0)) for _ in values))


def _dense_event(rng: random.Random) -> Event:
    held = {name: tuple(rng.sample(range(7), rng.choice((1, 1, 2, 4)))) for name in "pqrst" if rng.random() < 0.8}
    weighted = {name: tuple(rng.choice((-1.0, 0.5, 2.0)) for _ in values) for name, values in held.items()}
    return Event(held, weighted if rng.random() < 0.5 else {}, rng.choice((None, 9)), rng.choice((None, 4, 5)))


@examples
@given(
    population=subscriptions(min_size=1, max_size=6),
    pool=st.lists(events(), min_size=1, max_size=4),
    size=st.sampled_from((1, 63, 64, 65, 128, 200, 513, 600)),
    seed=st.integers(0, 2**32),
)
def test_neither_the_number_nor_the_order_of_events_changes_an_answer(
    engine: Engine, population: list[Subscription], pool: list[Event], size: int, seed: int
) -> None:
    order = random.Random(seed).choices(range(len(pool)), k=size)
    alone = [[row[1:] for row in expected(population, [event])] for event in pool]
    found = rows(opened(engine, population), EventBlock.from_events([pool[i] for i in order]))
    assert found == [(e, *pair) for e, i in enumerate(order) for pair in alone[i]]


@examples
@given(
    population=subscriptions(min_size=1, max_size=8),
    blocks=st.lists(st.tuples(st.lists(events(), max_size=3), st.integers(1, 200)), max_size=4),
)
def test_a_matcher_remembers_nothing_of_earlier_blocks(
    engine: Engine, population: list[Subscription], blocks: list[tuple[list[Event], int]]
) -> None:
    matcher = opened(engine, population)
    for few, times in blocks:
        alone = [[row[1:] for row in expected(population, [event])] for event in few]
        found = rows(matcher, EventBlock.from_events(few * times))
        assert found == [(e, *pair) for e, pairs in enumerate(alone * times) for pair in pairs]


@examples
@given(
    population=subscriptions(max_size=8),
    happened=st.lists(events(), max_size=5),
    marks=st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_the_dead_never_match_and_displace_nobody(
    engine: Engine, population: list[Subscription], happened: list[Event], marks: list[bool]
) -> None:
    matcher, block = opened(engine, population), EventBlock.from_events(happened)
    dead = [ordinal for ordinal in range(len(population)) if marks[ordinal]]
    assert rows(matcher, block, dead) == expected(population, happened, dead)
    assert rows(matcher, block) == expected(population, happened)


@examples
@given(
    population=subscriptions(max_size=8),
    happened=st.lists(events(), max_size=5),
    parts=st.lists(st.integers(0, 2), min_size=8, max_size=8),
)
def test_segments_together_answer_as_one(
    engine: Engine, population: list[Subscription], happened: list[Event], parts: list[int]
) -> None:
    block = EventBlock.from_events([Event(e.attributes, e.weights, None, e.time) for e in happened])
    together = []
    for part in range(3):
        members = [ordinal for ordinal in range(len(population)) if parts[ordinal] == part]
        segment = opened(engine, [population[ordinal] for ordinal in members])
        together += [(e, members[ordinal], points) for e, ordinal, points in rows(segment, block)]
    assert sorted(together) == sorted(rows(opened(engine, population), block))


@examples
@given(population=subscriptions(max_size=10), event=events(), default=st.integers(0, 12))
def test_top_is_a_prefix_of_all(engine: Engine, population: list[Subscription], event: Event, default: int) -> None:
    matcher = opened(engine, population)
    event = Event(event.attributes, event.weights, None, event.time)
    everything = rows(matcher, EventBlock.from_events([event]))
    assert everything == sorted(everything, key=lambda row: (-row[2], row[1]))
    assert rows(matcher, EventBlock.from_events([event], default)) == everything[: default or None]


@examples
@given(population=subscriptions(max_size=6), happened=st.lists(events(), max_size=4))
def test_maps_of_a_file_answer_as_the_arrays_that_were_built(
    engine: Engine,
    population: list[Subscription],
    happened: list[Event],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("segment") / "arrays"
    write_arrays(path, "test", {}, dict(engine.build(population)))
    arrays = open_arrays(path, "test").arrays
    assert rows(engine.open(arrays), EventBlock.from_events(happened)) == expected(population, happened)


@examples
@given(population=subscriptions(max_size=6))
def test_a_build_is_a_pure_function(engine: Engine, population: list[Subscription]) -> None:
    first, second = engine.build(population), engine.build(list(population))
    assert first.keys() == second.keys()
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)
    assert opened(engine, population).count == len(population)


def test_numbers_compare_exactly_in_ranges_and_lists(engine: Engine) -> None:
    tests: list[Expression] = [In("x", (n,)) for n in NUMBERS]
    for n in (*NUMBERS, math.inf, -math.inf):
        tests += [Range("x", gt=n), Range("x", ge=n), Range("x", lt=n), Range("x", le=n), Not(Range("x", ge=n))]
    tests += [Range("x", ge=m, le=n) for m in NUMBERS for n in NUMBERS if m <= n]
    happened = [Event({"x": (n,)}) for n in (*NUMBERS, *NOT_FINITE, True, False, "1", "")]
    happened += [Event({"x": (math.nan, 5, 2**53 + 1)}), Event({"x": (-math.inf, math.inf)}), Event({"y": (1,)})]
    population = numbered(tests)
    assert rows(opened(engine, population), EventBlock.from_events(happened)) == expected(population, happened)


def test_strings_compare_by_code_points_in_ranges_and_lists(engine: Engine) -> None:
    tests: list[Expression] = [In("x", (s,)) for s in STRINGS]
    for s in STRINGS:
        tests += [Range("x", gt=s), Range("x", ge=s), Range("x", lt=s), Range("x", le=s), Not(Range("x", gt=s))]
    tests += [Range("x", gt=1), Range("x", gt=s, le="é")]
    happened = [Event({"x": (s,)}) for s in STRINGS] + [Event({"x": STRINGS}), Event({"x": (1, True)})]
    population = numbered(tests)
    assert rows(opened(engine, population), EventBlock.from_events(happened)) == expected(population, happened)


def test_values_that_python_takes_for_one_are_told_apart(engine: Engine) -> None:
    alike = (1, 1.0, True, "1", 0, -0.0, 0.0, False, "0", "", "true")
    population = numbered([In("x", (v,)) for v in alike] + [NotIn("x", (v, "z")) for v in alike])
    happened = [Event({"x": (v,)}) for v in alike] + [Event({"x": (1, True)}), Event({"x": (False, 0, "")})]
    assert rows(opened(engine, population), EventBlock.from_events(happened)) == expected(population, happened)


def test_depth_and_width_have_no_limit_of_their_own(engine: Engine) -> None:
    """The oracle recurses, so what is expected is said here."""
    a, b = In("a", (1,)), In("b", (1,))
    nots: Expression = reduce(lambda inner, _: Not(inner), range(2000), a)
    chain: Expression = reduce(lambda inner, _: And((inner, Or((a, b)))), range(2000), b)
    zigzag: Expression = reduce(
        lambda inner, i: Or((inner, In("c", (i,)))) if i % 2 else And((inner, Or((a, In("d", (i,)))))), range(2000), b
    )
    wide = Or(tuple(In("w", (i,), (i / 2,)) for i in range(2000)))
    broad = And((a, Or(tuple(And((In("w", (i,)), b)) for i in range(2000)))))
    matcher = opened(engine, numbered([nots, chain, zigzag, wide, broad]))
    happened = [Event({"a": (1,)}), Event({"b": (1,)}), Event({"a": (1,), "b": (1,), "w": (7, 1999)})]
    found = rows(matcher, EventBlock.from_events([*happened, Event({"c": (1999,)})]))
    one = SCORE_SCALE
    assert found[:2] == [(0, 0, 0), (1, 1, 2001 * one)]
    assert found[2:-1] == [(2, 1, 2001 * one), (2, 2, 1001 * one), (2, 3, 1999 * one // 2), (2, 4, 3 * one), (2, 0, 0)]
    assert found[-1] == (3, 2, one)


def test_without_events_or_subscriptions_there_are_no_matches(engine: Engine) -> None:
    assert rows(opened(engine, []), EventBlock.from_events([Event({"a": (1,)})])) == []
    assert rows(opened(engine, numbered([And(())])), EventBlock.from_events([])) == []
    assert rows(opened(engine, numbered([Or(())])), EventBlock.from_events([Event({})])) == []
    constants = numbered([And(()), NotExists("a"), Or((And(()), In("a", (1,), (-1.0,)))), Not(Or(()))])
    assert rows(opened(engine, constants), EventBlock.from_events([Event({}), Event({"a": (1,)})])) == [
        *((0, o, 0) for o in range(4)),
        *((1, o, 0) for o in (0, 2, 3)),
    ]


def test_validity_is_inclusive_and_an_event_without_a_time_meets_no_bound(engine: Engine) -> None:
    either = Or((In("a", (1,)), In("a", (2,))))
    bounds = [(None, None), (5, None), (None, 5), (5, 5), (6, None), (4, 6)]
    population = [
        Subscription(f"{i}", either, not_before=before, not_after=after) for i, (before, after) in enumerate(bounds)
    ]
    happened = [Event({"a": (1, 2)}, time=time) for time in (None, 4, 5, 6)]
    assert rows(opened(engine, population), EventBlock.from_events(happened)) == expected(population, happened)


def test_many_matches_of_many_clauses_are_all_found_once(engine: Engine) -> None:
    """More hits than any buffer holds, most subscriptions found by several clauses."""
    population = numbered(Or((In("a", (i % 7,)), In("b", (i % 3,), (i / 8,)), Exists("c"))) for i in range(700))
    happened = [Event({"a": tuple({i % 7, 3}), "b": (i % 3,), "c": (i,)}, top=None if i % 2 else 7) for i in range(70)]
    assert rows(opened(engine, population), EventBlock.from_events(happened)) == expected(population, happened)


@pytest.mark.parametrize("case", CASES["matching"], ids=lambda case: case["name"])
def test_the_matching_cases(engine: Engine, case: dict[str, Any]) -> None:
    population: list[Subscription] = []
    refused: list[str] = []
    for id_, body in sorted(case["subscriptions"].items()):
        try:
            population.append(decode_subscription(id_, json.dumps(body).encode()))
        except Refused:
            refused.append(id_)
    assert refused == sorted(case.get("refused", []))
    block = EventBlock.from_events([_event(item["event"]) for item in case["events"]])
    found = rows(opened(engine, population), block)
    for e, item in enumerate(case["events"]):
        assert {population[ordinal].id for event, ordinal, _ in found if event == e} == set(item["matches"])


def _event(body: dict[str, Any]) -> Event:
    """Decode an event; "$nan" stands for the NaN that JSON cannot write."""
    event = decode_event(json.dumps(body).encode())
    return Event({k: tuple(math.nan if v == "$nan" else v for v in vs) for k, vs in event.attributes.items()})


@pytest.mark.parametrize("case", CASES["ranking"], ids=lambda case: case["name"])
def test_the_ranking_cases(engine: Engine, case: dict[str, Any]) -> None:
    bodies = sorted(case["subscriptions"].items())
    population = [decode_subscription(id_, json.dumps(body).encode()) for id_, body in bodies]
    matcher, event = opened(engine, population), decode_event(json.dumps(case["event"]).encode())
    scores = case.get("scores", {})
    for top, wanted in case["top"].items():
        found = rows(matcher, EventBlock.from_events([event], int(top)))
        assert [population[ordinal].id for _, ordinal, _ in found] == wanted
        for _, ordinal, points in found:
            assert points == round(scores.get(population[ordinal].id, points / SCORE_SCALE) * SCORE_SCALE)
