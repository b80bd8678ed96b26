"""The collector: counts a small sample of the events that a worker matches, at a cost that matching does not notice."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

import numpy as np
import numpy.typing as npt

from index.event_block import TIME_ATTRIBUTE, EventBlock
from index.observed.histogram import Histogram
from index.observed.statistics import (
    VALUE_LIMIT,
    AttributeStatistics,
    EventStatistics,
    attribute_key,
    bounded_key,
)
from index.slices import places_of

BLOCK_STEP = 16
"""One block of so many is looked at, the first one included."""

EVENTS_PER_BLOCK = 64
"""Of a larger block at most so many events are counted, at equal distances."""

HELD_VALUES = 8 * VALUE_LIMIT
"""When more values are held, the lightest of them are dropped."""

HELD_NUMBERS = 1 << 16
"""When more numbers are held, they are put into histograms."""

_TEXT = ord("s")
"""How `index.terms.value_bytes` of a string begins."""


class _Counts:
    """What has been counted of one attribute; ``points`` are numbers, and how often each was met."""

    def __init__(self) -> None:
        self.asked = self.events = self.occurrences = self.texts = 0
        self.values: dict[bytes, int] = {}
        self.points: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = []
        self.numbers = Histogram()

    def settle(self) -> None:
        """Put the points into the histogram."""
        if self.points:
            number, count = (np.concatenate(column) for column in zip(*self.points, strict=True))
            self.numbers = self.numbers.plus(Histogram.of(number, count))
            self.points = []


class Collector:
    """Counts events; which ones depends on nothing but the blocks and their order."""

    def __init__(self) -> None:
        self._blocks = 0
        self._clear()

    def _clear(self) -> None:
        self._events = self._dropped = self._numbers = 0
        self._counts: dict[str, _Counts] = {}

    def see(self, block: EventBlock) -> None:
        """Count events of a block that has been matched, if it is this block's turn."""
        turn, rest = divmod(self._blocks, BLOCK_STEP)
        self._blocks += 1
        if rest or not block.size:
            return
        step = -(-block.size // EVENTS_PER_BLOCK)
        events = np.arange(turn % step, block.size, step)
        self._events += len(events)
        self._count(block, events, set(block.attributes) - {TIME_ATTRIBUTE})
        derived: set[str] = set()
        for families, extension in block.extensions.items():
            names = {name for family in families for name in family.names}
            self._count(extension, events, names - derived)
            derived.update(names)
        if sum(len(counts.values) for counts in self._counts.values()) > HELD_VALUES:
            self._drop()
        if self._numbers > HELD_NUMBERS:
            self._settle()

    def take(self) -> EventStatistics:
        """Return what has been counted since the last call."""
        self._settle()
        attributes = {
            attribute_key(name): AttributeStatistics(
                float(counts.asked if name.startswith("\0") else self._events),
                float(counts.events),
                float(counts.occurrences),
                float(counts.texts),
                {key: float(count) for key, count in counts.values.items()},
                counts.numbers,
            )
            for name, counts in self._counts.items()
        }
        found = EventStatistics(float(self._events), float(self._events), float(self._dropped), attributes).bounded()
        self._clear()
        return found

    def _count(self, block: EventBlock, events: npt.NDArray[np.int64], names: Collection[str]) -> None:
        """Count what some events of a block have of the attributes ``names``."""
        tables = {name: self._counts.setdefault(name, _Counts()) for name in names}
        for counts in tables.values():
            counts.asked += len(events)
        wanted = np.fromiter((name in tables for name in block.attributes), np.bool_, len(block.attributes))
        entries = _entries(block, events)
        entries = entries[wanted[block.term_attribute[block.term[entries]]]]
        attribute, event = block.term_attribute[block.term[entries]], block.entry_event[entries]
        first = np.ones(len(entries), np.bool_)
        first[1:] = (attribute[1:] != attribute[:-1]) | (event[1:] != event[:-1])
        holders = np.bincount(attribute[first], minlength=len(block.attributes)).tolist()
        by_place = [tables.get(name) for name in block.attributes]
        for held, held_by in zip(by_place, holders, strict=True):
            if held is not None:
                held.events += held_by
        _count_terms(block, *np.unique(block.term[entries], return_counts=True), by_place)
        self._numbers += len(entries)

    def _drop(self) -> None:
        """Keep about half of the values, the heaviest; equal counts share one fate, whatever their order."""
        counts = list(chain.from_iterable(table.values.values() for table in self._counts.values()))
        most = int(np.partition(np.array(counts), -HELD_VALUES // 2)[-HELD_VALUES // 2])
        self._dropped += most
        for table in self._counts.values():
            table.values = {key: count for key, count in table.values.items() if count > most}

    def _settle(self) -> None:
        for counts in self._counts.values():
            counts.settle()
        self._numbers = 0


def _entries(block: EventBlock, events: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the entries of some events, an attribute's side by side within each event."""
    start = block.offsets[events]
    return places_of(start, block.offsets[events + 1] - start)


def _count_terms(
    block: EventBlock,
    terms: npt.NDArray[np.int32],
    count: npt.NDArray[np.int64],
    by_place: list[_Counts | None],
) -> None:
    """Count each of the terms so often, in the counts of its attribute."""
    attribute = block.term_attribute[terms]
    for place, key, n in zip(attribute.tolist(), block.keys.take(terms).to_list(), count.tolist(), strict=True):
        counts = by_place[place]
        if counts is None:
            continue
        counts.occurrences += n
        if key:  # a NaN has no key, and is equal to nothing that could be asked for
            counts.texts += n if key[0] == _TEXT else 0
            key = bounded_key(key)
            counts.values[key] = counts.values.get(key, 0) + n
    number = block.numbers.double[terms]
    numeric = np.flatnonzero(np.isfinite(number))
    order = numeric[np.argsort(attribute[numeric], kind="stable")]
    cuts = np.flatnonzero(np.diff(attribute[order])) + 1
    for part in np.split(order, cuts) if len(order) else ():
        counts = by_place[attribute[part[0]]]
        if counts is not None:
            counts.points.append((number[part], count[part].astype(np.float64)))
