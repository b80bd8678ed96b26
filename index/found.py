"""One answer from many segments: merges the segments' matches per event, exactly, ties across segments by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from index.byte_rows import ByteRows, Int64s, compare
from index.matches import Matches

_NO_INT32 = np.zeros(0, np.int32)
_NO_INT64 = np.zeros(0, np.int64)


class Found(NamedTuple):
    """Matches of a block over all segments, ordered by event, then score falling, then id rising.

    Attributes
    ----------
    event
        int32, row of the event in its block.
    segment
        int32, index into the snapshot's segments.
    subscription
        int32, ordinal in that segment.
    score
        int64, in units of 1 / SCORE_SCALE.
    rank
        int32, 1 for an event's best match.
    """

    event: npt.NDArray[np.int32]
    segment: npt.NDArray[np.int32]
    subscription: npt.NDArray[np.int32]
    score: npt.NDArray[np.int64]
    rank: npt.NDArray[np.int32]

    def part(self, start: int, stop: int) -> Found:
        """Return these rows, not copied."""
        return Found(
            self.event[start:stop],
            self.segment[start:stop],
            self.subscription[start:stop],
            self.score[start:stop],
            self.rank[start:stop],
        )


def combine(top: npt.NDArray[np.int32], matches: Sequence[Matches], ids: Sequence[ByteRows]) -> Found:
    """Merge the segments' matches.

    Parameters
    ----------
    top
        int32 [events], how many matches each event wants at most; 0 means all.
    matches
        Each segment's matches under the same ``top``, ordered as an engine orders them.
    ids
        Each segment's ids.
    """
    event = np.concatenate([_NO_INT32, *(m.event for m in matches)])
    segment = np.repeat(np.arange(len(matches), dtype=np.int32), np.array([len(m) for m in matches], np.int64))
    subscription = np.concatenate([_NO_INT32, *(m.subscription for m in matches)])
    score = np.concatenate([_NO_INT64, *(m.score for m in matches)])
    answering = [k for k, m in enumerate(matches) if len(m)]
    if len(answering) > 1:
        names = ByteRows.concatenate([ids[k].take(matches[k].subscription) for k in answering])
        order = merged_order(_starts([matches[k] for k in answering]), score, names, top)
        event, segment, subscription, score = event[order], segment[order], subscription[order], score[order]
    return Found(event, segment, subscription, score, _ranks(event))


def merged_order(starts: Int64s, score: Int64s, ids: ByteRows, top: npt.NDArray[np.int32]) -> Int64s:
    """Return the candidates' rows in the order of the merge, cut to each event's ``top``.

    Parameters
    ----------
    starts
        int64 [segments, events + 1]; rows ``starts[k, e]`` to ``starts[k, e + 1]`` are segment k's candidates for event
        e, score falling, ids rising.
    score
        int64 [rows].
    ids
        The rows' ids.
    top
        int32 [events]; 0 means all.
    """
    wanted = np.diff(starts, axis=1).sum(axis=0)
    wanted = np.where(top > 0, np.minimum(wanted, top), wanted)
    order = np.empty(int(wanted.sum()), np.int64)
    _merge(starts, score, ids.data, ids.offsets, wanted, order)
    return order


@njit(cache=True, nogil=True)
def _merge(starts, score, data, offsets, wanted, order):  # type: ignore[no-untyped-def]
    """Each event takes the best of the segments' heads, as often as it wants."""
    heads = np.empty(starts.shape[0], np.int64)
    out = 0
    for event in range(len(wanted)):
        heads[:] = starts[:, event]
        for _ in range(wanted[event]):
            # wanted counts no more rows than there are, so some segment has a head left.
            best = -1
            for k in range(len(heads)):
                if heads[k] < starts[k, event + 1] and (
                    best < 0 or _precedes(score, data, offsets, heads[k], heads[best])
                ):
                    best = k
            order[out] = heads[best]
            heads[best] += 1
            out += 1


@njit(cache=True, nogil=True)
def _precedes(score, data, offsets, a, b):  # type: ignore[no-untyped-def]
    if score[a] != score[b]:
        return score[a] > score[b]
    return compare(data, offsets[a], offsets[a + 1], data, offsets[b], offsets[b + 1]) < 0


def _starts(matches: Sequence[Matches]) -> Int64s:
    """Return where each event's candidates begin, with the segments' candidates one after the other."""
    before = np.cumsum([0, *(len(m) for m in matches)])
    return np.stack([base + m.begin for base, m in zip(before.tolist(), matches, strict=False)])


def _ranks(event: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return each row's place, from 1, among the rows of its event."""
    first = np.searchsorted(event, event, side="left")
    return (np.arange(len(event)) - first + 1).astype(np.int32)
