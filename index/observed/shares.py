"""Shares of events, as statistics tell them: how many have an attribute, a value, a number or text between bounds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate

from index.observed.histogram import Cumulative
from index.observed.statistics import AttributeStatistics, EventStatistics, attribute_key, bounded_key
from index.terms import text_bytes
from schemas.values import Number

_TEXT = b"s"
"""How `index.terms.value_bytes` of a string begins."""


class AttributeShares:
    """One attribute's shares; each is between 0 and 1 if the statistics are any good, and never NaN.

    Attributes
    ----------
    asked
        How many events the shares are drawn from, more than 0.
    presence
        The share of events that have the attribute.
    """

    def __init__(self, counted: AttributeStatistics, asked: float, dropped: float) -> None:
        self._counted = counted
        self._dropped = dropped
        self.asked = asked
        self.presence = counted.events / asked

    @property
    def occurrences(self) -> float:
        """Values an event."""
        return self._counted.occurrences / self.asked

    def listed(self, key: bytes) -> float | None:
        """Return the share of events with a value, by its `index.terms.value_bytes`; None for one that is rare."""
        count = self._counted.values.get(bounded_key(key))
        return None if count is None else count / self.asked

    def rare(self, values: int) -> float:
        """Return the share of a value that is not listed, one of so many that might be met."""
        rest = max(0.0, self._counted.occurrences - sum(self._counted.values.values()))
        return min(self._dropped, rest / (values + 1)) / self.asked

    def between_numbers(self, low: Number | None, low_in: bool, high: Number | None, high_in: bool) -> float:
        """Return the share of events with a number between bounds; None is no bound, ``in`` says that it counts."""
        top = self._numbers.weight(float("inf") if high is None else float(high), high_in)
        bottom = 0.0 if low is None else self._numbers.weight(float(low), not low_in)
        return min(self.presence, max(0.0, top - bottom) / self.asked)

    def between_texts(self, low: str | None, low_in: bool, high: str | None, high_in: bool, guess: float) -> float:
        """Return the same for texts; of those that are not listed a share is guessed."""
        keys, sums = self._texts
        first = 0 if low is None else (bisect_left if low_in else bisect_right)(keys, text_bytes(low))
        last = len(keys) if high is None else (bisect_right if high_in else bisect_left)(keys, text_bytes(high))
        rest = max(0.0, self._counted.texts - sums[-1])
        return min(self.presence, (max(0.0, sums[last] - sums[first]) + rest * guess) / self.asked)

    @cached_property
    def _numbers(self) -> Cumulative:
        return Cumulative(self._counted.numbers)

    @cached_property
    def _texts(self) -> tuple[list[bytes], list[float]]:
        """The listed texts in order, and the sums of the counts before each, and of all."""
        listed = sorted((key[1:], n) for key, n in self._counted.values.items() if key.startswith(_TEXT))
        return [key for key, _ in listed], [0.0, *accumulate(n for _, n in listed)]


class Shares:
    """All attributes' shares."""

    def __init__(self, statistics: EventStatistics) -> None:
        self._statistics = statistics
        self._known: dict[str, AttributeShares | None] = {}

    def of(self, name: str) -> AttributeShares | None:
        """Return an attribute's shares; None when nothing was observed that would tell."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> AttributeShares | None:
        counted = self._statistics.attributes.get(attribute_key(name))
        if counted is None:
            # nobody has looked for an unknown derived attribute; others were looked for in every event
            counted = AttributeStatistics(asked=0.0 if name.startswith("\0") else self._statistics.events)
        return AttributeShares(counted, counted.asked, self._statistics.dropped) if counted.asked > 0 else None
