"""The contract of `index.engine`, for every engine: what stands in ``ENGINES`` of `tests.contract.support` inherits it.

What an engine cannot express it must refuse, with check and build alike; the laws are then about what it takes.
"""

from __future__ import annotations

import json
import math
import random
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.array_file import open_arrays, write_arrays
from index.engine import Engine
from index.event_block import EventBlock
from schemas.errors import Refused
from schemas.expression import And, Exists, Expression, In, Not, NotExists, NotIn, Or, Range
from schemas.json_codec import decode_subscription
from schemas.json_event import decode_event
from schemas.records import Event, Subscription
from schemas.values import SCORE_SCALE
from tests.contract.support import (
    CASES,
    Row,
    agree,
    case_event,
    dense_event,
    dense_population,
    dense_tree,
    engine,
    examples,
    expected,
    expressible,
    numbered,
    opened,
    rows,
)
from tests.deep import deep
from tests.strategies import NOT_FINITE, NUMBERS, STRINGS, events, subscriptions

__all__ = ["engine"]


@examples
@given(population=subscriptions(max_size=12), happened=st.lists(events(), max_size=6))
def test_matches_and_scores_equal_the_oracles(
    engine: Engine, population: list[Subscription], happened: list[Event]
) -> None:
    population = expressible(engine, population)
    found = rows(opened(engine, population), EventBlock.from_events(happened))
    assert found == expected(population, happened)


@pytest.mark.parametrize("seed", range(3))
def test_bushy_trees_over_few_values_answer_as_the_oracle(engine: Engine, seed: int) -> None:
    """Every branch of these trees decides some answer: each leaf is true for about half of the events."""
    population, happened, wanted = _bushy(seed)
    taken = expressible(engine, population)
    ordinal = {s.id: i for i, s in enumerate(taken)}
    found = rows(opened(engine, taken), EventBlock.from_events(happened))
    assert found == [(e, ordinal[population[o].id], p) for e, o, p in wanted if population[o].id in ordinal]


@cache
def _bushy(seed: int) -> tuple[list[Subscription], list[Event], list[Row]]:
    """Return what all engines are asked, and what the oracle says; without a top, so that it says so for any subset."""
    rng = random.Random(seed)
    population = dense_population(rng, lambda rng: dense_tree(rng, 4), 80)
    happened = [dense_event(rng, (None,)) for _ in range(70)]
    return population, happened, expected(population, happened)


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
    population = expressible(engine, population)
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
    population = expressible(engine, population)
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
    population = expressible(engine, population)
    matcher, block = opened(engine, population), EventBlock.from_events(happened)
    dead = [ordinal for ordinal in range(len(population)) if marks[ordinal]]
    assert rows(matcher, block, dead) == expected(population, happened, dead)
    assert rows(matcher, block) == expected(population, happened)


@examples
@given(
    drawn=subscriptions(min_size=1, max_size=4),
    which=st.lists(st.integers(0, 3), min_size=1, max_size=20),
    happened=st.lists(events(), max_size=5),
    times=st.sampled_from((1, 30)),
    marks=st.lists(st.booleans(), min_size=20, max_size=20),
)
def test_subscriptions_that_say_the_same_answer_each_for_itself(
    engine: Engine,
    drawn: list[Subscription],
    which: list[int],
    happened: list[Event],
    times: int,
    marks: list[bool],
) -> None:
    said = [drawn[k % len(drawn)] for k in which]
    population = expressible(engine, [msgspec.structs.replace(s, id=f"{i:02d}") for i, s in enumerate(said)])
    matcher, block = opened(engine, population), EventBlock.from_events(happened * times)
    dead = [ordinal for ordinal in range(len(population)) if marks[ordinal]]
    assert rows(matcher, block, dead) == expected(population, happened * times, dead)
    assert rows(matcher, block) == expected(population, happened * times)


@examples
@given(
    population=subscriptions(max_size=8),
    happened=st.lists(events(), max_size=5),
    parts=st.lists(st.integers(0, 2), min_size=8, max_size=8),
)
def test_segments_together_answer_as_one(
    engine: Engine, population: list[Subscription], happened: list[Event], parts: list[int]
) -> None:
    population = expressible(engine, population)
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
    population = expressible(engine, population)
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
    population = expressible(engine, population)
    path = tmp_path_factory.mktemp("segment") / "arrays"
    write_arrays(path, "test", {}, dict(engine.build(population)))
    arrays = open_arrays(path, "test").arrays
    assert rows(engine.open(arrays), EventBlock.from_events(happened)) == expected(population, happened)


@examples
@given(population=subscriptions(max_size=6))
def test_a_build_is_a_pure_function(engine: Engine, population: list[Subscription]) -> None:
    population = expressible(engine, population)
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
    agree(engine, expressible(engine, numbered(tests)), happened)


def test_strings_compare_by_code_points_in_ranges_and_lists(engine: Engine) -> None:
    tests: list[Expression] = [In("x", (s,)) for s in STRINGS]
    for s in STRINGS:
        tests += [Range("x", gt=s), Range("x", ge=s), Range("x", lt=s), Range("x", le=s), Not(Range("x", gt=s))]
    tests += [Range("x", gt=1), Range("x", gt=s, le="é")]
    happened = [Event({"x": (s,)}) for s in STRINGS] + [Event({"x": STRINGS}), Event({"x": (1, True)})]
    agree(engine, expressible(engine, numbered(tests)), happened)


