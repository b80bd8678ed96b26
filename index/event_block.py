"""The event block: a micro-batch's events in columns, its attributes and values interned once, for any segment to match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schemas.records import Event
from schemas.values import Value

NO_TIME = np.iinfo(np.int64).min
"""Stands in ``EventBlock.time`` for an event without a time."""


@dataclass(frozen=True, eq=False)
class EventBlock:
    """Events in columns; entries of event ``e`` are rows ``offsets[e]`` to ``offsets[e + 1]`` of ``term`` and ``weight``.

    The block knows nothing of any segment: a segment translates the block's distinct terms into its own ordinals, which
    costs one look-up a distinct term, however many events share it.

    Attributes
    ----------
    attributes
        Distinct attribute names.
    terms
        Distinct (index into ``attributes``, value) pairs; equal values by `schemas.values.value_key` are one term.
    offsets
        int64 [events + 1].
    term
        int32 [entries], index into ``terms``; no term twice within an event.
    weight
        float64 [entries], the event's weight of that value.
    top
        int32 [events], how many matches the event wants at most; 0 means all.
    time
        int64 [events], microseconds since the epoch, or `NO_TIME`.
    """

    attributes: list[str]
    terms: list[tuple[int, Value]]
    offsets: npt.NDArray[np.int64]
    term: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64]
    top: npt.NDArray[np.int32]
    time: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        """The number of events."""
        return len(self.top)

    @classmethod
    def from_events(cls, events: Sequence[Event], default_top: int = 0) -> EventBlock:
        """Intern the events' attributes and values; ``default_top`` serves events that name no ``top`` (0: all)."""
        raise NotImplementedError
