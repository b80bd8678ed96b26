"""Columns of derived attributes: what a family's functions make of a block's values, interned, and of whose entries."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from index.column import Column, Entries
from index.derivations import Family
from index.derived_numbers import NONE, WHOLE, Results, numeric_results
from index.event_block import EventBlock
from index.exact_numbers import ExactNumbers
from index.kernel import kernel
from schemas.derived import FUNCTIONS, derived_values
from schemas.values import Number, Value

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]

_TILE = 1 << 17
"""So many results at a time stay in a processor's cache."""

_MULTIPLIER = np.uint64(secrets.randbits(64) | 1)
"""Of the hash under which results are interned: nobody can choose values that collide, and no answer depends on it."""


def columns_of(block: EventBlock, source: Family | str) -> tuple[Column, ...]:
    """Return a family's attributes, some in each column, or an attribute of the block; the block keeps the columns.

    There are none where nobody has a value that a function could take, or no value has a result.
    """
    if source not in block.columns:
        if isinstance(source, str):
            columns = _held(block, source)
        else:
            inner = columns_of(block, source.source)
            columns = tuple(made for column in inner for made in _derived(column, source) if len(made))
        block.columns[source] = columns
    return block.columns[source]


def _held(block: EventBlock, name: str) -> tuple[Column, ...]:
    """Return an attribute of the block as a column, none when it has none of this name."""
    attribute = block.attribute_place.get(name)
    if attribute is None:
        return ()
    terms = np.flatnonzero(block.term_attribute == attribute)
    values = [block.values[term] for term in terms.tolist()]
    of_type = {of: _kind(of) for of in set(map(type, values))}
    kind = np.fromiter(map(of_type.__getitem__, map(type, values)), np.int8, len(values))
    order = np.argsort(kind, kind="stable")
    texts, booleans = np.searchsorted(kind[order], (1, 2)).tolist()
    ordered = values if len(set(of_type.values())) == 1 else [values[i] for i in order.tolist()]
    place = np.full(len(block.values), -1, np.int32)
    place[terms[order[:booleans]]] = np.arange(booleans)
    entry = np.flatnonzero(place[block.term] >= 0)
    entries = Entries(block.entry_event[entry], place[block.term[entry]], block.weight[entry])
    numbers = ExactNumbers.of(ordered[:texts])  # type: ignore[arg-type]
    return (Column(numbers, ordered[texts:booleans], np.zeros(booleans, np.int32), entries),)  # type: ignore[arg-type]


def _kind(of: type) -> int:
    return 2 if of is bool else int(issubclass(of, str))


def _derived(source: Column, family: Family) -> Iterator[Column]:
    of_numbers = FUNCTIONS[family.function].takes is float
    first_text, entries = len(source.numbers.whole), source.entries
    if first_text and source.texts:
        entries = entries.take((entries.place < first_text) == of_numbers)
    if of_numbers:
        return _of_numbers(source.numbers, entries, family) if first_text else iter(())
    if not source.texts:
        return iter(())
    return _of_texts(source.texts, entries._replace(place=entries.place - np.int32(first_text)), family)


def _of_numbers(values: ExactNumbers, entries: Entries, family: Family) -> Iterator[Column]:
    """Take as many members at a time as make a tile; a single one makes one column."""
    step = max(1, _TILE // max(1, len(values.whole), len(entries.event)))
    for first in range(0, len(family.names), step):
        operands = family.operands.take(slice(first, first + step))
        place, numbers, member = _interned(numeric_results(family.function, operands, values))
        yield Column(numbers, [], member + np.int32(first), _spread(place, len(member), entries))


def _of_texts(values: list[str], entries: Entries, family: Family) -> Iterator[Column]:
    """Ask each member's function about each distinct text; a function makes numbers only or texts only."""
    for member, args in enumerate(family.args):
        results = [derived_values(family.function, args, value) for value in values]
        table: dict[Value, int] = {}
        place = [table.setdefault(result, len(table)) for result in chain.from_iterable(results)]
        repeated = _repeated(entries, np.fromiter(map(len, results), np.int64, len(results)))
        made = _spread(np.array([place], np.int32), len(table), repeated)
        texts = [value for value in table if isinstance(value, str)]
        numbers: list[Number] = [] if texts else list(table)  # type: ignore[arg-type]
        yield Column(ExactNumbers.of(numbers), texts, np.full(len(table), member, np.int32), made)


def _repeated(entries: Entries, count: Int64s) -> Entries:
    """Return each entry once for each result, with the result's place; value v has the next ``count[v]`` results."""
    if (count == 1).all():
        return entries
    times = count[entries.place]
    before = (np.cumsum(count) - count)[entries.place] - (np.cumsum(times) - times)
    repeated = entries.take(np.repeat(np.arange(len(times)), times))
    place = np.arange(len(repeated.event)) + np.repeat(before, times)
    return repeated._replace(place=place.astype(np.int32))


def _interned(results: Results) -> tuple[Int32s, ExactNumbers, Int32s]:
    """Return each result's place among the distinct ones of all rows, -1 where there is none; these; each one's row."""
    rows, columns = results.kind.shape
    place, bits = np.empty((rows, columns), np.int32), max(1, (2 * columns).bit_length())
    found = ExactNumbers(np.empty(place.size, np.bool_), np.empty(place.size, np.int64))
    row = np.empty(place.size, np.int32)
    slots = np.full(1 << bits, -1, np.int32)
    bit_rows = results.content.view(np.uint64)
    n = _intern(*results, bit_rows, _MULTIPLIER, 64 - bits, slots, place, *found, row)
    return place, found.take(slice(n)), row[:n]


def _spread(place: Int32s, count: int, entries: Entries) -> Entries:
    """Return for each row of ``place`` the entries with ``place[row, entry's place]`` of ``count`` for their places."""
    room = len(place) * len(entries.event)
    made = Entries(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room))
    last = np.full(count, -1, np.int32)
    n = _fill_entries(place, *entries, last, *made)
    return Entries(made.event[:n], made.place[:n], made.weight[:n])


@kernel
def _intern(  # type: ignore[no-untyped-def]
    kind, content, bits, multiplier, shift, slots, place, new_whole, new_content, new_row
):
    """Return how many distinct results there are; a slot that an earlier row has filled counts as free."""
    n, mask = 0, len(slots) - 1
    for i in range(len(kind)):
        begin = n
        for j in range(kind.shape[1]):
            if kind[i, j] == NONE:
                place[i, j] = -1
                continue
            slot = np.int64((bits[i, j] * multiplier) >> np.uint64(shift))
            whole = kind[i, j] == WHOLE
            while slots[slot] >= begin and (
                new_content[slots[slot]] != content[i, j] or new_whole[slots[slot]] != whole
            ):
                slot = (slot + 1) & mask
            if slots[slot] < begin:
                slots[slot], new_whole[n], new_content[n], new_row[n] = n, whole, content[i, j], i
                n += 1
            place[i, j] = slots[slot]
    return n


@kernel
def _fill_entries(place, event, source, weight, last, new_event, new_place, new_weight):  # type: ignore[no-untyped-def]
    """Return how many entries there are; ``last`` knows the last one of each place, which is of one row only."""
    n = 0
    for i in range(len(place)):
        for j in range(len(event)):
            to = place[i, source[j]]
            if to < 0:
                continue
            before = last[to]
            if before >= 0 and new_event[before] == event[j]:
                new_weight[before] = max(new_weight[before], weight[j])
                continue
            last[to], new_event[n], new_place[n], new_weight[n] = n, event[j], to, weight[j]
            n += 1
    return n
