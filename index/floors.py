"""What a match must score to be among an event's best, given those of the segments that have been matched.

Without it each segment would look for its own best as if there were no others: of forty segments each would have to
find ten, of which thirty-nine in forty come to nothing. With it a segment's lists end where nothing can come in any
more, as if all segments were one (Lucene shares its least competitive score among segments for the same reason).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from index.kernel import kernel
from index.matches import Matches
from index.slices import Int64s

NO_FLOOR = np.iinfo(np.int64).min
"""The floor of an event that can still use any match."""


class Floors:
    """The floors of a block's events.

    Parameters
    ----------
    top
        int32 [events], how many matches each event wants at most; 0 means all, and such an event has no floor.

    Attributes
    ----------
    points
        int64 [events], the score, in units of 1 / SCORE_SCALE, below which no match can be among the event's best. One
        that scores just as much may be: ids decide then.
    """

    def __init__(self, top: npt.NDArray[np.int32]) -> None:
        self._top, self._limited = top, bool(top.any())
        self._begin, self._best = np.zeros(len(top) + 1, np.int64), np.zeros(0, np.int64)
        self.points: Int64s = np.full(len(top), NO_FLOOR)

    def learn(self, matches: Matches) -> None:
        """Take note of one more segment's matches, given under the same ``top`` and these floors."""
        if not self._limited or not len(matches):
            return
        begin, best = np.empty_like(self._begin), np.empty(len(self._best) + len(matches), np.int64)
        _merge(self._top, self._begin, self._best, matches.begin, matches.score, begin, best, self.points)
        self._begin, self._best = begin, best


@kernel
def _merge(top, begin, points, more_begin, more, starts, best, floor):  # type: ignore[no-untyped-def]
    """Write each event's best of two lists, both falling, one event behind the other, and the floors."""
    place = starts[0] = 0
    for event in range(len(top)):
        i, stop, j, more_stop = begin[event], begin[event + 1], more_begin[event], more_begin[event + 1]
        end = place + min(np.int64(top[event]), stop - i + more_stop - j)
        for k in range(place, end):
            # there are no more places than both have together, so one of them has another
            if j == more_stop or (i < stop and points[i] >= more[j]):
                best[k] = points[i]
                i += 1
            else:
                best[k] = more[j]
                j += 1
        if 0 < top[event] == end - place:
            floor[event] = best[end - 1]
        place = starts[event + 1] = end
