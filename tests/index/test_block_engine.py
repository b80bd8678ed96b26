"""Beyond the contract: access sets lose nothing, buffers cut nothing, memory stays clean."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.block import collected, ordering, ranking, reached, workspace
from index.block import matcher as matching
from index.block.engine import BlockEngine
from index.block.matcher import BlockMatcher
from index.block.spans import Span, Words
from index.event_block import EventBlock
from index.oracle import match_subscription
from schemas.errors import TocsinError
from schemas.expression import And, Exists, In, Not, NotIn, Or, Range
from schemas.records import Event, Subscription
from stream.settings_tables import Job
from tests.strategies import events, rich_events, rich_subscriptions, subscriptions

A, B, C = In("a", (1,)), In("b", (1,)), In("c", tuple(range(9)))


def opened(*expressions: object) -> BlockMatcher:
    engine = BlockEngine()
    return engine.open(engine.build([Subscription(f"{i:03d}", e) for i, e in enumerate(expressions)]))  # type: ignore[arg-type]


def candidates(matcher: BlockMatcher, *happened: Event) -> list[tuple[int, int]]:
    event, ordinal = reached.candidates(matcher, EventBlock.from_events(happened))
    return sorted(zip(event.tolist(), ordinal.tolist(), strict=True))


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(subscriptions(max_size=12), rich_subscriptions(max_size=8)),
    st.lists(st.one_of(events(), rich_events()), max_size=6),
)
def test_candidates_are_a_superset_of_matches(population: list[Subscription], happened: list[Event]) -> None:
    engine = BlockEngine()
    found = set(candidates(engine.open(engine.build(population)), *happened))
    for e, event in enumerate(happened):
        for ordinal, subscription in enumerate(population):
            if match_subscription(subscription, event) is not None:
                assert (e, ordinal) in found


def test_an_event_wakes_only_what_its_values_may_satisfy() -> None:
    others = [And((A, In("x", (i,)))) for i in range(50)]
    matcher = opened(*others, And((A, B)), Or((B, C)), And((NotIn("d", (1,)), Range("r", gt=5), Exists("a"))))
    assert candidates(matcher, Event({"z": (1,)})) == []
    assert candidates(matcher, Event({"x": (7,), "r": (9,), "a": (1,)})) == [(0, 7), (0, 52)]
    assert candidates(matcher, Event({"c": (3,), "r": (5,)})) == [(0, 51)]


def test_a_group_is_reached_only_where_both_of_its_rows_hold() -> None:
    matcher = opened(*(And((A, In("x", (i,)))) for i in range(50)))
    assert candidates(matcher, Event({"x": (7,)})) == []
    assert candidates(matcher, Event({"a": (1,)})) == []
    assert candidates(matcher, Event({"a": (1,), "x": (7,)})) == [(0, 7)]


def test_a_clause_with_several_access_rows_is_a_candidate_once() -> None:
    matcher = opened(And((Or((A, B, C)), Or((A, And((B, C)))), NotIn("d", (1,)))))
    assert candidates(matcher, Event({"a": (1,), "b": (1,), "c": (2,)})) == [(0, 0)]


def test_a_clause_without_an_access_set_is_always_a_candidate() -> None:
    matcher = opened(Not(A), Or((A, Not(B))), And((Not(A), Not(B))))
    assert [ordinal for _, ordinal in candidates(matcher, Event({}))] == [0, 1, 2]


@settings(max_examples=60, deadline=None)
@given(population=subscriptions(min_size=1, max_size=8), few=st.lists(events(), min_size=1, max_size=3))
def test_a_walk_that_stops_for_room_goes_on_where_it_stopped(population: list[Subscription], few: list[Event]) -> None:
    engine, block = BlockEngine(), EventBlock.from_events(few * 100)
    wanted = engine.open(engine.build(population)).match(block)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "HITS", 512)
        found = engine.open(engine.build(population)).match(block)
    assert [column.tolist() for column in found.rows()] == [column.tolist() for column in wanted.rows()]


@settings(max_examples=60, deadline=None)
@given(population=subscriptions(min_size=1, max_size=8), few=st.lists(events(), min_size=1, max_size=3))
def test_few_events_hits_are_written_where_they_stay_or_copied(
    population: list[Subscription], few: list[Event]
) -> None:
    """Until one has to be scored, in the first buffer or a later one."""
    engine, block = BlockEngine(), EventBlock.from_events(few * 20)
    wanted = engine.open(engine.build(population)).match(block)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collected, "_DIRECT", 0)
        patch.setattr(workspace, "HITS", 3)
        found = engine.open(engine.build(population)).match(block)
    assert [column.tolist() for column in found.rows()] == [column.tolist() for column in wanted.rows()]


@settings(max_examples=60, deadline=None)
@given(population=subscriptions(min_size=1, max_size=8), few=st.lists(events(), min_size=1, max_size=3))
def test_hits_and_their_single_matches_come_in_one_order(population: list[Subscription], few: list[Event]) -> None:
    engine, block = BlockEngine(), EventBlock.from_events(few * 30)
    parts = engine.build(population)
    found = []
    for many in (0, np.inf):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(collected, "MANY", many)
            found.append([column.tolist() for column in engine.open(parts).match(block).rows()])
    assert found[0] == found[1]


@pytest.mark.parametrize("limit", [0, 2, 1024])
def test_ranking_and_sorting_agree(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "RANK_LIMIT", limit)
    rng = np.random.default_rng(5)
    weights = rng.integers(0, 6, (60, 3)) / 4
    matcher = opened(*(Or(tuple(In(n, (1,), (w,)) for n, w in zip("abc", row, strict=True))) for row in weights))
    held = [dict.fromkeys(names, (1,)) for names in ("abc", "a", "bc", "")]
    happened = [Event(held[i % 4], top=[None, 1, 2, 3, 50, 100][i % 6]) for i in range(48)]
    found = matcher.match(EventBlock.from_events(happened)).rows()
    everything = [Event(event.attributes) for event in happened]
    complete = matcher.match(EventBlock.from_events(everything)).rows()
    for e, event in enumerate(happened):
        mine, full = (m.take(m.event == e) for m in (found, complete))
        assert mine.subscription.tolist() == full.subscription.tolist()[: event.top]
        assert mine.score.tolist() == full.score.tolist()[: event.top]


@st.composite
def unordered(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Matches of three events: (event, owner word, score), an owner of several records perhaps more than once."""
    scores = draw(st.sampled_from((st.integers(0, 3).map(lambda n: n << 20), st.integers(-(2**62), 2**62))))
    words = st.one_of(st.integers(0, 40).map(lambda n: 2 * n + 1), st.integers(41, 3000).map(lambda n: 2 * n))
    found = draw(st.lists(st.tuples(st.integers(0, 2), words, scores), max_size=300))
    alone = {(event, word): (event, word, score) for event, word, score in found if not word & 1}
    return [row for row in found if row[1] & 1] + list(alone.values())


