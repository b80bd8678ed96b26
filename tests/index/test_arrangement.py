"""The order in which a block's events are matched spares reads where it can, and is left alone where it cannot."""

from __future__ import annotations

import random

import numpy as np
import pytest

from index.block import matcher as matching
from index.block.arrangement import Standing, cuts_of
from index.block.engine import BlockEngine
from index.block.layout import ALL, Int64s
from index.block.matcher import BlockMatcher
from index.block.reached import touched
from index.event_block import EventBlock
from index.oracle import match_subscription
from schemas.expression import And, Contains, Derive, Exists, Expression, In, Not, Range, StartsWith, Within
from schemas.records import Event, Subscription

EVENTS = 2048
CHUNK = 512


def _opened(expressions: list[Expression]) -> tuple[list[Subscription], BlockMatcher]:
    engine = BlockEngine()
    population = [Subscription(f"{i:05d}", expression) for i, expression in enumerate(expressions)]
    return population, engine.open(engine.build(population))


def _order(matcher: BlockMatcher, events: list[Event]) -> Int64s | None:
    order = matcher._translator.view(EventBlock.from_events(events), [CHUNK]).order
    return order.event if order.is_arranged else None


def _reads(matcher: BlockMatcher, events: list[Event]) -> tuple[int, int]:
    """Return the records read for all events in one block, and in blocks of a chunk each, which cannot be arranged."""
    apart = (events[first : first + CHUNK] for first in range(0, len(events), CHUNK))
    return (
        touched(matcher, EventBlock.from_events(events)).records,
        sum(touched(matcher, EventBlock.from_events(some)).records for some in apart),
    )


def _months(rng: random.Random) -> Expression:
    return And((In("month", (rng.randrange(12),)), In(f"a{rng.randrange(20)}", tuple(rng.sample(range(30), 3)))))


def _happened(rng: random.Random) -> Event:
    others: dict[str, tuple[int, ...]] = {f"a{name}": (rng.randrange(30),) for name in range(20)}
    return Event({"month": (rng.randrange(12),), "depth": (rng.randrange(1000),), **others})


def _deep(rng: random.Random) -> Expression:
    low = 10 * rng.randrange(95)
    return And((Range("depth", ge=low, le=low + 50), In(f"a{rng.randrange(20)}", tuple(rng.sample(range(30), 20)))))


@pytest.mark.parametrize(("draw", "attribute"), [(_months, "month"), (_deep, "depth")])
def test_events_that_are_alike_share_a_chunk(draw: object, attribute: str) -> None:
    rng = random.Random(1)
    _, matcher = _opened([draw(rng) for _ in range(6000)])  # type: ignore[operator]
    events = [_happened(rng) for _ in range(EVENTS)]
    order = _order(matcher, events)
    assert order is not None
    assert sorted(order.tolist()) == list(range(EVENTS))
    values = [events[event].attributes[attribute][0] for event in order.tolist()]
    chunks = [set(values[first : first + CHUNK]) for first in range(0, EVENTS, CHUNK)]
    # neighbours in the order share at most the value at their border, or few where values lie between two bounds
    assert sum(map(len, chunks)) <= 1.1 * len(set(values)) + len(chunks)
    together, apart = _reads(matcher, events)
    assert together < 0.6 * apart


@pytest.mark.parametrize(
    ("runs", "size", "expected"),
    [
        ([1] * 20, 8, [0, 8, 16, 20]),  # all differ
        ([20], 8, [0, 8, 16, 20]),  # all alike
        ([5, 5, 5, 5], 8, [0, 5, 10, 15, 20]),
        ([3, 6, 3, 2], 8, [0, 8, 14]),  # the border before the middle would leave too little
        ([4, 6], 8, [0, 4, 10]),
        ([2, 2, 2], 8, [0, 6]),
        ([11, 11], 8, [0, 8, 16, 22]),
        ([12, 8], 8, [0, 8, 12, 20]),
    ],
)
def test_chunks_end_where_they_are_full_or_where_a_value_does(runs: list[int], size: int, expected: list[int]) -> None:
    found = cuts_of(np.repeat(np.arange(len(runs)), runs), size).tolist()
    assert max(np.diff(found)) <= size
    assert found == expected


def test_answers_are_the_oracles_and_in_the_blocks_order() -> None:
    rng = random.Random(2)
    population, matcher = _opened([rng.choice((_months, _deep))(rng) for _ in range(5000)])
    events = [_happened(rng) for _ in range(EVENTS)]
    assert _order(matcher, events) is not None
    for top in (0, 3):
        found = matcher.match(EventBlock.from_events(events, top))
        assert (np.diff(found.event) >= 0).all()
        for event in rng.sample(range(EVENTS), 25):
            expected = [
                (-points, ordinal)
                for ordinal, subscription in enumerate(population)
                if (points := match_subscription(subscription, events[event])) is not None
            ]
            rows = found.event == event
            got = list(zip((-found.score[rows]).tolist(), found.subscription[rows].tolist(), strict=True))
            assert got == sorted(expected)[: top or None]


