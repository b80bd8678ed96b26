"""Trees that many events satisfy are scored for all of them together, to the bit as the oracle scores each."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.block import hits, score_classes
from index.block.engine import BlockEngine
from index.block.spans import Words
from index.event_block import EventBlock
from schemas.expression import And, Derive, Expression, In, Not, NotIn, Or, Range
from schemas.records import Event, Mode, Subscription
from tests.contract.support import agree, rows
from tests.strategies import rich_events, rich_subscriptions

NAMES = "abcdef"
WEIGHTS = (None, None, 0.0, 2.0, 0.5, -1.0, 2.0**-21)


@st.composite
def leaves(draw: st.DrawFn) -> Expression:
    name, values = draw(st.sampled_from(NAMES)), draw(st.sampled_from([(1,), (2,), (1, 2), (1, 2, 3)]))
    kind = draw(st.integers(0, 7))
    if kind == 0:
        return NotIn(name, values)
    if kind == 1:
        return Range(name, ge=2)
    weight = draw(st.sampled_from(WEIGHTS))
    if kind == 2:
        return In(name, values, tuple(float(value) for value in values))
    return In(name, values, None if weight is None else (weight,) * len(values))


@cache
def trees() -> st.SearchStrategy[Expression]:
    def grown(children: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        args = st.lists(children, min_size=2, max_size=4).map(tuple)
        return st.one_of(st.builds(Or, args), st.builds(And, args), st.builds(Or, args), st.builds(Not, children))

    return st.recursive(leaves(), grown, max_leaves=14)


@st.composite
def populations(draw: st.DrawFn) -> list[Subscription]:
    """Each tree behind a leaf that most events satisfy, so that its OR is not split into clauses."""
    made = []
    for number in range(draw(st.integers(1, 6))):
        tree = And((Or((In("a", (1, 2, 3)), draw(leaves()))), draw(trees())))
        made.append(Subscription(f"{number}", tree, priority=draw(st.sampled_from([0.0, 0.0, 1.5, -2.0]))))
    return made


@cache
def happened() -> st.SearchStrategy[list[Event]]:
    values = st.one_of(st.sampled_from([(1,), (2,), (3,)]), st.sampled_from([(1,), (1, 2)]))
    event = st.fixed_dictionaries({"a": values}, optional=dict.fromkeys(NAMES[1:], values)).map(Event)
    return st.lists(event, min_size=1, max_size=8)


@settings(max_examples=250, deadline=None)
@given(populations(), happened(), st.sampled_from([1, 8]))
def test_scores_are_the_oracles(population: list[Subscription], some: list[Event], words: Words) -> None:
    events = some * hits.MANY_SCORED
    agree(BlockEngine(words), population, events)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.lists(leaves().filter(lambda leaf: not isinstance(leaf, NotIn)), min_size=1, max_size=5).map(tuple),
        min_size=1,
        max_size=6,
    ),
    happened(),
    st.sampled_from([("relaxed", None), ("threshold", 0.4), ("threshold", 0.7)]),
)
def test_leaves_that_need_not_hold_are_scored_as_the_oracle_says(
    conjunctions: list[tuple[Expression, ...]], some: list[Event], asked: tuple[Mode, float | None]
) -> None:
    mode, threshold = asked
    population = [
        Subscription(f"{number}", And(args), mode=mode, threshold=threshold)
        for number, args in enumerate(conjunctions)
        if mode == "relaxed" or all(min(getattr(leaf, "weights", None) or (1.0,)) >= 0.5 for leaf in args)
    ]
    events = some * hits.MANY_SCORED
    agree(BlockEngine(1), population, events)


@settings(max_examples=150, deadline=None)
@given(rich_subscriptions(max_size=6), st.lists(rich_events(), min_size=1, max_size=3))
def test_scores_of_every_leaf_and_mode_are_the_oracles(population: list[Subscription], some: list[Event]) -> None:
    events = [msgspec.structs.replace(event, top=None) for event in some] * hits.MANY_SCORED
    agree(BlockEngine(1), population, events)


@pytest.mark.parametrize("weights", [4, score_classes.CLASSES, score_classes.CLASSES + 3])
def test_a_tree_with_more_classes_than_there_is_room_for_is_scored_all_the_same(weights: int) -> None:
    branches = tuple(And((In("b", (value,), (2.0**value,)), In("c", (1,)))) for value in range(weights))
    tree = And((In("a", (1,)), Or((*branches, In("c", (2,))))))
    events = [Event({"a": (1,), "b": (value % weights,), "c": (1 + value // 40,)}) for value in range(60)]
    matcher = agree(BlockEngine(1), [Subscription("0", tree)], events)
    assert len({score for _, _, score in rows(matcher, EventBlock.from_events(events))}) >= weights


def test_a_product_keeps_what_its_argument_does_not_hold_for_only_in_the_clause_itself() -> None:
    for frame, rest in ((0, [(5, 0b10000)]), (1, [])):
        classes = score_classes.Classes.of(3, 1)
        classes.size[frame : frame + 2] = 1, 2
        classes.points[frame, 0], classes.mask[frame, 0] = 5, 0b11110
        classes.points[frame + 1, :2], classes.mask[frame + 1, :2, 0] = (1, 2), (0b00011, 0b01100)
        assert score_classes._multiply((0,), classes, frame, 4)
        found = zip(classes.points[frame].tolist(), classes.mask[frame, :, 0].tolist(), strict=True)
        assert sorted(list(found)[: classes.size[frame]]) == [*rest, (6, 0b00010), (7, 0b01100)]


@pytest.mark.parametrize(("mode", "threshold"), [("relaxed", None), ("threshold", 0.5), ("threshold", 0.6)])
@pytest.mark.parametrize(
    "never",
    [
        Range("a", gt=5, lt=5),
        Range(Derive("add", "a", (2**62,)), gt=-1, lt=0),
        Range(Derive("length", "a"), lt=0),
        In(Derive("lower", "a"), ("A",)),
    ],
    ids=["empty", "no such sum", "no such length", "no such letters"],
)
def test_a_weighted_leaf_that_never_holds_has_its_part_in_the_weights_alone(
    never: Expression, mode: Mode, threshold: float | None
) -> None:
    population = [
        Subscription("0", And((In("a", (1,)), never)), mode=mode, threshold=threshold),
        Subscription("1", And((never, In("b", (1,), (3.0,)), In("c", (1,)))), mode=mode, threshold=threshold),
        Subscription("2", never, mode=mode, threshold=threshold),
    ]
    events = [Event({"a": (1 + i % 2, "x"), "b": (1 + i // 2 % 2,), "c": (1 + i // 4 % 2,)}) for i in range(40)]
    for words in (1, 8):
        agree(BlockEngine(words), population, events)
