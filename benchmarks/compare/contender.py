"""What takes part in a comparison: it is given subscriptions and events, and says what matched and how long it took."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from benchmarks.timing import Span
from schemas.errors import TocsinError
from schemas.records import Event, Subscription


class Unable(TocsinError):
    """The contender cannot say the subscriptions, or is not installed; the message tells which."""


class Pairs(NamedTuple):
    """Matches as (event, ordinal), ascending: int32 both."""

    event: npt.NDArray[np.int32]
    ordinal: npt.NDArray[np.int32]

    @classmethod
    def of(cls, event: npt.NDArray[np.int32], ordinal: npt.NDArray[np.int32]) -> Pairs:
        """Return the pairs, sorted."""
        order = np.lexsort((ordinal, event))
        return cls(event[order].astype(np.int32), ordinal[order].astype(np.int32))

    @classmethod
    def of_lists(cls, found: Sequence[Collection[int]]) -> Pairs:
        """Return the pairs of each event's list of ordinals."""
        lengths = [len(ordinals) for ordinals in found]
        event = np.repeat(np.arange(len(found), dtype=np.int32), lengths)
        return cls.of(event, np.array([o for ordinals in found for o in ordinals], np.int32))

    def same(self, other: Pairs) -> bool:
        """Return whether both hold the same pairs."""
        return np.array_equal(self.event, other.event) and np.array_equal(self.ordinal, other.ordinal)


class Outcome(NamedTuple):
    """Milliseconds an event, all matches and the ten best ones where the contender ranks, and the pairs."""

    all: Span
    top: Span | None
    pairs: Pairs


class Contender(Protocol):
    """One that takes part."""

    @property
    def name(self) -> str:
        """Its name in tables and pictures."""

    def build(self, subscriptions: Sequence[Subscription]) -> None:
        """Take the subscriptions; ordinal i is the i-th.

        Raises
        ------
        Unable
            It cannot.
        """

    def match(self, events: Sequence[Event]) -> Outcome:
        """Match the events, one by one or as it likes best."""
