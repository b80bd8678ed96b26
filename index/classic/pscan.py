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

from index.arrays import Arrays, Int32s, Int64s, group
from index.classic import answers as held
from index.classic.counters import CANDIDATES, ENTRIES, READ
from index.classic.event_matcher import Run
from index.classic.keys import EventKeys, KeyTable
from index.classic.program_engine import ProgramEngine, ProgramMatcher
from index.classic.programs import CLOSE, holds, mark, needs_no_key, score
from index.engine import Parts
from index.event_block import EventBlock
from index.kernel import inlined, kernel
from index.slices import places_of


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


class PScan(ProgramEngine):
    """See the module."""

    name = "pscan"

    def postings(self, programs: Sequence[Sequence[int]], table: KeyTable, arrays: Arrays) -> Arrays:
        """See `index.classic.program_engine.ProgramEngine.postings`."""
        return _posted(programs, table, arrays)

    def open(self, parts: Parts) -> PScanMatcher:
        """Wrap a segment's arrays; nothing is copied."""
        return PScanMatcher(parts)


def _posted(programs: Sequence[Sequence[int]], table: KeyTable, arrays: Arrays) -> Arrays:
    """Return the parts of `PostedPrograms`."""
    negated = arrays["leaf_negated"].tolist()
    always = [needs_no_key(words, negated) for words in programs]
    leaf_start, plain = arrays["leaf_start"], arrays["leaf_negated"] == 0
    leaves = [_leaves(words) for words in programs]
    word = np.concatenate([np.zeros(0, np.int64), *leaves])
    owner = np.repeat(np.arange(len(programs)), list(map(len, leaves)))
    kept = plain[word] & ~np.array(always, np.bool_)[owner] if len(word) else np.zeros(0, np.bool_)
    word, owner = word[kept], owner[kept]
    lengths = leaf_start[word + 1] - leaf_start[word]
    place = places_of(leaf_start[word], lengths)
    pairs = np.unique(arrays["leaf_key"][place].astype(np.int64) << 32 | np.repeat(owner, lengths))
    return {
        "posting_start": np.searchsorted(pairs >> 32, np.arange(table.count + 1)).astype(np.int64),
        "posting": (pairs & (2**32 - 1)).astype(np.int32),
        "always": np.flatnonzero(always).astype(np.int32),
    }


def _leaves(words: Sequence[int]) -> Int64s:
    """Return the leaves of a program; the word behind an `OPEN_AND` or `OPEN_OR` is none."""
    own = np.array(words, np.int64)
    leaf = own >= 0
    leaf[1:] &= (own[:-1] >= 0) | (own[:-1] == CLOSE)
    return own[leaf]


class PScanMatcher(ProgramMatcher):
    """Evaluates the programs in the lists of an event's keys, and those that need no key."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._posted = group(PostedPrograms, parts)
        self._seen = np.zeros(self.count, np.int64)

    def prepared(self, block: EventBlock, view: EventKeys) -> Run:
        """See `index.classic.event_matcher.EventMatcher.prepared`."""
        self.frames.stamp[:] = 0
        self._seen[:] = 0
        return lambda first: _match(
            first,
            block.top,
            view,
            self.programs,
            self._posted,
            self.points,
            self.frames,
            self._seen,
            self.answers,
            self.counts,
        )


@kernel
def _match(event, top, view, programs, posted, points, frames, seen, answers, counts):  # type: ignore[no-untyped-def]
    """Match events until the answers have no room for one more; return the first that is left."""
    while event < len(top) and held.room(answers):
        held.begin(answers, top[event])
        mark(event, view, event + 1, frames)
        counts[CANDIDATES] += len(posted.always)
        for subscription in posted.always:
            _evaluate(subscription, event + 1, programs, points, frames, answers)
        for i in range(view.start[event], view.start[event + 1]):
            first, stop = posted.posting_start[view.key[i]], posted.posting_start[view.key[i] + 1]
            counts[ENTRIES] += stop - first
            for j in range(first, stop):
                subscription = posted.posting[j]
                if seen[subscription] <= event:
                    seen[subscription] = event + 1
                    counts[CANDIDATES] += 1
                    _evaluate(subscription, event + 1, programs, points, frames, answers)
        held.finish(answers, event)
        event += 1
    counts[READ] = counts[ENTRIES]
    return event


@inlined
def _evaluate(subscription, stamp, programs, points, frames, answers):  # type: ignore[no-untyped-def]
    if not answers.is_dead[subscription] and holds(subscription, stamp, programs, frames):
        held.offer(answers, subscription, points[subscription] + score(subscription, stamp, programs, frames))
