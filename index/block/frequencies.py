"""How often a predicate is expected to hold, judged by the population of subscriptions alone.

The one place for this estimate: it decides which literal a clause is posted under and in which order literals are
tested, never what matches, so statistics of events may replace it.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from index.block.vocabulary import Fits, Holds, Inside, OneOf, Outside, Predicate, Present, Term, Vocabulary
from index.event_block import TIME_ATTRIBUTE

PRESENT = 0.9
"""Most attributes that subscriptions ask for are there."""

SMALLEST_RANGE = 0.05
"""Below this a range's share of its ladder says little about the share of events."""

SMALLEST_BAND = 0.01
"""The same for texts between two bounds, such as those with one beginning: most texts are somewhere else."""

FOUND = 0.05
"""Few values match a pattern or contain a text."""


class Ranges(Protocol):
    """What the estimate needs to know of ranges."""

    def share(self, inside: Inside) -> float:
        """Return the share of the attribute's named intervals that a range holds."""


class Frequencies:
    """The estimate over one vocabulary: an attribute's named values are taken to be equally frequent."""

    def __init__(self, vocabulary: Vocabulary, ranges: Ranges) -> None:
        self._named = Counter(attribute for attribute, _, _ in vocabulary.terms)
        self._time = vocabulary.attributes.get(TIME_ATTRIBUTE)
        self._ranges = ranges

    def of(self, predicate: Predicate) -> float:
        """Return the share of events, 0 to 1, in which the predicate is expected to hold."""
        if isinstance(predicate, Term):
            return 1 / (self._named[predicate.attribute] + 1)
        if isinstance(predicate, OneOf):
            return len(predicate.terms) / (self._named[predicate.attribute] + 1)
        if isinstance(predicate, Present):
            return PRESENT
        if isinstance(predicate, Fits | Holds):
            return FOUND
        if isinstance(predicate, Outside):
            return 1 - 1 / (self._named[predicate.attribute] + 1)
        if isinstance(predicate, Inside) and predicate.attribute != self._time:
            band = predicate.text and len(predicate.bounds) == 2
            return max(SMALLEST_BAND if band else SMALLEST_RANGE, self._ranges.share(predicate))
        # Validity holds for nearly all of the events that a subscription lives to see.
        return 1.0
