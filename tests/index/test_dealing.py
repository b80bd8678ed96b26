"""Hits dealt to their events against the same matches sorted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.block import dealing
from index.block.answers import Part, Rows, written
from index.block.arrangement import Order
from index.block.dealing import Dealt, dealt
from index.block.hits import Hits
from index.block.owner_lists import Owners, count_owners
from index.matches import Matches, MatchRows

OWNERS = 40
FIRST = 7
ORDER = Order(np.arange(FIRST + 2048), np.zeros(0, np.int64), False)


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
    return _listed(written([_part(_hits(rows, words), len(rows), FIRST, events)], ORDER))


def _part(hits: Hits, size: int, first: int, events: int, owners: Owners | None = None) -> Part:
    """Deal hits; if nothing is said of owners, each has one, who is alive."""
    owners = owners or Owners(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(3000, np.uint8))
    return dealt(hits, size, int(count_owners(hits.owner, size, owners.start)), owners, first, events)


def _listed(out: Matches) -> list[tuple[int, int, int]]:
    return list(zip(*(column.tolist() for column in out.rows()), strict=True))


@pytest.mark.parametrize("words", [1, 2, 8, 32])
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


@pytest.mark.parametrize("far", [1, 1 << 60])
@pytest.mark.parametrize("words", [1, 8, 32])
def test_copies_of_a_clause_are_dealt_as_one_hit(words: int, far: int) -> None:
    """Records of one clause under several rows hold for events of their own, and score the same; some have one copy."""
    rng = np.random.default_rng(words)
    rows = []
    for owner in range(1000):
        events = rng.permutation(64 * words)[: int(rng.integers(1, 40))]
        cuts = np.sort(rng.integers(0, len(events), int(rng.integers(0, 4))))
        rows += [(2 * owner, owner % 3 * far, held.tolist()) for held in np.split(events, cuts) if len(held)]
    shuffled = [rows[i] for i in rng.permutation(len(rows))]
    part = _part(_hits(shuffled, words), len(rows), FIRST, 64 * words)
    assert isinstance(part, Dealt)
    assert len(part.ordinal) == 1000
    assert _listed(written([part], ORDER)) == _expected(rows)


@settings(deadline=None)
@given(data=st.data())
def test_a_hit_of_several_owners_is_dealt_to_each_that_is_alive(data: st.DataObject) -> None:
    points = st.one_of(st.integers(0, 2), st.integers(-(2**62), 2**62))
    free = list(data.draw(st.permutations(range(OWNERS))))
    held = st.lists(st.integers(0, 63), min_size=1, max_size=20)
    lists: list[list[int]] = []
    rows: list[tuple[int, int, list[int]]] = []
    expected: list[tuple[int, int, list[int]]] = []
    dead = data.draw(st.sets(st.integers(0, OWNERS - 1), max_size=OWNERS // 2))
    while free:
        size, found = data.draw(st.integers(1, 6)), data.draw(st.lists(st.tuples(points, held), min_size=1, max_size=3))
        own, free = sorted(free[:size]), free[size:]
        words = [o << 1 | (len(found) > 1) for o in own]
        word = -1 - len(lists) if len(own) > 1 else words[0]
        if len(own) > 1:
            lists.append(words)
        if len(own) > 1 or own[0] not in dead:  # the walk keeps those away
            rows += [(word, got, events) for got, events in found]
        expected += [(o << 1, got, events) for got, events in found for o in own if o not in dead]
    is_dead = np.isin(np.arange(OWNERS), list(dead)).astype(np.uint8)
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    owners = Owners(start, np.array([word for words in lists for word in words], np.int32), is_dead)
    rows = data.draw(st.permutations(rows))
    dealt_ = written([_part(_hits(rows, 1), len(rows), FIRST, 64, owners)], ORDER)
    assert _listed(dealt_) == _expected(expected)


def test_an_events_hits_fill_many_words() -> None:
    rng = np.random.default_rng(5)
    rows = [
        (2 * int(owner), int(rng.integers(3)) << 20, sorted({0, *rng.integers(0, 512, 30).tolist()}))
        for owner in rng.permutation(3000)
    ]
    out = written([_part(_hits(rows, 8), len(rows), FIRST, 512)], ORDER)
    assert _listed(out) == _expected(rows)
    assert np.count_nonzero(out.event == FIRST) == 3000


@pytest.mark.parametrize("density", [0.01, 0.03, 0.2])
def test_chunks_are_written_where_their_events_belong(density: float) -> None:
    """Words have few bits, some and many; of the second chunk's events, some are matched one by one."""
    rng, order = np.random.default_rng(7), np.random.default_rng(8).permutation(150)
    cuts = (0, 64, 128, 150)
    expected = []
    parts: list[Part] = []
    for first, size in zip(cuts, np.diff(cuts).tolist(), strict=False):
        held = rng.random((400, size)) < density
        plain = np.arange(size) % 3 != 0 if first == 64 else np.ones(size, np.bool_)
        rows = [(2 * owner, owner % 5, np.flatnonzero(held[owner] & plain).tolist()) for owner in range(400)]
        parts.append(_part(_hits(rows, 1), len(rows), first, size))
        event, owner = np.nonzero((held & ~plain).T)
        single = sorted((first + e, -(o % 5), o) for e, o in zip(event.tolist(), owner.tolist(), strict=True))
        columns = np.array(single, np.int64).reshape(-1, 3).T
        found = MatchRows(columns[0].astype(np.int32), columns[2].astype(np.int32), -columns[1])
        parts.append(Rows(found, first, size))
        expected += [(int(order[first + e]), -(o % 5), o) for e, o in zip(*np.nonzero(held.T), strict=True)]
    assert [(e, -s, o) for e, o, s in _listed(written(parts, Order(order, np.array(cuts), True)))] == sorted(expected)


