"""The contract of `index.engine` over every leaf: sets, patterns, versions, addresses, words, times, derived values."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from index.engine import Engine
from index.event_block import EventBlock
from schemas.expression import (
    And,
    Cidr,
    Contains,
    ContainsAll,
    Derive,
    EndsWith,
    EqualsSet,
    Exists,
    Expression,
    Glob,
    In,
    Keywords,
    Leaf,
    Matches,
    Not,
    NotIn,
    Or,
    Range,
    StartsWith,
    Version,
    Within,
)
from schemas.records import Event, Subscription
from schemas.values import Value
from tests.contract.support import block_engine as engine
from tests.contract.support import examples, expected, numbered, opened, rows
from tests.deep import deep
from tests.strategies import rich_events, rich_expressions, rich_subscriptions

__all__ = ["engine"]

TEXTS = ("ab", "abc", "b", "bca", "Cab", "1.2", "1.10", "10.1.2.3", "10.9.0.1", "spark and kafka", "2026-05-01", "")


def unbounded(happened: Sequence[Event]) -> list[Event]:
    return [Event(e.attributes, e.weights, None, e.time) for e in happened]


@examples
@given(population=rich_subscriptions(max_size=10), happened=st.lists(rich_events(), max_size=6))
def test_matches_and_scores_equal_the_oracles(
    engine: Engine, population: list[Subscription], happened: list[Event]
) -> None:
    found = rows(opened(engine, population), EventBlock.from_events(happened))
    assert found == expected(population, happened)


def leaf(rng: random.Random) -> Leaf:
    name = rng.choice("pqr")
    text, other = rng.choice(TEXTS), rng.choice(TEXTS)
    some = tuple(rng.sample(TEXTS, rng.choice((1, 2, 6, 10))))
    choices: tuple[Leaf, ...] = (
        In(name, some, tuple(rng.choice((-1.0, 0.0, 0.5, 2.0)) for _ in some)),
        NotIn(name, some, rng.random() < 0.5),
        Within(name, some),
        Within(Derive("length", name), (2, 3, 4, 5)),
        ContainsAll(name, some[:2]),
        EqualsSet(name, some[:2]),
        Range(name, ge=min(text, other), le=max(text, other)),
        StartsWith(name, text[:1], rng.random() < 0.5),
        EndsWith(name, text[-1:], rng.random() < 0.5),
        Contains(name, text[1:2], rng.random() < 0.5),
        Matches(name, rng.choice((".*b.*", "[a-c]+", r"1\.\d+", "(?s).*a", "ab.*", "(?i)cab"))),
        Glob(name, rng.choice(("?b*", "*c*", "[!a]*", "1.*"))),
        Version(name, ge="1.2", lt=rng.choice(("1.9", "2"))),
        Cidr(name, ("10.0.0.0/8", rng.choice(("10.1.0.0/16", "10.9.0.1")))),
        Keywords(name, any=("spark", "ab"), weights=(0.5, -2.0)),
        Keywords(name, all=("spark", "kafka")),
        Range(name, type="time", ge="2026-01-01"),
        Range(Derive("year", name), gt=2025),
        In(Derive("mod", Derive("length", name), (3,)), (rng.randrange(3),), (1.5,)),
        Exists(Derive("substring", name, (4,))),
    )
    return rng.choice(choices)


def tree(rng: random.Random, depth: int) -> Expression:
    if depth == 0 or rng.random() < 0.15:
        return leaf(rng)
    if rng.random() < 0.15:
        return Not(tree(rng, depth - 1))
    args = tuple(tree(rng, depth - 1) for _ in range(rng.randint(2, 3)))
    return And(args) if rng.random() < 0.5 else Or(args)


def dense_event(rng: random.Random) -> Event:
    held = {name: tuple(rng.sample(TEXTS, rng.choice((1, 1, 2, 4)))) for name in "pqr" if rng.random() < 0.8}
    weighted = {name: tuple(rng.choice((-1.0, 0.5, 2.0)) for _ in values) for name, values in held.items()}
    return Event(held, weighted if rng.random() < 0.5 else {}, rng.choice((None, 9)))


@pytest.mark.parametrize("seed", range(3))
def test_bushy_trees_answer_as_the_oracle(engine: Engine, seed: int) -> None:
    """Every branch of these trees decides some answer: each leaf is true for a fair share of the events."""
    rng = random.Random(seed)
    population = numbered(tree(rng, 3) for _ in range(80))
    happened = [dense_event(rng) for _ in range(70)]
    assert rows(opened(engine, population), EventBlock.from_events(happened)) == expected(population, happened)


@examples
@given(first=rich_expressions(6), second=rich_expressions(6), third=rich_expressions(6), happened=rich_events())
def test_equivalent_expressions_match_alike(
    engine: Engine, first: Expression, second: Expression, third: Expression, happened: Event
) -> None:
    """Double negation, De Morgan, distribution and the order of arguments."""
    alike: list[tuple[Expression, Expression]] = [
        (first, Not(Not(first))),
        (Not(And((first, second))), Or((Not(first), Not(second)))),
        (Not(Or((first, second))), And((Not(first), Not(second)))),
        (And((first, Or((second, third)))), Or((And((first, second)), And((first, third))))),
        (Or((first, And((second, third)))), And((Or((first, second)), Or((first, third))))),
        (And((first, second, third)), And((third, first, second))),
        (Or((first, second, third)), Or((third, first, second))),
    ]
    population = numbered(expression for pair in alike for expression in pair)
    found = rows(opened(engine, population), EventBlock.from_events(unbounded([happened])))
    matched = {ordinal for _, ordinal, _ in found}
    for ordinal in range(0, len(population), 2):
        assert (ordinal in matched) == (ordinal + 1 in matched)


@examples
@given(
    ours=rich_subscriptions(max_size=5),
    others=rich_subscriptions(max_size=5),
    happened=st.lists(rich_events(), max_size=3),
)
def test_what_else_is_subscribed_changes_no_answer(
    engine: Engine, ours: list[Subscription], others: list[Subscription], happened: list[Event]
) -> None:
    last = "\U0010ffff"
    together = [*ours, *(replace(s, id=last + s.id) for s in others)]
    block = EventBlock.from_events(unbounded(happened))
    found = [row for row in rows(opened(engine, together), block) if row[1] < len(ours)]
    assert sorted(found) == sorted(rows(opened(engine, ours), block))


@examples
@given(
    population=rich_subscriptions(max_size=8),
    happened=st.lists(rich_events(), max_size=4),
    marks=st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_segments_share_a_block_and_the_dead_stay_dead(
    engine: Engine, population: list[Subscription], happened: list[Event], marks: list[bool]
) -> None:
    block = EventBlock.from_events(happened)
    for chosen in (True, False):
        members = [s for s, mark in zip(population, marks, strict=False) if mark == chosen]
        dead = list(range(0, len(members), 2))
        assert rows(opened(engine, members), block, dead) == expected(members, happened, dead)


def test_lists_of_ten_thousand_values(engine: Engine) -> None:
    """The oracle compares each value with each, so Python's sets say what is expected."""
    many = tuple(range(10_000))
    listed, most, all_but_last = set(many), set(many[5:]), set(many[:-1])
    tests: list[Expression] = [
        In("a", many),
        NotIn("a", many),
        And((In("b", (1,)), In("a", many[5:], (0.5,) * 9995))),
        Within("a", many),
        Not(Within("a", many[5:])),
        EqualsSet("a", many),
        ContainsAll("a", many[:-1]),
    ]
    happened: list[tuple[Value, ...]] = [
        *((value,) for value in (0, 4, 5, 9_999, 10_000, "1")),
        *((0, 9_999), (1, 2, 10_000), many, (*many, -1), many[:-1], (7, 5), ()),
    ]
    block = EventBlock.from_events([Event({"b": (1,)} | ({"a": values} if values else {})) for values in happened])
    found = {(e, ordinal) for e, ordinal, _ in rows(opened(engine, numbered(tests)), block)}
    for e, values in enumerate(happened):
        held = set(values)
        wanted = (
            bool(held & listed),
            not held & listed,
            bool(held & most),
            bool(held) and held <= listed,
            not (held and held <= most),
            held == listed,
            held >= all_but_last,
        )
        assert tuple((e, ordinal) in found for ordinal in range(len(tests))) == wanted


