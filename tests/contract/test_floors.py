"""What segments that were matched leave to the next ones: a floor, under which no match can be among the best."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from index.block.ranking import RANK_LIMIT
from index.engine import BoundedMatcher, Engine
from index.event_block import EventBlock
from index.floors import NO_FLOOR, Floors
from index.matches import MatchRows
from schemas.records import Event, Subscription
from tests.contract.support import block_engine, examples, opened, rows
from tests.strategies import events, subscriptions

__all__ = ["block_engine"]

EXACT = 2**52
"""Greater scores set no floor."""


@examples
@given(
    population=subscriptions(min_size=1, max_size=12),
    happened=st.lists(events(), min_size=1, max_size=5),
    times=st.sampled_from((1, 30)),
    default=st.sampled_from((1, 2, 40)),
    each=st.booleans(),
    data=st.data(),
)
def test_with_a_floor_just_the_matches_that_score_less_are_left_out(
    block_engine: Engine,
    population: list[Subscription],
    happened: list[Event],
    times: int,
    default: int,
    each: bool,
    data: st.DataObject,
) -> None:
    matcher = opened(block_engine, population)
    assert isinstance(matcher, BoundedMatcher)
    block = EventBlock.from_events(happened * times, default)
    without = rows(matcher, block)
    known = {points + more for _, _, points in without for more in (-1, 0, 1)} | {0}
    near = sorted(known if each else known | {NO_FLOOR})  # where each event has a floor, filters are not set
    floor = data.draw(st.lists(st.sampled_from(near), min_size=block.size, max_size=block.size))
    floor = [points if -EXACT < points < EXACT else NO_FLOOR for points in floor]
    columns = matcher.match(block, floor=np.array(floor)).rows()
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    ranked = ((block.top > 0) & (block.top <= RANK_LIMIT)).tolist()
    assert found == [row for row in without if not ranked[row[0]] or row[2] >= floor[row[0]]]
    assert rows(matcher, block) == without


@given(
    tops=st.lists(st.integers(0, 4), max_size=4),
    segments=st.lists(st.lists(st.lists(st.integers(-3, 3), max_size=6), min_size=4, max_size=4), max_size=5),
)
def test_a_floor_is_the_last_of_the_best_of_all_segments_so_far(
    tops: list[int], segments: list[list[list[int]]]
) -> None:
    floors, known = Floors(np.array(tops, np.int32)), [list[int]() for _ in tops]
    for lists in segments:
        # a segment's answer is as long as was asked for, and falls
        answer = [sorted(list_, reverse=True)[: top or None] for top, list_ in zip(tops, lists, strict=False)]
        columns = [(event, 0, points) for event, list_ in enumerate(answer) for points in list_]
        event, subscription, score = np.array(columns, np.int64).reshape(-1, 3).T
        floors.learn(MatchRows(event.astype(np.int32), subscription.astype(np.int32), score.copy()).matches(len(tops)))
        known = [sorted(before + list_, reverse=True) for before, list_ in zip(known, answer, strict=True)]
        wanted = [
            points[top - 1] if 0 < top <= len(points) else NO_FLOOR for top, points in zip(tops, known, strict=True)
        ]
        assert floors.points.tolist() == wanted
