"""The contract every engine keeps: build arrays from subscriptions, open them, match a block of events.

An engine is two functions and a name. ``build`` turns subscriptions into flat arrays (the *parts* of a segment);
``open`` wraps such arrays, usually read-only memory maps of a segment file, into a `Matcher`. Parts hold no Python
objects, so a segment is self-contained, can be shared by every process of a host through the page cache, and runs no
code when loaded.

Laws, held by `tests/contract` for every engine:

* matches and scores equal the oracle's for every block size, order of events and split into segments;
* with ``top``, each event's matches are the first ``top`` of all its matches in (score falling, ordinal rising) order;
* a dead ordinal never appears and never displaces another match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from index.event_block import EventBlock
from index.matches import Matches
from index.observed.statistics import EventStatistics
from schemas.records import Subscription

Parts = Mapping[str, npt.NDArray[np.generic]]
"""Named flat arrays of a segment, as an engine builds and opens them."""


class Matcher(Protocol):
    """A segment's arrays, ready to match. One matcher is used by one thread at a time."""

    @property
    def count(self) -> int:
        """The number of subscriptions, dead ones included."""

    def match(self, block: EventBlock, dead: npt.NDArray[np.uint32] | None = None) -> Matches:
        """Match every event of the block.

        Parameters
        ----------
        block
            Any number of events; ``block.top[e]`` bounds the matches of event ``e`` (0: all of them).
        dead
            Ordinals that must not match, ascending and distinct; None means none. An array that was given once is not
            written to afterwards.
        """


class TooManyMatches(Exception):
    """A block has more matches than its caller wants at once; blocks of fewer events have fewer."""


@runtime_checkable
class BoundedMatcher(Matcher, Protocol):
    """A matcher that can stop before its matches fill the memory, and where nothing can score enough any more."""

    @property
    def is_bounded(self) -> Literal[True]:
        """Tells such a matcher from others."""

    def match(
        self,
        block: EventBlock,
        dead: npt.NDArray[np.uint32] | None = None,
        most: int | None = None,
        floor: npt.NDArray[np.int64] | None = None,
    ) -> Matches:
        """Match every event of the block.

        Parameters
        ----------
        block, dead
            As in `Matcher.match`.
        most
            How many matches a block of several events may have; None sets no bound.
        floor
            int64 [events], in units of 1 / SCORE_SCALE: matches of an event with a ``top`` that score less may be left
            out, since enough better ones are known; None leaves out none.

        Raises
        ------
        TooManyMatches
            The block has several events, and more than ``most`` matches.
        """


class Engine(Protocol):
    """How subscriptions become parts and parts become a matcher."""

    @property
    def name(self) -> str:
        """The name by which settings and segment files call the engine."""

    def build(self, subscriptions: Sequence[Subscription]) -> Parts:
        """Build a segment's arrays; equal subscriptions give equal arrays.

        Parameters
        ----------
        subscriptions
            Checked subscriptions, distinct ids, ascending in code-point order; ordinal i is the i-th of them.

        Raises
        ------
        schemas.errors.Refused
            The engine cannot express a subscription; the message names an engine that can.
        """

    def open(self, parts: Parts) -> Matcher:
        """Wrap the arrays that ``build`` made; nothing is copied."""


@runtime_checkable
class EstimatingEngine(Engine, Protocol):
    """An engine that chooses by how often predicates hold, and so has a use for what was observed of events."""

    @property
    def uses_statistics(self) -> Literal[True]:
        """Tells such an engine from others."""

    def build(self, subscriptions: Sequence[Subscription], statistics: EventStatistics | None = None) -> Parts:
        """Build a segment's arrays; equal subscriptions and equal statistics give equal arrays.

        Statistics are advice: whatever they say, the arrays answer alike.
        """


@runtime_checkable
class SelectiveEngine(Engine, Protocol):
    """An engine that cannot express every subscription; one that is none takes them all."""

    def check(self, subscription: Subscription) -> None:
        """Say whether ``build`` takes a subscription, without building.

        Raises
        ------
        schemas.errors.Refused
            It does not, with the reason; the message names an engine that does.
        """
