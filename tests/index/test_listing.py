"""Matches that events list and sort for themselves against those that are dealt, and when that is done."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.workloads.registry import workload
from index.block import collected, listing
from index.block.answers import written
from index.block.arrangement import Order
from index.block.engine import BlockEngine
from index.block.hits import Hits
from index.block.listing import Listed, is_less, listed
from index.block.owner_lists import Owners
from index.event_block import EventBlock

FIRST = 7
EVENTS = 100


def _list(hits: list[tuple[list[int], int, list[int]]], dead: set[int], several: bool = False) -> Listed | None:
    """List the hits, each of some owners, a score and events; one owner is a word, more are a list."""
    found, lists = Hits.of(2).with_room(0, len(hits) + 3), [[0]]
    found.mask[:] = 0
    for i, (owners, points, events) in enumerate(hits):
        words = [owner << 1 | several for owner in sorted(owners)]
        found.owner[i], found.points[i] = words[0], points
        if len(words) > 1:
            found.owner[i] = -1 - len(lists)
            lists.append(words)
        for event in events:
            found.mask[i, event >> 6] |= np.uint64(1) << np.uint64(event & 63)
    is_dead = np.isin(np.arange(1000), list(dead)).astype(np.uint8)
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    dealt = Owners(start, np.array([word for words in lists for word in words], np.int32), is_dead)
    return listed(found, len(hits), 0, 0, dealt, bool(dead), FIRST, EVENTS)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "is_less", lambda *_: True)


@given(data=st.data())
def test_events_have_their_matches_in_order(data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, 999), min_size=1, max_size=60, unique=True))
    dead = set(data.draw(st.lists(st.sampled_from(ids), max_size=5)))
    hits, expected = [], []
    while ids:
        taken = data.draw(st.integers(1, len(ids)))
        own, ids = ids[:taken], ids[taken:]
        if taken == 1 and own[0] in dead:  # the walk keeps those away
            continue
        left = set(data.draw(st.sets(st.integers(0, EVENTS - 1), max_size=EVENTS)))
        for points in data.draw(st.lists(st.integers(-2, 2), max_size=3)):
            events = data.draw(st.sets(st.sampled_from(sorted(left)))) if left else set()
            left -= events
            hits.append((own, points << 20, sorted(events)))
            expected += [(FIRST + e, -(points << 20), o) for e in events for o in own if o not in dead]
    if not hits:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "is_less", lambda *_: True)
        part = _list(hits, dead)
    assert part is not None
    order = Order(np.arange(FIRST + EVENTS), np.zeros(0, np.int64), False)
    rows = written([part], order).rows()
    assert list(zip(rows.event.tolist(), (-rows.score).tolist(), rows.subscription.tolist(), strict=True)) == sorted(
        expected
    )


@pytest.mark.usefixtures("always")
def test_owners_with_other_clauses_and_many_scores_are_dealt() -> None:
    assert _list([([3], 1, [0]), ([5, 6], 1, [0])], set()) is not None
    assert _list([([3], 1, [0])], set(), several=True) is None
    assert _list([([3, 4], 1, [0])], set(), several=True) is None
    assert _list([([i], i, [0]) for i in range(16)], set()) is not None
    assert _list([([i], i, [0]) for i in range(17)], set()) is None


def test_few_of_many_are_listed() -> None:
    assert is_less(58_000 * 512, 2_500_000, 512, 8 * 300_000)
    assert not is_less(679_000 * 512, 3_000_000, 512, 8 * 12_000)
    assert not is_less(10 * 512, 50_000, 512, 8 * 50_000)
    assert not is_less(1_500 * 2_048, 1_000_000, 2_048, 32 * 1_000_000)


@pytest.mark.parametrize("name", ["keywords", "keywords-news", "keywords-leaf", "w2"])
def test_a_segment_answers_as_if_all_were_dealt(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All matches of subscriptions of which some are dead, in blocks of few events, many, and long chunks."""
    source = workload(name, 3)
    parts, events = BlockEngine().build(source.subscriptions(4000)), source.events(2200)
    dead = np.arange(0, 4000, 7, dtype=np.uint32)
    used = []

    def answers(always: bool) -> list[list[list[int]]]:
        monkeypatch.setattr(listing, "is_less", lambda *_: always)
        matcher = BlockEngine().open(parts)
        blocks = [EventBlock.from_events(events[:size]) for size in (3, 300, 2200)]
        return [
            [column.tolist() for column in matcher.match(block, gone).rows()]
            for block in blocks
            for gone in (None, dead)
        ]

    def spy(*arguments: object) -> Listed | None:
        found = listed(*arguments)  # type: ignore[arg-type]
        used.append(found is not None)
        return found

    monkeypatch.setattr(collected, "listed", spy)
    assert answers(True) == answers(False)
    assert any(used)
