"""Access sets follow what was observed of events, and no statistics, however wrong, change an answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.block.engine import BlockEngine
from index.block.frequencies import Frequencies
from index.block.ladders import Ladders
from index.block.reached import candidates
from index.block.vocabulary import Inside, Vocabulary
from index.engine import EstimatingEngine, Parts
from index.event_block import EventBlock
from index.observed.collector import Collector
from index.observed.histogram import Histogram
from index.observed.statistics import AttributeStatistics, EventStatistics, attribute_key, bounded_key, total
from index.oracle import match_subscription
from index.terms import Dictionary, value_bytes
from schemas.expression import And, Contains, Exists, Expression, In, Matches, Or, Range, Within
from schemas.records import Event, Subscription
from schemas.values import Value
from tests.strategies import ATTRIBUTES, events, rich_events, rich_subscriptions, values

counts = st.one_of(st.sampled_from((0.0, 1.0, 1e300, math.inf, math.nan, -5.0)), st.floats(0, 1e6))


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    rows = draw(st.lists(st.tuples(st.floats(), st.floats(), st.floats(0, 1e6)), max_size=4))
    return Histogram(*(tuple(column) for column in zip(*rows, strict=True))) if rows else Histogram()


@st.composite
def any_statistics(draw: st.DrawFn) -> EventStatistics:
    """Well-formed, and otherwise anything."""
    listed = st.dictionaries(values().map(value_bytes).map(bounded_key), counts, max_size=6)
    attribute = st.builds(AttributeStatistics, counts, counts, counts, counts, listed, histograms())
    names = st.sampled_from((*ATTRIBUTES, "t", "n", "v")).map(attribute_key)
    return EventStatistics(
        draw(counts), draw(counts), draw(counts), draw(st.dictionaries(names, attribute, max_size=6))
    )


def observed(*happened: Event) -> EventStatistics:
    found = []
    for first in range(0, len(happened), 64):
        collector = Collector()
        collector.see(EventBlock.from_events(happened[first : first + 64]))
        found.append(collector.take())
    return total(found)


@settings(max_examples=60, deadline=None)
@given(rich_subscriptions(max_size=8), st.lists(rich_events(), max_size=4), any_statistics())
def test_wrong_statistics_change_no_answer(
    population: list[Subscription], happened: list[Event], wrong: EventStatistics
) -> None:
    engine = BlockEngine()
    found = engine.open(engine.build(population, wrong)).match(EventBlock.from_events(happened))
    expected = []
    for e, event in enumerate(happened):
        scored = [(match_subscription(s, event), o) for o, s in enumerate(population)]
        ranked = sorted((-points, o) for points, o in scored if points is not None)
        expected += [(e, o, -points) for points, o in ranked[: event.top]]
    assert list(zip(*(column.tolist() for column in found.rows()), strict=True)) == expected


@settings(max_examples=20, deadline=None)
@given(rich_subscriptions(max_size=6), st.lists(events(), min_size=1, max_size=6))
def test_equal_subscriptions_and_statistics_build_equal_bytes(
    population: list[Subscription], happened: list[Event]
) -> None:
    one, other = (BlockEngine().build(list(population), observed(*happened)) for _ in range(2))
    assert {name: part.tobytes() for name, part in one.items()} == {n: p.tobytes() for n, p in other.items()}


def frequencies(known: EventStatistics | None, *leaves: Expression) -> list[float]:
    vocabulary = Vocabulary()
    predicates = [
        vocabulary.listed(leaf.attribute, leaf.values).predicate
        if isinstance(leaf, In)
        else vocabulary.literal(leaf) >> 1
        for leaf in leaves
    ]
    listed = list(vocabulary.predicates)
    estimate = Frequencies(vocabulary, Ladders(p for p in listed if type(p) is Inside), known)
    return [estimate.of(listed[p]) for p in predicates]


def test_shares_of_events_are_estimated_for_every_kind_of_predicate() -> None:
    rng = np.random.default_rng(1)
    happened = []
    for i in range(4096):
        kind = "many" if i % 4 else "few"
        held: dict[str, tuple[Value, ...]] = {
            "kind": (kind,),
            "price": (float(rng.uniform(0, 1000)),),
            "id": (i,),
            "name": (f"{kind}-{i % 8}",),
        }
        happened.append(Event(held | ({"gate": (1, 2)} if i % 10 == 0 else {})))
    known = observed(*happened)
    leaves: dict[Expression, float] = {
        In("kind", ("many",)): 0.75,
        In("kind", ("few",)): 0.25,
        In("kind", ("none",)): 0.0,
        In("kind", ("few", "none")): 0.25,
        Exists("gate"): 0.1,
        Exists("nowhere"): 0.0,
        In("nowhere", (1,)): 0.0,
        In("id", (17,)): 1 / 4096,
        Range("price", lt=100): 0.1,
        Range("price", ge=500, lt=501): 0.001,
        Range("price", gt=5000): 0.0,
        Range("name", ge="few", lt="few."): 0.25,
        Within("gate", (1,)): 0.1,
        Within("kind", ("many",)): 0.25,
        Contains("gate", "x"): 0.005,
        Matches("kind", "f.*"): 0.05,
    }
    found = frequencies(known, *leaves)
    assert all(0 < share <= 1 for share in found)
    assert dict(zip(leaves, found, strict=True)) == pytest.approx(leaves, abs=0.012)


@settings(max_examples=60, deadline=None)
@given(any_statistics())
def test_no_predicate_is_expected_never_or_more_than_always(wrong: EventStatistics) -> None:
    leaves: list[Expression] = [
        In("a", (1,)),
        In("a", ("a", 2)),
        Exists("b"),
        Within("c", (1,)),
        Range("a", ge=1, lt=3),
    ]
    leaves += [Range("b", ge="a", lt="b"), Range("c", gt=0), Contains("b", "x"), Matches("a", "x")]
    assert all(0 < share <= 1 for share in frequencies(wrong, *leaves))


def test_few_events_move_a_guess_little_and_none_not_at_all() -> None:
    leaves = [In("a", (i,)) for i in range(3)]
    guess = frequencies(None, *leaves)
    assert frequencies(EventStatistics(), *leaves) == guess
    one = frequencies(observed(Event({"a": (0,)})), *leaves)
    assert all(0.5 < share / before < 2 for share, before in zip(one, guess, strict=True))
    assert one[0] > one[1] == one[2]


def access(parts: Parts) -> dict[int, set[tuple[str, bytes]]]:
    """Return the terms that each subscription is posted under, as (attribute, value)."""
    terms, attributes = Dictionary.of(parts, "term"), Dictionary.of(parts, "attribute")
    rows = len(parts["shared_start"]) - 1
    found: dict[int, set[tuple[str, bytes]]] = {}
    for group in range(len(parts["group_second"])):
        row = (int(np.searchsorted(parts["group_start"], group, side="right")) - 1) % rows
        name = attributes.keys[int(terms.tags[row - 1])][1:].decode()
        for record in range(*parts["group_record"][group : group + 2].tolist()):
            found.setdefault(int(parts["record_owner"][record]) >> 1, set()).add((name, terms.keys[row - 1]))
    return found


def test_the_literal_that_is_rarer_by_events_is_the_access_row_and_candidates_fall() -> None:
    """By subscriptions ``hot`` and ``warm`` have many values and seem rare; events have one or two of them."""
    population = [
        Subscription(
            f"{i:03d}",
            And((In("hot", (i % 40,)), In("warm", (i % 41,)), In("cool", (i % 4,)), In("rare", (i % 2,)))),
        )
        for i in range(200)
    ]
    happened = [
        Event({"hot": (0,), "warm": (i % 2,), "cool": (i % 4,)} | ({"rare": (i % 2,)} if i % 50 == 0 else {}))
        for i in range(640)
    ]
    engine = BlockEngine()
    assert isinstance(engine, EstimatingEngine)
    known = observed(*happened)
    guessed, informed = engine.build(population), engine.build(population, known)
    assert access(guessed)[0] <= {("hot", value_bytes(0)), ("warm", value_bytes(0))}
    assert access(informed)[0] == {("rare", value_bytes(0))}
    block = EventBlock.from_events(happened)
    before, after = (engine.open(parts) for parts in (guessed, informed))
    few, many = (len(candidates(matcher, block)[0]) for matcher in (after, before))
    assert 0 < few < many / 5
    assert [c.tolist() for c in before.match(block).rows()] == [c.tolist() for c in after.match(block).rows()]


def test_an_or_is_entered_by_its_arguments_or_by_what_stands_beside_it_whichever_is_rarer() -> None:
    either = Or((In("a", (1,)), In("b", (1,))))
    population = [Subscription("s", And((either, In("c", (1,)))))]
    common, rare = {"a": (1,), "b": (1,), "c": (2,)}, {"a": (2,), "b": (2,), "c": (1,)}
    by_either = BlockEngine().build(population, observed(*[Event(rare)] * 200))
    beside = BlockEngine().build(population, observed(*[Event(common)] * 200))
    assert access(by_either)[0] == {("a", value_bytes(1)), ("b", value_bytes(1))}
    assert access(beside)[0] == {("c", value_bytes(1))}
