"""The engine ``pscan``: the subscriptions in the posting lists of the event's keys are evaluated.

Method: PSCAN of Whang et al., "Indexing Boolean Expressions" (PVLDB 2009), section 7: ``scan``, but only over the
subscriptions that have one of the event's keys in a leaf that is not negated; nothing is counted. Subscriptions that
may be true without any such key are evaluated for every event, as the paper's list Z is.

Complexity: O(entries of the event's lists + literals of the subscriptions in them) an event. Memory: that of ``scan``
and 4 bytes an entry.

Expresses, and cannot express, what ``scan`` does (`index.classic.scan`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from index.classic import answers as held
from index.classic.answers import Answers
from index.classic.arrays import Arrays, Int32s, Int64s, group, read_only
from index.classic.keys import KeyReader, KeyTable, number_keys
from index.classic.programs import CLOSE, Frames, ProgramBuilder, Programs, holds, mark, needs_no_key, score
from index.classic.ranges import Method
from index.engine import Matches, Parts
from index.event_block import EventBlock
from schemas.records import Subscription
from schemas.values import score_term


class PostedPrograms(NamedTuple):
    """Which subscriptions are evaluated.

    Attributes
    ----------
    posting_start, posting
        int64 [keys + 1], int32: the subscriptions of a key, ascending.
    always
        int32: those that are evaluated for every event, ascending.
    """

    posting_start: Int64s
    posting: Int32s
    always: Int32s


class PScan:
    """See the module.

    Parameters
    ----------
    ranges
        How range predicates become keys: `index.classic.ranges`.
    """

    name = "pscan"

    def __init__(self, ranges: Method = "hierarchy") -> None:
        self._ranges: Method = ranges

    def check(self, subscription: Subscription) -> None:
        """See `index.engine.SelectiveEngine.check`."""
        ProgramBuilder(self.name).add(subscription)

    def build(self, subscriptions: Sequence[Subscription]) -> Parts:
        """Build a segment's arrays; see `index.engine.Engine.build`."""
        builder = ProgramBuilder(self.name)
        programs = [builder.add(subscription) for subscription in subscriptions]
        table = number_keys(builder.reader.vocabulary, self._ranges)
        points = np.array([score_term(1.0, s.priority) for s in subscriptions], np.int64)
        arrays = builder.arrays(table)
        return table.arrays | arrays | _posted(programs, table, arrays) | {"owner_points": points}

    def open(self, parts: Parts) -> PScanMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return PScanMatcher(parts)


def _posted(programs: Sequence[Sequence[int]], table: KeyTable, arrays: Arrays) -> Arrays:
    """Return the parts of `PostedPrograms`."""
    negated = arrays["leaf_negated"].tolist()
    always = [needs_no_key(words, negated) for words in programs]
    leaf_start, plain = arrays["leaf_start"], arrays["leaf_negated"] == 0
    word = np.concatenate([np.zeros(0, np.int64), *(_leaves(words) for words in programs)])
    owner = np.repeat(np.arange(len(programs)), [len(_leaves(words)) for words in programs])
    kept = plain[word] & ~np.array(always, np.bool_)[owner] if len(word) else np.zeros(0, np.bool_)
    word, owner = word[kept], owner[kept]
    lengths = leaf_start[word + 1] - leaf_start[word]
    ends = np.cumsum(lengths)
    place = np.arange(int(lengths.sum())) + np.repeat(leaf_start[word] - (ends - lengths), lengths)
    pairs = np.unique(arrays["leaf_key"][place].astype(np.int64) << 32 | np.repeat(owner, lengths))
    return {
        "posting_start": np.searchsorted(pairs >> 32, np.arange(table.count + 1)).astype(np.int64),
        "posting": (pairs & (2**32 - 1)).astype(np.int32),
        "always": np.flatnonzero(always).astype(np.int32),
    }


def _leaves(words: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the leaves of a program; the word behind an `OPEN_AND` or `OPEN_OR` is none."""
    own = np.array(words, np.int64)
    leaf = own >= 0
    leaf[1:] &= (own[:-1] >= 0) | (own[:-1] == CLOSE)
    return own[leaf]


class PScanMatcher:
    """A segment's arrays and the memory to match with."""

    def __init__(self, parts: Parts) -> None:
        self._keys = KeyReader(parts)
        self._programs = group(Programs, parts)
        self._posted = group(PostedPrograms, parts)
        self._points = read_only(parts, "owner_points")
        self._frames = Frames.of(int(parts["program_depth"][0]), self._keys.count)
        self._seen = np.zeros(self.count, np.int64)
        self._answers = Answers.of(self.count)

    @property
    def count(self) -> int:
        """The number of subscriptions, dead ones included."""
        return len(self._points)

    def match(self, block: EventBlock, dead: npt.NDArray[np.uint32] | None = None) -> Matches:
        """Match every event of the block; see `index.engine.Matcher.match`."""
        view = self._keys.view(block)
        self._frames.stamp[:] = 0
        self._seen[:] = 0
        self._answers.bury(dead)
        return self._answers.gathered(
            block.size,
            lambda first: _match(
                first,
                block.top,
                view,
                self._programs,
                self._posted,
                self._points,
                self._frames,
                self._seen,
                self._answers,
            ),
        )


@njit(cache=True, nogil=True)
def _match(event, top, view, programs, posted, points, frames, seen, answers):  # type: ignore[no-untyped-def]
    """Match events until the answers have no room for one more; return the first that is left."""
    while event < len(top) and held.room(answers):
        held.begin(answers, top[event])
        mark(event, view, event + 1, frames)
        for subscription in posted.always:
            _evaluate(subscription, event + 1, programs, points, frames, answers)
        for i in range(view.start[event], view.start[event + 1]):
            key = view.key[i]
            for j in range(posted.posting_start[key], posted.posting_start[key + 1]):
                subscription = posted.posting[j]
                if seen[subscription] <= event:
                    seen[subscription] = event + 1
                    _evaluate(subscription, event + 1, programs, points, frames, answers)
        held.finish(answers, event)
        event += 1
    return event


@njit(cache=True, nogil=True)
def _evaluate(subscription, stamp, programs, points, frames, answers):  # type: ignore[no-untyped-def]
    if not answers.is_dead[subscription] and holds(subscription, stamp, programs, frames):
        held.offer(answers, subscription, points[subscription] + score(subscription, stamp, programs, frames))