@given(unordered())
def test_the_order_is_the_contracts_for_any_scores_and_owners_come_once(rows: list[tuple[int, int, int]]) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 3)
    half = len(columns) // 2
    dealer = ordering.Dealer(7, 3)
    for c in (columns[:half], columns[half:]):
        dealer.add(c[:, 0].astype(np.int32) + 7, c[:, 1].astype(np.int32), c[:, 2].copy())
    best: dict[tuple[int, int], int] = {}
    for event, word, score in rows:
        best[event, word >> 1] = max(score, best.get((event, word >> 1), score))
    wanted = sorted(
        ((event + 7, owner, score) for (event, owner), score in best.items()), key=lambda r: (r[0], -r[2], r[1])
    )
    found = ordering.arranged(3001, [dealer.runs()])
    assert list(zip(*(c.tolist() for c in found), strict=True)) == wanted


@given(
    st.integers(1, 70),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=300),
    st.sampled_from((1.0, 2.0)),
)
def test_an_event_holds_its_best_distinct_matches_and_needs_what_the_worst_of_them_scores(
    wanted: int, offers: list[tuple[int, int]], scale: float
) -> None:
    best = ranking.Best.of(np.array([wanted], np.int32), 1000)
    best.surplus.scale[:], best.surplus.whole[:] = scale, np.inf
    scores: dict[int, int] = {}
    for owner, points in offers:
        worst = sorted(scores.values(), reverse=True)[wanted - 1 : wanted]
        assert best.need[0] * scale <= (worst[0] if worst else -np.inf)
        ranking.offer(best, 0, owner << 1 | 1, points)
        scores[owner] = max(points, scores.get(owner, points))
    found = ordering.arranged(1000, [best.runs(0)])
    got = list(zip((-found.score).tolist(), found.subscription.tolist(), strict=True))
    assert got == sorted((-points, owner) for owner, points in scores.items())[:wanted]


