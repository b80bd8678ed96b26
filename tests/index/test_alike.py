"""Subscriptions that say the same share a record, and only those; each answers for itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.block import alike
from index.block.builder import build_parts
from index.block.engine import BlockEngine
from index.block.spans import Words
from index.event_block import EventBlock
from schemas.expression import And, Exists, Expression, In, Not, NotIn, Or, Range
from schemas.records import Event, Subscription
from tests.contract.support import agree, expected, numbered, rows
from tests.strategies import rich_events, rich_subscriptions

A, B, C, D = In("a", (1,)), In("b", (1, 2)), NotIn("c", ("x",)), Exists("d")
TREE = And((Or((A, And((B, Exists("d"))))), Or((C, Exists("e"), And((B, Range("f", gt=1)))))))
WIDE = In("w", tuple(range(60)))


def lists(population: Sequence[Subscription]) -> list[list[int]]:
    """Return which subscriptions share a record."""
    parts = build_parts(population)
    start, owner = parts["owner_list_start"].tolist(), (parts["owner_list"] >> 1).tolist()
    assert {-1 - word for word in parts["record_owner"].tolist() if word < 0} == set(range(len(start) - 1))
    return [owner[a:b] for a, b in pairwise(start)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (A, In("a", (1,))),
        (A, In("a", (1, 1))),
        (A, In("a", (1.0,))),
        (A, In("a", (1,), (1.0,))),
        (And((A, B, C)), And((C, A, B))),
        (And((A, B)), And((In("b", (2, 1)), A))),
        (In("a", (1, 2), (0.5, 0.5)), In("a", (2, 1), (0.5, 0.5))),
        (In("a", (1, 2, 2), (0.5, 0.25, 9.0)), In("a", (2, 1), (0.25, 0.5))),
        (And((Range("f", gt=1, le=5), A)), And((A, Range("f", gt=1, le=5.0)))),
        (TREE, TREE),
        (Or((And((A, B)), And((D, C)))), Or((And((B, A)), And((C, D))))),
        (Or((And((A, D)), TREE)), Or((And((D, A)), TREE))),
        (Or((In("a", (1,), (0.5,)), D)), Or((In("a", (1,), (0.5,)), D))),
        (And((WIDE, A)), And((A, WIDE))),
        (And(tuple(Exists(f"x{i}") for i in range(70))), And(tuple(Exists(f"x{69 - i}") for i in range(70)))),
        (And(()), And(())),
    ],
)
def test_what_says_the_same_shares_a_record(one: Expression, other: Expression) -> None:
    assert lists(numbered([one, In("z", (9,)), other, one])) == [[0, 2, 3]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (A, In("a", (2,))),
        (A, In("a", (1,), (0.5,))),
        (A, NotIn("a", (1,))),
        (A, And((A, B))),
        (A, And((A, A))),  # scores twice
        (A, Not(Not(A))),  # scores nothing
        (In("a", (1, 2), (0.5, 0.25)), In("a", (1, 2), (0.25, 0.5))),
        (Or((And((A, B)), And((D, C)))), Or((And((D, C)), And((A, B))))),
        (TREE, Or((TREE, A))),
        (TREE, And((TREE, In("z", (9,))))),
    ],
)
def test_what_does_not_has_its_own(one: Expression, other: Expression) -> None:
    """The clauses of an OR are compared in their order."""
    assert lists(numbered([one, other])) == []


def test_priority_validity_and_mode_are_part_of_what_is_said() -> None:
    expression = And((A, B))
    same = Subscription("0", expression)
    others = [
        Subscription("1", expression, priority=1.0),
        Subscription("2", expression, priority=-1.0),
        Subscription("3", expression, not_before=5),
        Subscription("4", expression, not_after=5),
        Subscription("5", expression, mode="relaxed"),
        Subscription("6", expression, mode="threshold", threshold=0.5),
    ]
    assert lists([same, *others]) == []
    twice = [msgspec.structs.replace(s, id=f"{10 + i}") for i, s in enumerate([same, *others])]
    assert sorted(lists([same, *others, *twice])) == [[i, 7 + i] for i in range(5)]


def test_a_hash_that_says_nothing_joins_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys are compared, whatever the hash; weights, bounds and terms in turn."""
    monkeypatch.setattr(alike, "_find", alike._find.py_func)
    monkeypatch.setattr(alike, "_MIX", 0)
    expressions = [And((In("a", (i % 5,)), In("b", (i % 7,), (i % 2 + 0.5,)))) for i in range(140)]
    assert lists(numbered(expressions)) == [[i, i + 70] for i in range(70)]


@settings(deadline=None)
@pytest.mark.parametrize("words", [None, 1, 8, 32])
@given(data=st.data())
def test_each_answers_for_itself(words: Words | None, data: st.DataObject) -> None:
    """Of a few subscriptions there are many, in any order of ids, some of them dead."""
    drawn = data.draw(rich_subscriptions(min_size=1, max_size=4))
    which = data.draw(st.lists(st.integers(0, len(drawn) - 1), min_size=1, max_size=24))
    population = [msgspec.structs.replace(drawn[k], id=f"{i:03d}") for i, k in enumerate(which)]
    happened = data.draw(st.lists(rich_events(), min_size=1, max_size=4)) * data.draw(st.sampled_from([1, 20, 70]))
    dead = data.draw(st.sets(st.integers(0, len(population) - 1)))
    matcher = agree(BlockEngine(words), population, happened)
    assert rows(matcher, EventBlock.from_events(happened), dead) == expected(population, happened, dead)


@pytest.mark.parametrize("top", [0, 1, 7, 32, 33, 300, 5000])
@pytest.mark.parametrize("plain", [True, False])
def test_the_best_of_many_that_say_the_same(top: int, plain: bool) -> None:
    """Scores tie within lists and between them; lists reach beyond what is wanted, and the first of each are dead."""
    kinds: list[Expression] = [In("a", (1,), (w,)) for w in (0.5, 1.0, 0.5)]
    kinds += [Or((In("b", (1,)), In("a", (1,), (0.5,)))), And((In("a", (1,)), In("b", (1,))))]
    population = numbered([kinds[i % 7 % 5] for i in range(700)])
    weights = {} if plain else {"a": (2.0,), "b": (-1.0,)}
    happened = [Event({"a": (1,), "b": (i % 2,)}, weights, top or None) for i in range(66)]
    dead = set(range(40)) | set(range(100, 700, 3))
    matcher = BlockEngine().open(BlockEngine().build(population))
    assert len(matcher.postings.record_owner) == 5
    for gone in (set(), dead):
        assert rows(matcher, EventBlock.from_events(happened), gone) == expected(population, happened, gone)