def test_values_that_python_takes_for_one_are_told_apart(engine: Engine) -> None:
    alike = (1, 1.0, True, "1", 0, -0.0, 0.0, False, "0", "", "true")
    population = numbered([In("x", (v,)) for v in alike] + [NotIn("x", (v, "z")) for v in alike])
    agree(engine, population, [Event({"x": v}) for v in (*((v,) for v in alike), (1, True), (False, 0, ""))])


def test_depth_and_width_have_no_limit_of_their_own(engine: Engine) -> None:
    """The oracle recurses, so what is expected is said here."""
    a, b = In("a", (1,)), In("b", (1,))
    nots = deep(lambda inner, _: Not(inner), 2000, a)
    chain = deep(lambda inner, _: And((inner, Or((a, b)))), 2000, b)
    zigzag = deep(
        lambda inner, i: Or((inner, In("c", (i,)))) if i % 2 else And((inner, Or((a, In("d", (i,)))))), 2000, b
    )
    wide = Or(tuple(In("w", (i,), (i / 2,)) for i in range(2000)))
    broad = And((a, Or(tuple(And((In("w", (i,)), b)) for i in range(2000)))))
    population = numbered([nots, chain, zigzag, wide, broad])
    taken = expressible(engine, population)
    assert len(taken) >= 3
    happened = [Event({"a": (1,)}), Event({"b": (1,)}), Event({"a": (1,), "b": (1,), "w": (7, 1999)})]
    found = rows(opened(engine, taken), EventBlock.from_events([*happened, Event({"c": (1999,)})]))
    one = SCORE_SCALE
    wanted = [
        *((0, 0, 0), (1, 1, 2001 * one)),
        *((2, 1, 2001 * one), (2, 2, 1001 * one), (2, 3, 1999 * one // 2), (2, 4, 3 * one), (2, 0, 0)),
        (3, 2, one),
    ]
    ordinal = {s.id: i for i, s in enumerate(taken)}
    assert found == [(e, ordinal[population[o].id], p) for e, o, p in wanted if population[o].id in ordinal]


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
    agree(engine, population, [Event({"a": (1, 2)}, time=time) for time in (None, 4, 5, 6)])


def test_more_answers_than_any_buffer_holds_are_found_once(engine: Engine) -> None:
    population, happened, wanted = _many()
    assert len(wanted) > 2**16 + 2 * len(population)
    assert rows(opened(engine, population), EventBlock.from_events(happened)) == wanted


@cache
def _many() -> tuple[list[Subscription], list[Event], list[Row]]:
    """Return subscriptions, each of which the events mostly meet by several clauses, and what the oracle says."""
    population = numbered(Or((In("a", (i % 7,)), In("b", (i % 3,), (i / 8,)), Exists("c"))) for i in range(700))
    happened = [Event({"a": (i % 7, 9), "b": (i % 3,), "c": (i,)}, top=None if i % 8 else 7) for i in range(112)]
    return population, happened, expected(population, happened)


@pytest.mark.parametrize("length", [29, 30, 31, 32, 130])
def test_conjunctions_of_any_length_score(engine: Engine, length: int) -> None:
    """Records of the block engine have room for some weights and words; beyond it they are of another kind."""
    values = range(length)
    plain, weighted = (tuple(In("x", (value,), weights) for value in values) for weights in (None, (0.25,)))
    ranges = tuple(Range("y", ge=-value - 1) for value in values)
    population = numbered([
        *(And(plain), And(weighted), And((*plain[:5], *weighted[5:])), And((*ranges, *weighted[:3])), And(plain[1:])),
        *(And((*plain[:3], *(NotIn("z", (value,)) for value in values))), And((In("w", (1, 2)), *weighted))),
    ])  # fmt: skip
    held: dict[str, Any] = {"x": tuple(values), "y": (5,), "w": (2,)}
    happened = [
        *(Event(held), Event(held, {"x": (1.5,) * length}), Event(held | {"z": (0,)}), Event(held, top=2)),
        *(Event(held | {"x": tuple(values[1:])}), Event(held | {"y": (-3,)}, {"x": (0.5,) * length}, 1)),
    ]
    taken = expressible(engine, population)
    agree(engine, taken, happened)


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
    taken = expressible(engine, population)
    known = {s.id for s in taken}
    found = rows(opened(engine, taken), EventBlock.from_events([case_event(item["event"]) for item in case["events"]]))
    for e, item in enumerate(case["events"]):
        assert {taken[ordinal].id for event, ordinal, _ in found if event == e} == set(item["matches"]) & known


@pytest.mark.parametrize("case", CASES["ranking"], ids=lambda case: case["name"])
def test_the_ranking_cases(engine: Engine, case: dict[str, Any]) -> None:
    """Where an engine does not take all of a case, the oracle says which of the others come first."""
    bodies = sorted(case["subscriptions"].items())
    population = [decode_subscription(id_, json.dumps(body).encode()) for id_, body in bodies]
    taken, event = expressible(engine, population), decode_event(json.dumps(case["event"]).encode())
    matcher, scores = opened(engine, taken), case.get("scores", {})
    for top, wanted in case["top"].items():
        found = rows(matcher, EventBlock.from_events([event], int(top)))
        assert found == expected(taken, [Event(event.attributes, event.weights, int(top) or None, event.time)])
        if len(taken) == len(population):
            assert [population[ordinal].id for _, ordinal, _ in found] == wanted
            for _, ordinal, points in found:
                assert points == round(scores.get(population[ordinal].id, points / SCORE_SCALE) * SCORE_SCALE)
