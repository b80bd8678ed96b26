"""Ratification: what the engine answers over a whole version is compared with the oracle, subscription by subscription.

Nothing is written, so it may run beside the job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from index.event_block import EventBlock
from index.found import Found
from index.live import Places, alive, read
from index.oracle import match_subscription
from index.reader import Snapshot
from schemas.records import Event

RANKED = 10
"""How many of an event's best matches are compared with the order of all of its matches."""

CHUNK = 256
"""Subscriptions between two looks at the clock."""

KEPT_DIFFERENCES = 1_000
"""Differences that a report holds; more are only counted."""


class Difference(NamedTuple):
    """Where the engine and the oracle disagree.

    Attributes
    ----------
    event
        Row of the event in the sample.
    id
        The subscription.
    expected, found
        The oracle's score and the engine's, in units of 1 / SCORE_SCALE; None: no match.
    expected_rank, found_rank
        The place that the scores and ids give a match among its event's, and the engine's; None where they agree, or
        where there is none.
    """

    event: int
    id: str
    expected: int | None
    found: int | None
    expected_rank: int | None = None
    found_rank: int | None = None


@dataclass
class Report:
    """What has been compared so far.

    Attributes
    ----------
    subscriptions
        How many subscriptions were compared, each with every event of the sample.
    matches
        How many matches the oracle found among them.
    differences
        The first of the differences.
    differing
        How many there are.
    complete
        Whether all subscriptions were compared.
    """

    subscriptions: int = 0
    matches: int = 0
    differences: list[Difference] = field(default_factory=list)
    differing: int = 0
    complete: bool = False

    def add(self, difference: Difference) -> None:
        """Count a difference, and keep it while there are few."""
        self.differing += 1
        if len(self.differences) < KEPT_DIFFERENCES:
            self.differences.append(difference)


class _Answer(NamedTuple):
    """The engine's matches, ascending by subscription."""

    key: npt.NDArray[np.int64]
    event: npt.NDArray[np.int32]
    score: npt.NDArray[np.int64]


def ratify(
    snapshot: Snapshot, events: Sequence[Event], seed: int = 0, go_on: Callable[[int], bool] = lambda done: True
) -> Report:
    """Compare the engine's answers with the oracle's.

    1. The engine matches all events, once for all matches and once for the `RANKED` best, which must be the first of
       all by (score falling, id rising).
    2. A match of a subscription that is dead or not there is a difference.
    3. The oracle meets each subscription, in random order, with each event, and must find the same scores.

    Parameters
    ----------
    snapshot
        The version.
    events
        The sample.
    seed
        Of the random order.
    go_on
        Told every `CHUNK` subscriptions how many were compared; returns whether to go on.
    """
    report = Report()
    found = snapshot.match(_block(events, 0))
    _compare_ranks(snapshot, events, found, report)
    places = alive(snapshot)
    _compare_alive(snapshot, found, places, report)
    answer = _by_subscription(found)
    np.random.default_rng(seed).shuffle(places)
    for start in range(0, len(places), CHUNK):
        if not go_on(report.subscriptions):
            return report
        _compare(snapshot, events, places[start : start + CHUNK], answer, report)
    report.complete = True
    go_on(report.subscriptions)
    return report


def _block(events: Sequence[Event], top: int) -> EventBlock:
    return EventBlock.from_events([msgspec.structs.replace(event, top=None) for event in events], top)


def _keys(segment: npt.NDArray[np.integer], ordinal: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    return segment.astype(np.int64) << 32 | ordinal.astype(np.int64)


def _by_subscription(found: Found) -> _Answer:
    key = _keys(found.segment, found.subscription)
    order = np.lexsort((found.event, key))
    return _Answer(key[order], found.event[order], found.score[order])


def _compare_alive(snapshot: Snapshot, found: Found, places: Places, report: Report) -> None:
    dead = ~np.isin(_keys(found.segment, found.subscription), _keys(places[:, 0], places[:, 1]))
    rows = _taken(found, dead)
    for event, id_, score in zip(rows.event.tolist(), snapshot.ids(rows), rows.score.tolist(), strict=True):
        report.add(Difference(event, id_.decode(), None, score))


def _compare_ranks(snapshot: Snapshot, events: Sequence[Event], found: Found, report: Report) -> None:
    best = snapshot.match(_block(events, RANKED))
    for event in range(len(events)):
        everything = _ranked(snapshot, _of_event(found, event))
        ordered = sorted(everything)
        _compare_order(event, ordered, everything, report)
        _compare_order(event, ordered[:RANKED], _ranked(snapshot, _of_event(best, event)), report)


def _of_event(found: Found, event: int) -> Found:
    start, stop = np.searchsorted(found.event, [event, event + 1])
    return _taken(found, slice(start, stop))


def _taken(found: Found, rows: slice | npt.NDArray[np.bool_]) -> Found:
    return Found(found.event[rows], found.segment[rows], found.subscription[rows], found.score[rows], found.rank[rows])


_Ranked = list[tuple[int, bytes]]
"""Score falling as a rising number, id in UTF-8."""


def _ranked(snapshot: Snapshot, rows: Found) -> _Ranked:
    return list(zip((-rows.score).tolist(), snapshot.ids(rows), strict=True))


def _compare_order(event: int, ordered: _Ranked, found: _Ranked, report: Report) -> None:
    """Report where the order begins to differ."""
    for rank, entry in enumerate(ordered, 1):
        if rank > len(found) or found[rank - 1] != entry:
            place = found.index(entry) + 1 if entry in found else None
            points, id_ = -entry[0], entry[1].decode()
            report.add(Difference(event, id_, points, None if place is None else points, rank, place))
            return


def _compare(snapshot: Snapshot, events: Sequence[Event], places: Places, answer: _Answer, report: Report) -> None:
    """Compare some subscriptions, each with every event."""
    keys = _keys(places[:, 0], places[:, 1])
    first = np.searchsorted(answer.key, keys, side="left").tolist()
    last = np.searchsorted(answer.key, keys, side="right").tolist()
    for subscription, start, stop in zip(read(snapshot, places), first, last, strict=True):
        said = dict(zip(answer.event[start:stop].tolist(), answer.score[start:stop].tolist(), strict=True))
        for row, event in enumerate(events):
            expected = match_subscription(subscription, event)
            report.matches += expected is not None
            if said.get(row) != expected:
                report.add(Difference(row, subscription.id, expected, said.get(row)))
        report.subscriptions += 1
