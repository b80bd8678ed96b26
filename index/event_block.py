"""The event block: a micro-batch's events in columns, attributes and values interned once, for any segment to match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numba import njit

from index.byte_rows import ByteRows
from index.numbers import NumberPairs
from index.slices import places_of, starts_of
from index.value_rows import value_rows
from schemas.records import Event
from schemas.values import Value

if TYPE_CHECKING:
    from index.column import Column
    from index.derivations import Family

NO_TIME = np.iinfo(np.int64).min
"""Stands in ``EventBlock.time`` for an event without a time."""

TIME_ATTRIBUTE = "\0time"
"""The attribute under which an event's time is a term, so that validity is a range like any other.

No record can hold it: the codecs refuse names that begin with NUL.
"""


@dataclass(frozen=True, eq=False)
class EventBlock:
    """Events in columns; event ``e`` has the entries ``offsets[e]`` to ``offsets[e + 1]`` of ``term`` and ``weight``.

    The block knows nothing of any segment: a segment translates the block's distinct terms into its own ordinals, which
    costs one look-up a distinct term, however many events share it.

    Attributes
    ----------
    attributes
        Distinct attribute names; an event with a time has the attribute `TIME_ATTRIBUTE`.
    values, term_attribute
        The distinct terms: each one's value, and int32 [terms], the index of its attribute in ``attributes``. Equal
        values by `schemas.values.value_key` are one term of an attribute.
    offsets
        int64 [events + 1].
    term
        int32 [entries], index into ``values``; no term twice within an event, an attribute's terms side by side.
    weight
        float64 [entries], the event's weight of that value.
    top
        int32 [events], how many matches the event wants at most; 0 means all.
    time
        int64 [events], microseconds since the epoch, or `NO_TIME`.
    """

    attributes: list[str]
    values: Sequence[Value]
    term_attribute: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    term: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64]
    top: npt.NDArray[np.int32]
    time: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        """The number of events."""
        return len(self.top)

    @classmethod
    def from_events(cls, events: Sequence[Event], default_top: int = 0) -> EventBlock:
        """Intern the events' attributes and values; ``default_top`` serves events that name no ``top`` (0: all)."""
        attributes, values, of_values, offsets, term, weighted, weights = _intern(events)
        weight = np.ones(len(term))
        weight[weighted] = weights
        top = [default_top if event.top is None else event.top for event in events]
        time = [NO_TIME if event.time is None else event.time for event in events]
        return cls(
            attributes,
            values,
            np.array(of_values, np.int32),
            np.array(offsets, np.int64),
            np.array(term, np.int32),
            weight,
            np.array(top, np.int32),
            np.array(time, np.int64),
        )

    def take(self, rows: npt.NDArray[np.int64]) -> EventBlock:
        """Return a block of the events at ``rows``, in that order; attributes and terms are shared."""
        lengths = np.diff(self.offsets)[rows]
        offsets = starts_of(lengths, len(rows))
        entries = places_of(self.offsets[rows], lengths)
        taken = EventBlock(
            self.attributes,
            self.values,
            self.term_attribute,
            offsets,
            self.term[entries],
            self.weight[entries],
            self.top[rows],
            self.time[rows],
        )
        for name in ("attribute_place", "terms", "names", "keys", "numbers", "is_text"):
            if name in self.__dict__:
                taken.__dict__[name] = self.__dict__[name]
        return taken

    @cached_property
    def attribute_place(self) -> dict[str, int]:
        """Attribute name to its index into ``attributes``."""
        return {name: place for place, name in enumerate(self.attributes)}

    @cached_property
    def columns(self) -> dict[Family | str, tuple[Column, ...]]:
        """What has been derived from this block, and from what: `index.derived_columns`."""
        return {}

    @cached_property
    def extensions(self) -> dict[tuple[Family, ...], EventBlock]:
        """The block extended by families of derived attributes: `index.derived_block`."""
        return {}

    @cached_property
    def terms(self) -> list[tuple[int, Value]]:
        """The terms as pairs of an index into ``attributes`` and a value."""
        return list(zip(self.term_attribute.tolist(), self.values, strict=True))

    @cached_property
    def entry_event(self) -> npt.NDArray[np.int32]:
        """int32 [entries], each entry's event."""
        return np.repeat(np.arange(self.size, dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def names(self) -> ByteRows:
        """The attribute names as `index.terms.value_bytes`, for a segment's dictionary."""
        return value_rows(self.attributes)

    @cached_property
    def keys(self) -> ByteRows:
        """The terms' values as `index.terms.value_bytes`, for a segment's dictionary."""
        return value_rows(self.values)

    @cached_property
    def numbers(self) -> NumberPairs:
        """The terms' values as numbers; a NaN stands for all that is none."""
        return NumberPairs.of(self.values)

    @cached_property
    def is_text(self) -> npt.NDArray[np.bool_]:
        """Bool [terms], whether a term's value is a string."""
        return np.fromiter([isinstance(value, str) for value in self.values], np.bool_, len(self.values))

    @cached_property
    def plain(self) -> npt.NDArray[np.bool_]:
        """Bool [events]: every weight of the event is 1 and no attribute has two values."""
        plain = np.empty(self.size, np.bool_)
        _fill_plain(self.offsets, self.term, self.weight, self.term_attribute, plain)
        return plain


@njit(cache=True, nogil=True)
def _fill_plain(offsets, term, weight, attribute, plain):  # type: ignore[no-untyped-def]
    """Write `EventBlock.plain`; an attribute's terms stand side by side in an event."""
    for event in range(len(plain)):
        last, plain[event] = -1, True
        for entry in range(offsets[event], offsets[event + 1]):
            if weight[entry] != 1.0 or attribute[term[entry]] == last:
                plain[event] = False
                break
            last = attribute[term[entry]]


_Interned = tuple[list[str], list[Value], list[int], list[int], list[int], list[int], list[float]]


def _intern(events: Iterable[Event]) -> _Interned:
    """Return the fields' content: attributes, terms, offsets, entries, and which of those are given what weight.

    The only loop over events: two dictionary look-ups a value, and nothing a value could collide with. A table's key
    is the value itself, since Python holds 1, 1.0 and -0.0, 0 for one key as matching does, but a tuple for a boolean,
    which Python would hold for the number 0 or 1. A NaN finds at most itself, and no look-up in a segment finds it.
    """
    tables: dict[str, tuple[int, dict[object, int]]] = {}
    distinct: list[Value] = []
    of_distinct: list[int] = []
    offsets = [0]
    term: list[int] = []
    weighted: list[int] = []
    given: list[float] = []
    for event in events:
        weights = event.weights
        for name, values in event.attributes.items():
            if weights and name in weights:
                weighted += range(len(term), len(term) + len(values))
                given += weights[name]
            entry = tables.get(name)
            if entry is None:
                entry = tables[name] = (len(tables), {})
            attribute, table = entry
            for value in values:
                key = (value,) if value is True or value is False else value
                found = table.get(key)
                if found is None:
                    found = table[key] = len(distinct)
                    distinct.append(value)
                    of_distinct.append(attribute)
                term.append(found)
        if event.time is not None:
            attribute, table = tables.setdefault(TIME_ATTRIBUTE, (len(tables), {}))
            found = table.get(event.time)
            if found is None:
                found = table[event.time] = len(distinct)
                distinct.append(event.time)
                of_distinct.append(attribute)
            term.append(found)
        offsets.append(len(term))
    return list(tables), distinct, of_distinct, offsets, term, weighted, given