@pytest.mark.parametrize("tile", [1, 63, 64, 100, 1 << 16])
@pytest.mark.parametrize("run", [1, 10, 1 << 16])
@pytest.mark.parametrize(("count", "several"), [(500, 2), (500, 150), (4500, 150)])
def test_hits_are_written_piece_by_piece(
    tile: int, run: int, count: int, several: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces end within words and at their ends, and hold one score or some; 2 or 150 scores are among the hits."""
    monkeypatch.setattr(dealing, "_TILE", tile)
    monkeypatch.setattr(dealing, "_RUN", run)
    rng = np.random.default_rng(tile + run + several)
    rows = [(2 * owner, int(rng.integers(several)), rng.choice(70, 15, False).tolist()) for owner in range(count)]
    owners = Owners(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(count, np.uint8))
    out = written([_part(_hits(rows, 2), len(rows), FIRST, 70, owners)], ORDER)
    assert _listed(out) == _expected(rows)
    in_runs = run * several < count and count * 15 // 70 >= 4 * several
    assert (out.run is not None) == in_runs, "few scores are told in runs, many one by one"


@pytest.mark.parametrize("tile", [100, 1 << 16])
@pytest.mark.parametrize("density", [0.002, 0.02, 0.5, 0.97])
@pytest.mark.parametrize("apart", [1, 900, 1030, 5000])
def test_ordinals_near_and_far_are_dealt(
    tile: int, density: float, apart: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 64 hits the last is just less, or more, than short numbers say behind the first; some words are empty.

    They are more words than are picked before some are written.
    """
    monkeypatch.setattr(dealing, "_TILE", tile)
    monkeypatch.setattr(dealing, "_RUN", 1)
    rng = np.random.default_rng(apart)
    held = rng.random((4500, 64)) < density
    rows = [(2 * apart * i, 5 if i < 3700 else 4, np.flatnonzero(held[i]).tolist()) for i in range(4500)]
    owners = Owners(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(4500 * apart, np.uint8))
    hits = [row for row in rows if row[2]]
    out = written([_part(_hits(hits, 1), len(hits), FIRST, 64, owners)], ORDER)
    assert _listed(out) == _expected(hits)


def test_no_hits_are_no_matches() -> None:
    assert _dealt([], 8, 512) == []