def test_an_event_with_a_hundred_thousand_values(engine: Engine) -> None:
    tests: list[Expression] = [
        In("a", (99_999, -1)),
        NotIn("a", (5,)),
        Range("a", gt=99_998),
        Not(Range("a", gt=100_000)),
        Within("a", tuple(range(100))),
        Not(Within("a", tuple(range(100)))),
        ContainsAll("a", (0, 50_000, 99_999)),
        In(Derive("mod", "a", (1000,)), (999,)),
        Range(Derive("add", "a", (1,)), ge=100_000, le=100_000),
    ]
    happened = [Event({"a": tuple(range(100_000))}), Event({"a": (5,)})]
    found = rows(opened(engine, numbered(tests)), EventBlock.from_events(happened))
    assert sorted((e, ordinal) for e, ordinal, _ in found) == [
        *((0, ordinal) for ordinal in (0, 2, 3, 5, 6, 7, 8)),
        *((1, ordinal) for ordinal in (3, 4)),
    ]


@pytest.mark.parametrize("seed", range(2))
def test_ten_thousand_ranges_of_an_attribute(engine: Engine, seed: int) -> None:
    """Short ones, long ones, and some that hold all of the numbers at hand."""
    rng = random.Random(seed)
    bounds: list[Sequence[int]] = [sorted(rng.sample(range(-50, 100_000), 2)) for _ in range(5000)]
    bounds += [(low, low + rng.randrange(3)) for low in rng.choices(range(100_000), k=4990)]
    bounds += [(-50, 200_000)] * 10
    asked = [rng.sample(range(100_000), rng.choice((1, 1, 3))) for _ in range(70)]
    matcher = opened(engine, numbered(Range("a", ge=low, le=high) for low, high in bounds))
    found = rows(matcher, EventBlock.from_events([Event({"a": tuple(values)}) for values in asked]))
    assert sorted((e, ordinal) for e, ordinal, _ in found) == [
        (e, ordinal)
        for e, values in enumerate(asked)
        for ordinal, (low, high) in enumerate(bounds)
        if any(low <= value <= high for value in values)
    ]


