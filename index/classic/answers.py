"""The answers of event-at-a-time engines: the best score of each subscription, all of them or the best few.

Engines offer (subscription, score) pairs of one event, a subscription as often as its clauses hold. With a limit the
held ones are a binary heap whose root is the worst, lowest score and then highest ordinal, so that its score is the
threshold of the papers' pruning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from index.arrays import Int32s, Int64s, UInt8s
from index.kernel import inlined, kernel
from index.matches import Matches, MatchRows

NO_THRESHOLD = np.iinfo(np.int64).min


class Answers(NamedTuple):
    """Memory for the answers of the events of one call, and for what one event holds.

    Attributes
    ----------
    event, owner, points
        int32, int32, int64 [room]: the answers, event by event, those of the current event last.
    place
        int32 [subscriptions]: 1 + the place of a subscription among the current event's answers, 0 for those not held.
    is_dead
        uint8 [subscriptions].
    state
        int64 [3]: where the current event's answers begin, how many there are, how many it wants (0: all).
    """

    event: Int32s
    owner: Int32s
    points: Int64s
    place: Int32s
    is_dead: UInt8s
    state: Int64s

    @classmethod
    def of(cls, subscriptions: int) -> Answers:
        """Return memory that holds at least all subscriptions for one event."""
        room = subscriptions + max(subscriptions, 2**16)
        return cls(
            np.empty(room, np.int32),
            np.empty(room, np.int32),
            np.empty(room, np.int64),
            np.zeros(subscriptions, np.int32),
            np.zeros(subscriptions, np.uint8),
            np.zeros(3, np.int64),
        )

    def gathered(self, events: int, run: Callable[[int], int]) -> Matches:
        """Let a kernel run over a block's events and return the answers in the contract's order.

        Parameters
        ----------
        events
            How many events there are.
        run
            Matches the events from a first one on until there may be no `room` for one more; returns the first event
            that is not matched.
        """
        found = []
        first = 0
        while first < events:
            self.state[:] = 0
            first = run(first)
            n = int(self.state[0])
            event, owner, points = self.event[:n], self.owner[:n], self.points[:n]
            order = np.lexsort((owner, -points, event))
            found.append(MatchRows(event[order], owner[order], points[order]))
        return MatchRows.joined(found).matches(events)


@inlined
def room(answers):  # type: ignore[no-untyped-def]
    """Return whether all subscriptions may be answers of one more event."""
    return answers.state[0] + len(answers.place) <= len(answers.owner)


@inlined
def begin(answers, limit):  # type: ignore[no-untyped-def]
    """Begin an event that wants at most ``limit`` answers; 0 means all."""
    answers.state[1] = 0
    answers.state[2] = limit


@inlined
def finish(answers, event):  # type: ignore[no-untyped-def]
    """End an event."""
    base = answers.state[0]
    stop = base + answers.state[1]
    for i in range(base, stop):
        answers.event[i] = event
        answers.place[answers.owner[i]] = 0
    answers.state[0] = stop


@inlined
def threshold(answers):  # type: ignore[no-untyped-def]
    """Return the lowest score held once no more are wanted: only what beats or equals it may be an answer."""
    base, held, limit = answers.state
    return answers.points[base] if limit > 0 and held >= limit else np.int64(NO_THRESHOLD)


@inlined
def offer(answers, owner, points):  # type: ignore[no-untyped-def]
    """Offer a subscription that is not dead with the score of one of its clauses."""
    base, held, limit = answers.state
    i = answers.place[owner] - 1
    if i >= 0:
        if points > answers.points[base + i]:
            answers.points[base + i] = points
            if limit > 0:
                _sink(answers, base, held, i)
    elif limit == 0 or held < limit:
        answers.state[1] = held + 1
        answers.owner[base + held], answers.points[base + held] = owner, points
        answers.place[owner] = held + 1
        if limit > 0:
            _rise(answers, base, held)
    elif _worse(answers.points[base], answers.owner[base], points, owner):
        answers.place[answers.owner[base]] = 0
        answers.owner[base], answers.points[base] = owner, points
        answers.place[owner] = 1
        _sink(answers, base, held, 0)


@inlined
def _worse(points, owner, other_points, other_owner):  # type: ignore[no-untyped-def]
    return points < other_points or (points == other_points and owner > other_owner)


@kernel
def _rise(answers, base, i):  # type: ignore[no-untyped-def]
    while i > 0:
        above = (i - 1) >> 1
        if not _worse(
            answers.points[base + i], answers.owner[base + i], answers.points[base + above], answers.owner[base + above]
        ):
            break
        _exchange(answers, base, i, above)
        i = above


@kernel
def _sink(answers, base, held, i):  # type: ignore[no-untyped-def]
    points, owner = answers.points, answers.owner
    while 2 * i + 1 < held:
        below = 2 * i + 1
        if below + 1 < held and _worse(
            points[base + below + 1], owner[base + below + 1], points[base + below], owner[base + below]
        ):
            below += 1
        if not _worse(points[base + below], owner[base + below], points[base + i], owner[base + i]):
            break
        _exchange(answers, base, i, below)
        i = below


@inlined
def _exchange(answers, base, i, j):  # type: ignore[no-untyped-def]
    points, owner = answers.points, answers.owner
    a, b = base + i, base + j
    points[a], points[b] = points[b], points[a]
    owner[a], owner[b] = owner[b], owner[a]
    answers.place[owner[a]] = i + 1
    answers.place[owner[b]] = j + 1
