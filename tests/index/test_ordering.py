"""Single matches, dealt to events in buffers and sorted there, compared with a sort of tuples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.block.ordering import Dealer, arranged

OWNERS = 50
FIRST = 7
Buffer = list[tuple[int, int, int]]
"""Event of the chunk, owner word, points."""


def _arranged(owners: int, events: int, buffers: list[Buffer]) -> list[tuple[int, int, int]]:
    dealer = Dealer(FIRST, events)
    for buffer in buffers:
        event, owner, points = (np.array([m[i] for m in buffer], kind) for i, kind in enumerate("iiq"))
        dealer.add(event + np.int32(FIRST), owner, points)
    found = arranged(owners, [dealer.runs()])
    return list(zip(found.event.tolist(), found.subscription.tolist(), found.score.tolist(), strict=True))


def _expected(buffers: list[Buffer]) -> list[tuple[int, int, int]]:
    best: dict[tuple[int, int], int] = {}
    for event, word, points in (match for buffer in buffers for match in buffer):
        key = event + FIRST, word >> 1
        best[key] = max(points, best.get(key, points))
    return sorted(((e, s, p) for (e, s), p in best.items()), key=lambda m: (m[0], -m[2], m[1]))


@st.composite
def _buffers(draw: st.DrawFn) -> list[Buffer]:
    """Draw matches; only of subscriptions that say so may an event have several."""
    far = draw(st.sampled_from([0, 3, 1 << 20, 1 << 62]))
    step = draw(st.sampled_from([1, 8]))
    points = st.integers(-far // step, far // step).map(lambda p: p * step)
    found: list[Buffer] = []
    once: set[tuple[int, int]] = set()
    for _ in range(draw(st.integers(0, 3))):
        buffer = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2 * OWNERS - 1), points), max_size=90))
        kept = []
        for event, word, score in buffer:
            if word & 1 or (event, word) not in once:
                once.add((event, word))
                kept.append((event, word, score))
        if kept:
            found.append(kept)
    # an owner word of a subscription is always the same
    severals = {word >> 1 for buffer in found for _, word, _ in buffer if word & 1}
    return [[(e, w | int(w >> 1 in severals), p) for e, w, p in buffer] for buffer in found]


@given(_buffers())
def test_each_events_matches_come_best_first_each_once(buffers: list[Buffer]) -> None:
    assert _arranged(OWNERS, 4, buffers) == _expected(buffers)


@pytest.mark.parametrize("size", [39, 40, 41, 70_000])
def test_events_of_few_and_of_very_many_matches(size: int) -> None:
    """So many that one event's are more than are otherwise made keys at a time."""
    rng = np.random.default_rng(size)
    points = rng.integers(0, 1 << 20, size).tolist()
    buffers = [[(1, 2 * i, p) for i, p in enumerate(points)], [(0, 2, 5), (3, 4, 5), (3, 2, 5)]]

    assert _arranged(size, 4, buffers) == _expected(buffers)


def test_scores_too_far_apart_for_keys_do_not_disturb_the_events_around() -> None:
    far = 1 << 62
    buffers = [[(0, 1, 3), (1, 2, -far), (1, 1, far - 1), (2, 1, 2), (3, 5, 1)], [(0, 1, 4), (1, 4, 0), (1, 1, 8)]]

    assert _arranged(OWNERS, 4, buffers) == _expected(buffers)
