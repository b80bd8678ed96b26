"""Hits dealt to their events against the same matches sorted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.block.dealing import dealt
from index.block.hits import Hits

OWNERS = 40
FIRST = 7


def _hits(rows: list[tuple[int, int, list[int]]], words: int) -> Hits:
    """Return hits of owner word, points and events; the arrays are longer than that, as growing ones are."""
    hits = Hits.of(words).with_room(0, len(rows) + 3)
    hits.mask[:] = 0
    for i, (owner, points, events) in enumerate(rows):
        hits.owner[i], hits.points[i] = owner, points
        for event in events:
            hits.mask[i, event >> 6] |= np.uint64(1) << np.uint64(event & 63)
    return hits


def _expected(rows: list[tuple[int, int, list[int]]]) -> list[tuple[int, int, int]]:
    """Return each event's matches in order, an owner's best alone."""
    best: dict[tuple[int, int], int] = {}
    for owner, points, events in rows:
        for event in events:
            pair = event, owner >> 1
            best[pair] = max(points, best.get(pair, points))
    return sorted(
        ((FIRST + event, owner, points) for (event, owner), points in best.items()), key=lambda m: (m[0], -m[2], m[1])
    )


def _dealt(rows: list[tuple[int, int, list[int]]], words: int, events: int) -> list[tuple[int, int, int]]:
    matches = sum(len(set(events)) for _, _, events in rows)
    out = dealt(_hits(rows, words), len(rows), matches, (2 * OWNERS).bit_length(), FIRST, events)
    return list(zip(out.event.tolist(), out.subscription.tolist(), out.score.tolist(), strict=True))


@pytest.mark.parametrize("words", [1, 2, 8])
@settings(deadline=None)
@given(data=st.data())
def test_hits_are_dealt_in_order_and_an_owners_best_alone(words: int, data: st.DataObject) -> None:
    points = st.one_of(st.integers(0, 5), st.integers(-(2**62), 2**62), st.sampled_from([2**20, 2**21, -(2**63) + 1]))
    size = data.draw(st.integers(64 * words - 63, 64 * words))
    events = st.lists(st.integers(0, size - 1), min_size=1, max_size=70)
    rows = data.draw(st.lists(st.tuples(st.integers(0, OWNERS - 1), points, events), max_size=200))
    several = {owner for owner in range(OWNERS) if sum(row[0] == owner for row in rows) > 1}
    flagged = [(owner << 1 | (owner in several), got, held) for owner, got, held in rows]
    assert _dealt(flagged, words, size) == _expected(flagged)


def test_an_events_hits_fill_many_words() -> None:
    rng = np.random.default_rng(5)
    rows = [
        (2 * int(owner), int(rng.integers(3)) << 20, sorted({0, *rng.integers(0, 512, 30).tolist()}))
        for owner in rng.permutation(3000)
    ]
    out = dealt(_hits(rows, 8), len(rows), sum(len(row[2]) for row in rows), 13, FIRST, 512)
    assert list(zip(out.event.tolist(), out.subscription.tolist(), out.score.tolist(), strict=True)) == _expected(rows)
    assert np.count_nonzero(out.event == FIRST) == 3000


def test_no_hits_are_no_matches() -> None:
    assert _dealt([], 8, 512) == []
