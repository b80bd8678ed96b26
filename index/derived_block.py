"""Extends an event block by derived attributes: an event has their values among its entries, as it has its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import overload

import numpy as np
import numpy.typing as npt

from index.byte_rows import ByteRows
from index.column import Column
from index.derivations import Family
from index.derived_columns import columns_of
from index.event_block import EventBlock
from index.kernel import kernel
from index.numbers import NumberPairs
from index.slices import starts_of
from index.value_rows import number_rows, value_rows
from schemas.values import Value


class _Values(Sequence[Value]):
    """The values of a block and of columns derived from it, of which few are ever asked for."""

    def __init__(self, values: Sequence[Value], columns: Sequence[Column]) -> None:
        self._values, self._columns = values, columns
        self._len = len(values) + sum(map(len, columns))

    def __len__(self) -> int:
        return self._len

    @overload
    def __getitem__(self, place: int) -> Value: ...

    @overload
    def __getitem__(self, place: slice) -> list[Value]: ...

    def __getitem__(self, place: int | slice) -> Value | list[Value]:
        return self._all[place]

    @cached_property
    def _all(self) -> list[Value]:
        every = list(self._values)
        for column in self._columns:
            every += column.numbers.to_list()
            every += column.texts
        return every


@dataclass(frozen=True, eq=False)
class ExtendedBlock(EventBlock):
    """A block with derived attributes among its attributes; its first terms are those of ``origin``.

    Attributes
    ----------
    origin
        The block without them.
    families
        The families some member of which has a value here; their members follow the attributes of ``origin``.
    derived
        The families' columns; their values follow the terms of ``origin``.
    """

    origin: EventBlock
    families: tuple[Family, ...]
    derived: tuple[Column, ...]

    @cached_property
    def keys(self) -> ByteRows:
        """See `EventBlock.keys`."""
        added = [self.origin.keys]
        for column in self.derived:
            if len(column.numbers.whole):
                added.append(number_rows(column.numbers))
            if column.texts:
                added.append(value_rows(column.texts))
        return ByteRows.concatenate(added)

    @cached_property
    def numbers(self) -> NumberPairs:
        """See `EventBlock.numbers`."""
        columns = [self.origin.numbers]
        for column in self.derived:
            columns += (column.numbers.pairs(), NumberPairs.of(column.texts))
        return NumberPairs(
            np.concatenate([column.double for column in columns]),
            np.concatenate([column.remainder for column in columns]),
        )

    @cached_property
    def is_text(self) -> npt.NDArray[np.bool_]:
        """See `EventBlock.is_text`."""
        added = (np.arange(len(column)) >= len(column.numbers.whole) for column in self.derived)
        return np.concatenate([self.origin.is_text, *added])


def extended(block: EventBlock, families: tuple[Family, ...]) -> EventBlock:
    """Return the block extended by derived attributes, itself when none of them has a value in it.

    A result that several values of an event have weighs what the heaviest of them does. Results are kept on the block,
    so segments that want the same attributes share them.

    Parameters
    ----------
    block
        A block without derived attributes.
    families
        What `index.derivations.families` returned.
    """
    known = block.extensions.get(families)
    if known is None:
        known = block.extensions[families] = _extended(block, families)
    return known


def _extended(block: EventBlock, families: tuple[Family, ...]) -> EventBlock:
    found = {family: columns for family in families if (columns := columns_of(block, family))}
    if not found:
        return block
    attributes, of_terms = list(block.attributes), [block.term_attribute]
    for family, columns in found.items():
        of_terms += [column.member + np.int32(len(attributes)) for column in columns]
        attributes += family.names
    derived = tuple(chain.from_iterable(found.values()))
    return ExtendedBlock(
        attributes,
        _Values(block.values, derived),
        np.concatenate(of_terms),
        *_dealt(block, derived),
        block.top,
        block.time,
        block,
        tuple(found),
        derived,
    )


def _dealt(
    block: EventBlock, columns: Sequence[Column]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Return offsets, terms and weights of all entries: each event's own, then those of each column in turn."""
    counts = np.diff(block.offsets)
    for column in columns:
        counts += np.bincount(column.entries.event, minlength=block.size)
    offsets = starts_of(counts, block.size)
    term, weight = np.empty(offsets[-1], np.int32), np.empty(offsets[-1])
    cursor = offsets[:-1].copy()
    _deal(block.entry_event, block.term, block.weight, 0, cursor, term, weight)
    first = len(block.values)
    for column in columns:
        _deal(*column.entries, first, cursor, term, weight)
        first += len(column)
    return offsets, term, weight


@kernel
def _deal(event, place, weight, first, cursor, out_term, out_weight):  # type: ignore[no-untyped-def]
    """Write entries where the cursors of their events stand, and move these on."""
    for i in range(len(event)):
        to = cursor[event[i]]
        out_term[to], out_weight[to] = first + place[i], weight[i]
        cursor[event[i]] = to + 1
