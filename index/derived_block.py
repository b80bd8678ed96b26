"""Derived attributes of an event block: a function is asked once about each distinct value, the rest is gathering."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.attribute_names import Derivation, Step, derivation
from index.byte_rows import ByteRows
from index.event_block import EventBlock
from index.numbers import NumberPairs
from index.value_rows import value_rows
from schemas.derived import derived_values
from schemas.values import Value

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


class Column(NamedTuple):
    """A derived attribute over one block.

    Attributes
    ----------
    source
        int64 [pairs], the block's terms that have results, ascending.
    result
        int64 [pairs], indices into ``values``, distinct and ascending for each source.
    values
        The distinct results.
    """

    source: Int64s
    result: Int64s
    values: list[Value]


@dataclass(frozen=True, eq=False)
class ExtendedBlock(EventBlock):
    """A block with derived attributes among its attributes; its first terms are those of ``origin``."""

    origin: EventBlock

    @cached_property
    def _added(self) -> list[Value]:
        return self.values[len(self.origin.values) :]

    @cached_property
    def keys(self) -> ByteRows:
        """See `EventBlock.keys`."""
        return ByteRows.concatenate([self.origin.keys, value_rows(self._added)])

    @cached_property
    def numbers(self) -> NumberPairs:
        """See `EventBlock.numbers`."""
        columns = (self.origin.numbers, NumberPairs.of(self._added))
        return NumberPairs(
            np.concatenate([column.double for column in columns]),
            np.concatenate([column.remainder for column in columns]),
        )


def extended(block: EventBlock, names: Sequence[str]) -> EventBlock:
    """Return the block extended by derived attributes.

    A result that several values of an event have weighs what the heaviest of them does. Results are kept on the block,
    so segments that want the same attributes share them.

    Parameters
    ----------
    block
        A block without derived attributes.
    names
        Names of derived attributes, distinct.
    """
    known = block.extensions.get(tuple(names))
    if known is None:
        known = block.extensions[tuple(names)] = _extended(block, names)
    return known


def _extended(block: EventBlock, names: Iterable[str]) -> EventBlock:
    columns = {name: column for name in names if (column := _column(block, derivation(name))) is not None}
    if not columns:
        return block
    attributes, values, of_values = list(block.attributes), list(block.values), [block.term_attribute]
    sources, results = [], []
    for name, column in columns.items():
        sources.append(column.source)
        results.append(column.result + len(values))
        values += column.values
        of_values.append(np.full(len(column.values), len(attributes), np.int32))
        attributes.append(name)
    event, term, weight = _entries(block, np.concatenate(sources), np.concatenate(results))
    event = np.concatenate([block.entry_event, event])
    order = np.argsort(event, kind="stable")
    return ExtendedBlock(
        attributes,
        values,
        np.concatenate(of_values),
        np.searchsorted(event[order], np.arange(block.size + 1)),
        np.concatenate([block.term, term.astype(np.int32)])[order],
        np.concatenate([block.weight, weight])[order],
        block.top,
        block.time,
        block,
    )


def _entries(block: EventBlock, source: Int64s, result: Int64s) -> tuple[Int32s, Int64s, npt.NDArray[np.float64]]:
    """Return event, term and weight of the derived entries, ascending and distinct by event and term."""
    order = np.argsort(source, kind="stable")
    source, result = source[order], result[order]
    first = np.searchsorted(source, block.term)
    count = np.searchsorted(source, block.term, side="right") - first
    entry = np.repeat(np.arange(len(block.term)), count)
    place = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count) + first[entry]
    event, term, weight = block.entry_event[entry], result[place], block.weight[entry]
    order = np.lexsort((-weight, term, event))
    event, term, weight = event[order], term[order], weight[order]
    kept = np.ones(len(order), np.bool_)
    kept[1:] = (event[1:] != event[:-1]) | (term[1:] != term[:-1])
    return event[kept], term[kept], weight[kept]


def _column(block: EventBlock, made: Derivation | None) -> Column | None:
    """Return a derived attribute, or None when no value of the block has a result."""
    if made is None or made.base not in block.attribute_place:
        return None
    terms = np.flatnonzero(block.term_attribute == block.attribute_place[made.base])
    column = Column(terms, np.arange(len(terms)), [block.values[term] for term in terms.tolist()])
    for end, step in enumerate(made.steps, 1):
        name = Derivation(made.base, made.steps[:end]).name
        if name not in block.columns:
            block.columns[name] = _derived(column, step)
        column = block.columns[name]
    return column if len(column.source) else None


def _derived(column: Column, step: Step) -> Column:
    """Apply a function to each of the column's distinct values."""
    places: dict[object, int] = {}
    values: list[Value] = []
    found: list[int] = []
    counts = np.zeros(len(column.values), np.int64)
    for i, value in enumerate(column.values):
        results = derived_values(step.function, step.args, value)
        counts[i] = len(results)
        for result in results:
            place = places.setdefault(_identity(result), len(values))
            if place == len(values):
                values.append(result)
            found.append(place)
    starts = np.cumsum(counts) - counts
    count = counts[column.result]
    source = np.repeat(column.source, count)
    place = np.arange(len(source)) - np.repeat(np.cumsum(count) - count - starts[column.result], count)
    # distinct for each source: the pairs as one number, which numpy sorts
    pairs = np.unique(source * max(len(values), 1) + np.array(found, np.int64)[place])
    return Column(pairs // max(len(values), 1), pairs % max(len(values), 1), values)


def _identity(value: Value) -> object:
    """Return the dictionary key of a result: see `index.event_block`, but that every NaN is one."""
    if value != value:
        return ("nan",)
    return (value,) if isinstance(value, bool) else value