def test_derived_values_and_absent_ones_are_sorted_by_as_well() -> None:
    rng = random.Random(3)
    _, matcher = _opened(
        [
            And((In(Derive("length", "text"), (rng.randrange(60),)), In(f"a{rng.randrange(9)}", (1, 2), (i, i))))
            for i in range(5000)
        ]
    )
    events = [
        Event({**({"text": ("x" * rng.randrange(60),)} if rng.random() < 0.5 else {}), f"a{rng.randrange(9)}": (1,)})
        for _ in range(EVENTS)
    ]
    order = _order(matcher, events)
    assert order is not None
    texts = [events[event].attributes.get("text") for event in order.tolist()]
    assert texts.index(None) == 0
    runs = [text for i, text in enumerate(texts) if i == 0 or text != texts[i - 1]]
    assert len(runs) == len(set(runs)) == 61


def test_events_stay_as_they_are_where_no_order_helps() -> None:
    rng = random.Random(4)
    _, matcher = _opened([_months(rng) for _ in range(6000)])
    same = [_happened(rng)] * EVENTS
    assert _order(matcher, same) is None
    assert _order(matcher, [_happened(rng) for _ in range(CHUNK)]) is None
    assert _order(matcher, []) is None
    # a record in two hundred reads the attribute, so sorting by it is not worth the while
    _, matcher = _opened([In(f"a{rng.randrange(200)}", (rng.randrange(3),)) for _ in range(6000)])
    assert _order(matcher, [Event({f"a{n}": (rng.randrange(3),) for n in range(200)}) for _ in range(EVENTS)]) is None


def test_what_is_expected_of_rows_is_what_a_block_sets() -> None:
    """Terms, lists, ranges, presences, tests, and all but a list; no event has two values that a row takes."""
    rng = random.Random(5)
    leaves: list[Expression] = [
        *(In("a", (n,)) for n in range(30)),
        *(In("b", tuple(rng.sample(range(30), 5))) for _ in range(10)),
        *(Range("depth", ge=n, lt=n + 300) for n in range(0, 700, 100)),
        *(StartsWith("text", "x" * n) for n in (3, 40)),
        *(Contains("text", part) for part in ("xy", "yx")),
        Exists("c"),
        Within("d", (1, 2, 3)),
        Not(Within("d", (1, 2))),
    ]
    _, matcher = _opened([And(tuple(rng.sample(leaves, 2))) for _ in range(5000)])
    events = [
        Event(
            {
                "a": (rng.randrange(40),),
                "b": (rng.randrange(40),),
                "depth": (rng.randrange(1000),),
                "text": ("x" * rng.randrange(60) + "y",),
                **({"c": (1,)} if rng.random() < 0.3 else {}),
                "d": (rng.randrange(5),),
            }
        )
        for _ in range(CHUNK)
    ]
    block = EventBlock.from_events(events)
    translator = matcher._translator
    attribute, *_ = translator._rows_of(block)
    marks, arrangement = translator.view(block, [CHUNK]).marks, translator._arrangement
    times = np.bincount(block.term, minlength=len(block.values))
    standing = Standing(attribute, *translator._ranks(block, attribute))
    found = dict(zip(arrangement._sample.row.tolist(), arrangement._times_set(times, marks, standing), strict=True))
    assert len(found) > 40
    _, marked, _ = next(iter(matcher.listings(block)))
    for row, count in found.items():
        bits = np.bitwise_count(marked.chunk.masks[row]).sum() if marked.chunk.stamp[row] == marked.chunk.epoch else 0
        assert count == (np.inf if row == ALL else bits), row
    assert not arrangement._set.any()


def _wide(rng: random.Random) -> Expression:
    names = rng.sample(range(8), 3)
    return And(tuple(In(f"a{name}", tuple(rng.sample(range(30), 4))) for name in names))


def _long_chunks(matcher: BlockMatcher, events: list[Event]) -> bool:
    _, cut = matcher._view(EventBlock.from_events(events))
    return any(span.words == 32 for span in cut)


def test_chunks_are_long_where_that_spares_reads_and_sorting_does_not() -> None:
    """A record wants four of thirty values, each of which some events of any chunk have; or one month of twelve."""
    rng = random.Random(3)
    population, matcher = _opened([_wide(rng) for _ in range(3000)])
    events = [
        Event({f"a{name}": (rng.randrange(30),) for name in range(8)}, top=rng.choice((None, 2))) for _ in range(EVENTS)
    ]
    assert _long_chunks(matcher, events)
    assert not _long_chunks(matcher, events[:CHUNK])
    assert not _long_chunks(_opened([_months(rng) for _ in range(3000)])[1], [_happened(rng) for _ in range(EVENTS)])
    block = EventBlock.from_events(events)
    long, short = (
        found.match(block).rows() for found in (matcher, BlockEngine(8).open(BlockEngine().build(population)))
    )
    assert len(long.event) > EVENTS
    assert [column.tolist() for column in long] == [column.tolist() for column in short]


def test_chunks_are_not_long_where_the_masks_of_all_rows_would_fill_the_cache() -> None:
    rng = random.Random(4)
    _, matcher = _opened([_wide(rng) for _ in range(3000)])
    events = [Event({f"a{name}": (rng.randrange(30),) for name in range(8)}) for _ in range(EVENTS)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_LONG_MASKS", 1 << 10)
        assert not _long_chunks(matcher, events)
    assert _long_chunks(matcher, events)