@pytest.mark.parametrize("seed", range(2))
def test_ranges_that_cover_others_are_tested_as_well(engine: Engine, seed: int) -> None:
    """So many ranges of few bounds that some are posted under others, in any shape; each event alone, and together."""
    rng = random.Random(seed)
    ranges = [Range("a", ge=low, le=high) for low in range(40) for high in range(low + 1, 40)]

    def shape(depth: int) -> Expression:
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(ranges)
        args = tuple(shape(depth - 1) for _ in range(rng.choice((2, 2, 3))))
        return rng.choice((And, Or))(args)

    population = numbered([*(And(tuple(rng.sample(ranges, 2))) for _ in range(300)), *(shape(3) for _ in range(300))])
    happened = [Event({"a": (value,)}) for value in (*range(40), 5.5)]
    matcher = opened(engine, population)
    wanted = expected(population, happened)
    assert len(wanted) > 1000
    assert rows(matcher, EventBlock.from_events(happened)) == wanted
    alone = [rows(matcher, EventBlock.from_events([event])) for event in happened]
    assert [(e, *row[1:]) for e, found in enumerate(alone) for row in found] == wanted


def test_wide_and_deep_expressions(engine: Engine) -> None:
    wide = Or(tuple(StartsWith("a", f"{i:05d}") for i in range(5000)))
    nots = deep(lambda inner, _: Not(inner), 2000, Contains("a", "49"))
    groups = And(tuple(Or((Matches("a", f".*{i}.*"), In("b", (i,)))) for i in range(20)))
    happened = [
        Event({"a": ("04999x",), "b": tuple(range(20))}),
        Event({"a": ("x04999",)}),
        Event({"a": ("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19",)}),
    ]
    found = rows(opened(engine, numbered([wide, nots, groups])), EventBlock.from_events(happened))
    assert [(e, ordinal) for e, ordinal, _ in found] == [(0, 2), (0, 0), (0, 1), (1, 1), (2, 2)]