def test_an_interrupted_match_leaves_no_trace() -> None:
    matcher = opened(And((A, NotIn("b", (2,)))), C)
    block = EventBlock.from_events([Event({"a": (1,), "c": (1,)})] * 70)
    matcher._mark(matcher._translator.view(block, [128]), Span(0, 0, 70, 2))
    other = EventBlock.from_events([Event({"a": (1,)}), *[Event({"b": (1,)})] * 69])
    assert matcher.match(other).event.tolist() == [0]
    assert len(matcher.match(block)) == 140


def test_stamps_survive_the_last_epoch() -> None:
    matcher = opened(And((Or((A, C)), Not(Range("r", gt=1)))))
    block = EventBlock.from_events([Event({"c": (1,), "r": (0,)}), Event({"c": (1,), "r": (2,)})])
    for epoch in (0, workspace._LAST_EPOCH - 1):
        matcher._memory._epoch = epoch
        for _ in range(3):
            assert matcher.match(block).event.tolist() == [0]


@pytest.mark.parametrize(
    ("events", "words", "expected"),
    [
        (0, None, []),
        (1, None, [(0, 1, 1)]),
        (128, None, [(0, 128, 8)]),
        (512, None, [(0, 512, 8)]),
        (1000, None, [(0, 512, 8), (512, 1000, 8)]),
        (520, None, [(0, 512, 8), (512, 520, 1)]),
        (130, 1, [(0, 64, 1), (64, 128, 1), (128, 130, 1)]),
    ],
)
def test_spans_cover_the_block_with_masks_as_narrow_as_may_be(
    events: int, words: Words | None, expected: list[tuple[int, int, Words]]
) -> None:
    engine = BlockEngine(words)
    matcher = engine.open(engine.build([Subscription("a", A)]))
    _, cut = matcher._view(EventBlock.from_events([Event({"a": (1,)})] * events))
    assert cut == [Span(i, *span) for i, span in enumerate(expected)]


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("rows.ROW_LIMIT", "A segment would have 13 distinct predicates and values, and it can have at most 1. "),
        ("postings._WORDS_LIMIT", "A segment would have 3 words of programs, and it can have at most 2. "),
    ],
)
def test_a_segment_that_would_be_too_large_says_how_large_and_names_the_settings(
    limit: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"index.block.{limit}", 2)
    with pytest.raises(TocsinError) as raised:
        opened(And((A, Or((B, C)))))
    assert str(raised.value).startswith(said)
    settings = re.findall(r"job\.(\w+)", str(raised.value))
    assert settings == ["max_subscriptions_per_batch", "shards"]
    assert set(settings) <= set(Job.__struct_fields__)


def test_more_than_65535_predicates_are_told_apart() -> None:
    engine = BlockEngine()
    population = [Subscription(f"{i:06d}", And((In("a", (i,)), In("b", (i % 3, i + 3))))) for i in range(70_000)]
    matcher = engine.open(engine.build(population))
    happened = [Event({"a": (i,), "b": (i + 3, i + 1)}) for i in (0, 65_535, 65_536, 69_999)]
    found = matcher.match(EventBlock.from_events([*happened, Event({"a": (9,), "b": (9,)})]))
    assert found.subscription.tolist() == [0, 65_535, 65_536, 69_999]
