"""How often a predicate is expected to hold: by what was observed of events, else by the population of subscriptions.

The one place for this estimate: it decides which literal a clause is posted under, its second row, and in which order
literals are tested, never what matches.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Protocol, cast

from index.block.vocabulary import (
    Everything,
    Fits,
    Holds,
    Inside,
    OneOf,
    Outside,
    Predicate,
    Present,
    Term,
    Vocabulary,
)
from index.event_block import TIME_ATTRIBUTE
from index.observed.shares import AttributeShares, Shares
from index.observed.statistics import EventStatistics
from index.terms import value_bytes
from schemas.values import Number

PRESENT = 0.9
"""Most attributes that subscriptions ask for are there."""

SMALLEST_RANGE = 0.05
"""Below this a range's share of its ladder says little about the share of events."""

SMALLEST_BAND = 0.01
"""The same for texts between two bounds, such as those with one beginning: most texts are somewhere else."""

FOUND = 0.05
"""Few values match a pattern or contain a text."""

PRIOR_EVENTS = 32.0
"""The guess from subscriptions counts as much as the observation of so many events."""

RAREST = 1e-9
"""No predicate is expected to hold less often."""


class Ranges(Protocol):
    """What the estimate needs to know of ranges."""

    def share(self, inside: Inside) -> float:
        """Return the share of the attribute's named intervals that a range holds."""


class Frequencies:
    """The estimate over one vocabulary.

    Parameters
    ----------
    vocabulary
        What subscriptions name.
    ranges
        The ladders of its ranges.
    statistics
        What was observed of events, if anything.
    """

    def __init__(self, vocabulary: Vocabulary, ranges: Ranges, statistics: EventStatistics | None = None) -> None:
        self._named = Counter(attribute for attribute, _, _ in vocabulary.terms)
        self._time = vocabulary.attributes.get(TIME_ATTRIBUTE)
        self._ranges = ranges
        self._terms = list(vocabulary.terms)
        shares = Shares(statistics or EventStatistics())
        self._shares = [shares.of(name) for name in vocabulary.attributes]

    def of(self, predicate: Predicate) -> float:
        """Return the share of events, above 0 and at most 1, in which the predicate is expected to hold."""
        if isinstance(predicate, Everything) or predicate.attribute == self._time:
            # Validity holds for nearly all of the events that a subscription lives to see.
            return 1.0
        guess, shares = self._guess(predicate), self._shares[predicate.attribute]
        if shares is None:
            return guess
        observed = self._observed(predicate, shares, guess)
        mixed = (shares.asked * observed + PRIOR_EVENTS * guess) / (shares.asked + PRIOR_EVENTS)
        return min(1.0, max(RAREST, mixed))

    def _guess(self, predicate: Term | OneOf | Outside | Fits | Holds | Present | Inside) -> float:
        """Judge by the population of subscriptions: an attribute's named values are taken to be equally frequent."""
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
        band = predicate.text and len(predicate.bounds) == 2
        return max(SMALLEST_BAND if band else SMALLEST_RANGE, self._ranges.share(predicate))

    def _observed(
        self,
        predicate: Term | OneOf | Outside | Fits | Holds | Present | Inside,
        shares: AttributeShares,
        guess: float,
    ) -> float:
        """Judge by the events in which the attribute was looked for; what a test finds in a value is guessed."""
        if isinstance(predicate, Term):
            return self._values[predicate.term]
        if isinstance(predicate, OneOf):
            return min(shares.presence, sum(self._values[term] for term in predicate.terms))
        if isinstance(predicate, Outside):
            listed = sum(self._values[term] for term in predicate.terms)
            return min(shares.presence, max(0.0, shares.occurrences - listed))
        if isinstance(predicate, Present):
            return shares.presence
        if isinstance(predicate, Fits | Holds):
            return shares.presence * guess
        return _between(predicate, shares, guess)

    @cached_property
    def _values(self) -> list[float]:
        """Each term's observed share."""
        found = [
            None if (shares := self._shares[attribute]) is None else shares.listed(value_bytes(value))
            for attribute, _, value in self._terms
        ]
        unlisted = Counter(attribute for (attribute, _, _), share in zip(self._terms, found, strict=True) if not share)
        rare = [
            0.0 if shares is None else shares.rare(unlisted[attribute]) for attribute, shares in enumerate(self._shares)
        ]
        return [
            rare[attribute] if share is None else share
            for (attribute, _, _), share in zip(self._terms, found, strict=True)
        ]


def _between(inside: Inside, shares: AttributeShares, guess: float) -> float:
    low, low_in = (inside.ge, True) if inside.gt is None else (inside.gt, False)
    high, high_in = (inside.le, True) if inside.lt is None else (inside.lt, False)
    if inside.text:
        return shares.between_texts(cast("str | None", low), low_in, cast("str | None", high), high_in, guess)
    return shares.between_numbers(cast("Number | None", low), low_in, cast("Number | None", high), high_in)
