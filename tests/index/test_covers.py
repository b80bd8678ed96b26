"""Narrow ranges posted under wide ones match as ever, and few lists are left; ranks at hand are read off exactly."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.block import covers, rank_tables
from index.block.engine import BlockEngine
from index.block.rank_tables import RankTables
from index.block.spans import Words
from index.block.vocabulary import Inside
from index.event_block import EventBlock
from schemas.expression import And, Expression, In, Not, Or, Range
from schemas.records import Event, Subscription
from schemas.values import Number, Value
from tests.contract.support import agree, rows
from tests.strategies import numbers

BOUNDS = st.one_of(st.integers(0, 12), st.integers(0, 12).map(float), numbers())


@st.composite
def bands(draw: st.DrawFn) -> Expression:
    low, high = (draw(st.one_of(st.none(), BOUNDS)) for _ in range(2))
    kinds = draw(st.sampled_from([("gt", "lt"), ("gt", "le"), ("ge", "lt"), ("ge", "le")]))
    given_ = {kind: bound for kind, bound in zip(kinds, (low, high), strict=True) if bound is not None}
    if not given_:
        given_ = {"ge": 3}
    band: Expression = Range(draw(st.sampled_from("ab")), **given_)  # type: ignore[arg-type]
    return Not(band) if draw(st.integers(0, 5)) == 0 else band


@st.composite
def populations(draw: st.DrawFn) -> list[Subscription]:
    others: st.SearchStrategy[Expression] = st.sampled_from(
        [In("c", (1,)), In("c", (1, 2), (0.5, 2.0)), Or((In("c", (1,)), Range("a", lt=3)))]
    )
    made = []
    for number in range(draw(st.integers(1, 12))):
        args: list[Expression] = [*draw(st.lists(bands(), min_size=1, max_size=3)), *draw(st.lists(others, max_size=1))]
        made.append(Subscription(f"{number:02d}", And(tuple(args)) if len(args) > 1 else args[0]))
    return made


HAPPENED = st.builds(
    lambda a, b, c: Event({"a": a, "b": b, "c": c}),
    st.lists(BOUNDS, min_size=1, max_size=3).map(tuple),
    BOUNDS.map(lambda value: (value,)),
    st.sampled_from([(1,), (2,), (1, 2)]),
)


@pytest.fixture
def _always_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covers, "LEAST", 1)


@pytest.mark.usefixtures("_always_covered")
@settings(max_examples=120)
@given(
    populations(), st.lists(HAPPENED, min_size=1, max_size=5), st.sampled_from([1, 2, 8]), st.sampled_from([None, 1, 3])
)
def test_what_is_posted_under_covers_matches_as_the_oracle_says(
    population: list[Subscription], happened: list[Event], words: Words, top: int | None
) -> None:
    agree(BlockEngine(words), population, [msgspec.structs.replace(event, top=top) for event in happened])


@pytest.mark.parametrize("values", [1, 2])
@pytest.mark.parametrize("top", [None, 5])
def test_many_ranges_and_events_match_as_the_oracle_says(values: int, top: int | None) -> None:
    rng = np.random.default_rng(7)
    population = [narrow(rng, f"{number:04d}") for number in range(400)]
    happened = [
        Event({name: tuple(map(int, rng.choice(1000, values, replace=False))) for name in "abc"}, top=top)
        for _ in range(150)
    ]
    matcher = agree(BlockEngine(), population, happened)
    assert len(rows(matcher, EventBlock.from_events(happened))) > 300


def narrow(rng: np.random.Generator, id_: str) -> Subscription:
    """Return a subscription of two bands about a third as wide as their attributes."""
    lows = rng.integers(0, 700, 2).tolist()
    names = rng.choice(list("abc"), 2, replace=False).tolist()
    first, second = (Range(name, ge=low, lt=low + 300) for name, low in zip(names, lows, strict=True))
    return Subscription(id_, And((first, second)))


def test_thousands_of_ranges_share_few_lists() -> None:
    rng = np.random.default_rng(3)
    engine = BlockEngine()
    population = [narrow(rng, f"{number:04d}") for number in range(3000)]
    postings = engine.open(engine.build(population)).postings
    assert len(postings.record_owner) > 2900
    assert len(postings.group_second) < 1500


@pytest.mark.usefixtures("_always_covered")
@pytest.mark.parametrize(("uses", "ranges"), [(3, 2), (4, 1)])
def test_a_range_that_many_literals_name_keeps_its_own_list(uses: int, ranges: int) -> None:
    shared, engine = Range("a", ge=5, lt=7), BlockEngine()
    parts = engine.build([Subscription(f"{i}", And((shared, In("c", (i,))))) for i in range(uses)])
    assert len(parts["range_low"]) == ranges


Entry = tuple[int, int, int]


@settings(max_examples=200)
@given(
    st.sets(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 63)), max_size=60),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 42), st.integers(0, 42)), min_size=1, max_size=12),
    st.booleans(),
)
def test_the_events_inside_a_range_are_read_off(entries: set[Entry], asked: list[Entry], one_each: bool) -> None:
    if one_each:
        entries = {(ladder, rank, event) for (ladder, event), rank in {(e[0], e[2]): e[1] for e in entries}.items()}
    columns = np.array(sorted(entries), np.int32).reshape(-1, 3)
    tables = RankTables.of(columns[:, 0], columns[:, 1], columns[:, 2], 3, 1)
    held = [[event for ladder, _, event in entries if ladder == wanted] for wanted in range(3)]
    assert [bool(mark) for mark in tables.several] == [len(events) > len(set(events)) for events in held]
    for ladder, low, high in asked:
        wanted = {event for at, rank, event in entries if at == ladder and low <= rank <= high}
        a, b = rank_tables.runs_of(low, high, ladder, tables)
        found = int(rank_tables.joined(a, b, 0, tables.several[ladder], tables.masks)) if a >= 0 else 0
        assert {event for event in range(64) if found >> event & 1} == wanted
        if not tables.several[ladder]:
            assert {e for e in range(64) if rank_tables.is_inside(e, low, high, ladder, tables)} == wanted


def test_covers_are_the_narrowest_on_the_grid() -> None:
    found: list[tuple[Value | Number | None, ...]] = []
    for inside in (Inside(0, False, None, 3, 7, None), Inside(0, False, 4.0, None, None, None)):
        cover = covers._cover(inside, [0, 2, 4, 6, 8])
        found.append((cover.gt, cover.ge, cover.lt, cover.le))
    assert found == [(None, 2, None, 8), (None, 4, None, None)]
