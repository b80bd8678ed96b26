"""What a segment answers: each event's subscriptions in order, with scores in runs; and the same row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class MatchRows(NamedTuple):
    """Matches row by row, ordered by event, then score falling, then ordinal rising.

    Attributes
    ----------
    event
        int32, row of the event in its block.
    subscription
        int32, ordinal of the subscription in its segment; ordinals follow the ids in code-point order.
    score
        int64, in units of 1 / SCORE_SCALE.
    """

    event: npt.NDArray[np.int32]
    subscription: npt.NDArray[np.int32]
    score: npt.NDArray[np.int64]

    @classmethod
    def joined(cls, found: Sequence[MatchRows]) -> MatchRows:
        """Return the rows of all, in their order."""
        return cls(
            np.concatenate([np.zeros(0, np.int32), *(m.event for m in found)]),
            np.concatenate([np.zeros(0, np.int32), *(m.subscription for m in found)]),
            np.concatenate([np.zeros(0, np.int64), *(m.score for m in found)]),
        )

    @classmethod
    def room(cls, count: int) -> MatchRows:
        """Return so many rows that are still to be written."""
        return cls(np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int64))

    def take(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> MatchRows:
        """Return the rows chosen by a mask or by indices, copied."""
        return MatchRows(self.event[rows], self.subscription[rows], self.score[rows])

    def matches(self, events: int) -> Matches:
        """Return the same as the answer to a block of so many events; the columns are shared, not copied."""
        begin = np.searchsorted(self.event, np.arange(events + 1, dtype=np.int32))
        return Matches(begin, self.subscription, self.score)


@dataclass(frozen=True, eq=False, slots=True)
class Matches:
    """Matches of a block, event by event, each event's by score falling, then ordinal rising.

    Many matches of an event often have one score, and then four bytes a match say all that there is to say, where rows
    take sixteen: to write an answer of 50,000 matches takes less than half the time.

    Attributes
    ----------
    begin
        int64 [events + 1], where each event's matches begin.
    subscription
        int32 [matches], ordinal of the subscription in its segment; ordinals follow the ids in code-point order.
    points
        int64 [runs], scores in units of 1 / SCORE_SCALE.
    run
        int64 [runs + 1], where each run of matches of one score begins; runs may be empty. None if each match is one.
    """

    begin: npt.NDArray[np.int64]
    subscription: npt.NDArray[np.int32]
    points: npt.NDArray[np.int64]
    run: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """Return how many matches there are."""
        return len(self.subscription)

    @property
    def event(self) -> npt.NDArray[np.int32]:
        """int32 [matches], row of the event in its block; made when asked for."""
        return np.repeat(np.arange(len(self.begin) - 1, dtype=np.int32), np.diff(self.begin))

    @property
    def score(self) -> npt.NDArray[np.int64]:
        """int64 [matches], in units of 1 / SCORE_SCALE; made when asked for, if there are runs."""
        return self.points if self.run is None else np.repeat(self.points, np.diff(self.run))

    def rows(self) -> MatchRows:
        """Return the same row by row."""
        return MatchRows(self.event, self.subscription, self.score)
