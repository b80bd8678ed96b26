"""Writes what was found in a block's chunks as the block's matches: events in their order, each match where it belongs.

Chunks are parts of the order in which events are matched, which need not be the block's; so an event's place is known
when all chunks are done, and what they found is kept in short until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from index.block import pages
from index.block.arrangement import Order
from index.block.layout import Int32s, Int64s
from index.kernel import kernel
from index.matches import Matches, MatchRows
from index.slices import starts_of


class Classes(NamedTuple):
    """A part's matches by score.

    Attributes
    ----------
    points
        int64 [classes], falling.
    sizes
        int64 [events, classes], how many matches with this score each event has.
    """

    points: Int64s
    sizes: Int64s


class Part(Protocol):
    """Matches of events that are matched one after the other, each event's in the order of `index.matches.Matches`."""

    @property
    def first(self) -> int:
        """The first event, by its number in the order in which events are matched."""

    @property
    def counts(self) -> Int64s:
        """int64 [events, stretches], how many matches each event has in each stretch of its matches."""

    @property
    def classes(self) -> Classes | None:
        """The matches by score; None if they have so many scores that each is better written by itself."""

    def write(self, places: Int64s, subscription: Int32s, score: Int64s) -> None:
        """Write the i-th event's matches from ``places[i]`` on, which is changed; no scores if there is no room."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Matches that are written already, of so many events from ``first`` on, numbered as they were matched."""

    found: MatchRows
    first: int
    events: int

    @cached_property
    def begin(self) -> Int64s:
        """int64 [events + 1], where each event's matches begin."""
        numbers = np.arange(self.first, self.first + self.events + 1, dtype=np.int32)
        return np.searchsorted(self.found.event, numbers)

    @property
    def counts(self) -> Int64s:
        """See `Part`."""
        return np.diff(self.begin)[:, None]

    @property
    def classes(self) -> None:
        """See `Part`."""
        return None

    def write(self, places: Int64s, subscription: Int32s, score: Int64s) -> None:
        """See `Part`."""
        copy_rows(self.found, self.begin, places, subscription, score)


def stretches(points: Int64s) -> Int64s:
    """Return where stretches of one score begin and the last one ends, given scores in their order."""
    if not len(points):
        return np.zeros(1, np.int64)
    return np.flatnonzero(np.concatenate([[True], points[1:] != points[:-1], [True]]))


def written(parts: Sequence[Part], order: Order) -> Matches:
    """Return the matches of a block.

    Parameters
    ----------
    parts
        All that was found, each event's in one of them.
    order
        How the block was matched.
    """
    if not parts:
        return MatchRows.room(0).matches(len(order.event))
    if len(parts) == 1 and isinstance(parts[0], Rows) and not order.is_arranged:
        return parts[0].found.matches(len(order.event))
    sizes = [part.counts.sum(axis=1) for part in parts]
    events = [order.event[part.first : part.first + len(size)] for part, size in zip(parts, sizes, strict=True)]
    count = np.zeros(len(order.event), np.int64)
    for these, size in zip(events, sizes, strict=True):
        count[these] += size
    begin = starts_of(count, len(count))
    classes = [part.classes for part in parts]
    in_runs = [found for found in classes if found is not None]
    subscription = pages.empty(int(begin[-1]), np.int32)
    score = pages.empty(0 if len(in_runs) == len(parts) else len(subscription), np.int64)
    for part, these in zip(parts, events, strict=True):
        part.write(begin[these], subscription, score)
    if len(in_runs) < len(parts):
        return Matches(begin, subscription, score)
    return Matches(begin, subscription, *_runs(in_runs, events, len(count)))


def _runs(parts: Sequence[Classes], events: Sequence[Int64s], count: int) -> tuple[Int64s, Int64s]:
    """Return the runs' scores and where they begin, of so many events, each event's classes being runs."""
    runs = np.zeros(count, np.int64)
    for part, these in zip(parts, events, strict=True):
        runs[these] += len(part.points)
    place = np.cumsum(runs) - runs
    points, length = np.empty(int(runs.sum()), np.int64), np.empty(int(runs.sum()), np.int64)
    for part, these in zip(parts, events, strict=True):
        at = place[these][:, None] + np.arange(len(part.points))
        points[at], length[at] = part.points, part.sizes
    return points, starts_of(length, len(length))


@kernel
def copy_rows(found, begin, places, subscription, score):  # type: ignore[no-untyped-def]
    """Copy the matches of the i-th event, which are those from ``begin[i]`` on, to its place."""
    for i in range(len(places)):
        shift = places[i] - begin[i]
        for k in range(begin[i], begin[i + 1]):
            subscription[shift + k] = found.subscription[k]
            score[shift + k] = found.score[k]
