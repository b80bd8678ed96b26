"""What an event with several values, or with weights over 1, can get beyond a record's bound."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.block import ranking, surplus
from index.block.engine import BlockEngine
from index.block.layout import MARKS
from index.block.matcher import BlockMatcher
from index.block.surplus import Surplus
from index.event_block import EventBlock
from schemas.expression import And, Expression, In, Or
from schemas.records import Event, Subscription
from tests.strategies import events, rich_events, rich_subscription, subscription

NAMES = [f"a{i:02d}" for i in range(MARKS + 4)]
"""Some attributes share a mark."""


def surplus_of(matcher: BlockMatcher, event: Event) -> Surplus:
    view = matcher._translator.view(EventBlock.from_events([event]), [64])
    found = Surplus.of(1)
    surplus.limits(0, 1, view.entries, matcher.postings, found)
    return found


@settings(max_examples=400, deadline=None)
@given(st.one_of(subscription("s"), rich_subscription("s")), st.one_of(events(), rich_events()))
def test_no_record_gives_an_event_more_than_its_bound_and_the_surplus(wanted: Subscription, event: Event) -> None:
    engine = BlockEngine()
    matcher = engine.open(engine.build([wanted]))
    found, postings = surplus_of(matcher, event), matcher.postings
    assert found.whole[0] == pytest.approx(found.marked[0].sum())
    for points in matcher.match(EventBlock.from_events([event])).score.tolist():
        marked = [surplus.of_marks(found, 0, marks) for marks in postings.record_marks]
        assert points <= max(bound + more for bound, more in zip(postings.record_bound, marked, strict=True))
        bound = float(postings.record_bound.max())
        assert points <= bound + found.whole[0]
        assert np.isinf(found.scale[0]) or points <= bound * found.scale[0] + found.slack[0]
    for first, stop in zip(postings.group_record[:-1], postings.group_record[1:], strict=True):
        assert np.bitwise_or.reduce(postings.record_marks[first:stop]) in postings.group_marks


def grown(rng: random.Random, depth: int = 2) -> Expression:
    """A tree over weighted lists, as many subscriptions have that compete for the best places."""
    if depth == 0 or rng.random() < 0.5:
        values = tuple(rng.sample(range(6), rng.randint(1, 4)))
        weights = tuple(rng.choice((-1.0, 0.0, 0.25, 0.5, 1.0, 1.0, 2.0)) for _ in values)
        return In(rng.choice(NAMES), values, weights if rng.random() < 0.8 else None)
    args = tuple(grown(rng, depth - 1) for _ in range(rng.randint(2, 3)))
    return And(args) if rng.random() < 0.4 else Or(args)


def happened(rng: random.Random) -> Event:
    held = {name: tuple(rng.sample(range(6), rng.choice((1, 1, 1, 2, 3)))) for name in rng.sample(NAMES, 12)}
    weighted = rng.sample(sorted(held), rng.choice((0, 0, 1, 5)))
    return Event(held, {n: tuple(rng.choice((-2.0, 0.5, 1.0, 3.0)) for _ in held[n]) for n in weighted})


@pytest.mark.parametrize("unknown", [(), ("record_marks", "group_marks", "attribute_limit")], ids=["marks", "no marks"])
def test_the_best_of_many_are_the_first_of_all(unknown: tuple[str, ...]) -> None:
    """Segments of earlier formats have no marks: any record may score by anything."""
    rng, engine = random.Random(7), BlockEngine()
    population = [Subscription(f"{i:04d}", grown(rng), priority=rng.choice((0.0, 0.5))) for i in range(3000)]
    parts = dict(engine.build(population))
    for name in unknown:
        del parts[name]
    matcher, flow = engine.open(parts), [happened(rng) for _ in range(150)]
    every = matcher.match(EventBlock.from_events(flow))
    for top in (1, 3, 20, 90):
        best = matcher.match(EventBlock.from_events(flow, top))
        for event in range(len(flow)):
            first, stop = best.begin[event : event + 2]
            place = every.begin[event]
            assert best.subscription[first:stop].tolist() == every.subscription[place:][: stop - first].tolist()
            assert best.score[first:stop].tolist() == every.score[place:][: stop - first].tolist()
            assert stop - first == min(top, every.begin[event + 1] - place)


def test_an_event_gets_more_of_those_attributes_only_of_which_it_brings_more() -> None:
    listed: dict[str, Any] = {"values": ("x", "y"), "weights": (0.5, 0.25)}
    engine = BlockEngine()
    matcher = engine.open(engine.build([Subscription("0", In("tag", **listed)), Subscription("1", In("a", **listed))]))
    unit = 2.0**20
    for event, tag, other in (
        (Event({"tag": ("x",), "a": ("y",)}), 0.0, 0.0),
        (Event({"tag": ("x", "y"), "a": ("y",)}), 0.5, 0.0),
        (Event({"tag": ("x",), "a": ("x",)}, {"a": (3.0,)}), 0.0, 1.0),
        (Event({"tag": ("x",), "a": ("x",)}, {"tag": (-1.0,), "a": (0.5,)}), np.inf, 0.0),
    ):
        found = surplus_of(matcher, event)
        marks = dict(zip(matcher.postings.record_owner >> 1, matcher.postings.record_marks, strict=True))
        got = [surplus.of_marks(found, 0, marks[ordinal]) / unit for ordinal in (0, 1)]
        assert got == pytest.approx([tag, other], abs=0.1)  # roundings of all leaves that an expression may have
        assert [more == 0 for more in got] == [tag == 0, other == 0]


def test_leaves_of_one_attribute_each_get_more() -> None:
    both = And((In("b", (1,), (1.0,)), In("b", (2,), (0.5,))))
    engine = BlockEngine()
    matcher = engine.open(engine.build([Subscription("0", both), Subscription("1", In("b", (3,), (1.0,)))]))
    assert matcher.postings.attribute_limit.tolist() == [1.5 * 2**20]
    (mark,) = set(matcher.postings.record_marks)
    for weights, more in (((3.0, 1.0), 3.0), ((1.0, 3.0), 3.0), ((1.0, 0.5), 0.0), ((2.0, -1.0), np.inf)):
        found = surplus_of(matcher, Event({"b": (1, 2)}, {"b": weights}))
        assert surplus.of_marks(found, 0, mark) / 2.0**20 == pytest.approx(more, abs=0.1)


def test_a_record_is_passed_over_by_its_own_attributes() -> None:
    best = ranking.Best.of(np.ones(1, np.int32), 10)
    best.surplus.scale[:], best.surplus.marked[0, 3], best.surplus.whole[:] = 2.0, 50.0, 50.0
    assert not ranking.is_outdone(best, 0, 10.0, 0)
    ranking.offer(best, 0, 4, 100)
    assert best.need[0] == 50
    assert [ranking.is_outdone(best, 0, 70.0, marks) for marks in (0b0111, 0b1000, 0b1010)] == [True, False, False]
    assert [ranking.is_outdone(best, 0, bound, 0) for bound in (99.0, 100.0)] == [True, False]


@pytest.mark.parametrize("tree", [False, True], ids=["a conjunction", "a tree"])
def test_a_clause_of_more_leaves_than_roundings_are_allowed_for_is_never_passed_over(tree: bool) -> None:
    """Within the limits it may have them: lists of keywords, all of which must be there, are one predicate each."""
    values, unit = tuple(range(2**15 + 2**13)), 2.0**-20
    args: tuple[Expression, ...] = tuple(In("x", (value,), (unit,)) for value in values)
    if tree:
        args = (*args, Or((In("y", (1,), (0.0,)), And((In("y", (2,), (0.0,)), In("x", (0,), (0.0,)))))))
    population = [Subscription("many", And(args)), Subscription("one", In("y", (1,), (80_000 * unit,)))]
    event = Event({"x": values, "y": (1,)}, {"x": (1.51,) * len(values)})  # so that each leaf gives 2 units
    engine = BlockEngine()
    best = engine.open(engine.build(population)).match(EventBlock.from_events([event], 1))
    assert (best.subscription.tolist(), best.score.tolist()) == ([0], [2 * len(values)])
