"""Writes what was found in a block's chunks as the block's matches: events in their order, each match where it belongs.

Chunks are parts of the order in which events are matched, which need not be the block's; so an event's place is known
when all chunks are done, and what they found is kept in short until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from index.block.arrangement import Order
from index.block.layout import Int64s
from index.engine import Matches
from index.kernel import kernel


class Part(Protocol):
    """Matches of events that are matched one after the other, each event's in the order of `index.engine.Matches`."""

    @property
    def first(self) -> int:
        """The first event, by its number in the order in which events are matched."""

    @property
    def sizes(self) -> Int64s:
        """int64 [events], how many matches each event has."""

    def write(self, events: Int64s, places: Int64s, out: Matches) -> None:
        """Write the matches of the i-th event as those of ``events[i]``, from ``places[i]`` on."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Matches that are written already, of so many events from ``first`` on, numbered as they were matched."""

    found: Matches
    first: int
    events: int

    @cached_property
    def begin(self) -> Int64s:
        """int64 [events + 1], where each event's matches begin."""
        numbers = np.arange(self.first, self.first + self.events + 1, dtype=np.int32)
        return np.searchsorted(self.found.event, numbers)

    @property
    def sizes(self) -> Int64s:
        """See `Part`."""
        return np.diff(self.begin)

    def write(self, events: Int64s, places: Int64s, out: Matches) -> None:
        """See `Part`."""
        copy_rows(self.found, self.begin, events, places, out)


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
        return Matches.room(0)
    if len(parts) == 1 and isinstance(parts[0], Rows) and not order.is_arranged:
        return parts[0].found
    sizes = [part.sizes for part in parts]
    events = [order.event[part.first : part.first + len(size)] for part, size in zip(parts, sizes, strict=True)]
    count = np.zeros(len(order.event), np.int64)
    for these, size in zip(events, sizes, strict=True):
        count[these] += size
    total, place = int(count.sum()), np.cumsum(count) - count
    out = Matches.room(total)
    for part, these in zip(parts, events, strict=True):
        part.write(these, place[these], out)
    return out


@kernel
def copy_rows(found, begin, events, places, out):  # type: ignore[no-untyped-def]
    """Copy the matches of the i-th event, which are those from ``begin[i]`` on, to its place."""
    for i in range(len(events)):
        shift = places[i] - begin[i]
        for k in range(begin[i], begin[i + 1]):
            out.event[shift + k] = events[i]
            out.subscription[shift + k] = found.subscription[k]
            out.score[shift + k] = found.score[k]
