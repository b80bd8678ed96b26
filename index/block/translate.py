"""Translates an event block into a segment's numbers: rows and ordinals of its terms, ranks of its values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numba import njit

from index.arrays import group
from index.block.arrangement import Arrangement, Order, Standing
from index.block.entries import Entries, fill_plain
from index.block.layout import Int32s, Int64s, LadderArrays, RowArrays
from index.block.masks import Marks
from index.block.value_tests import ValueTests
from index.byte_rows import ByteRows, compare
from index.derivations import families
from index.derived_block import ExtendedBlock, extended
from index.engine import Parts
from index.event_block import EventBlock
from index.kernel import kernel
from index.lower_bound import lower_bound
from index.terms import Dictionary, find_key
from index.value_rows import value_rows

_INSERTED = 128
"""So many entries of an event are sorted by insertion."""

_FEW_NAMES = 64
_KNOWN_NAMES = 4096
"""So few names are sooner looked up one by one, in a table of so many that were found lately."""

_DERIVED = b"s\0["
"""How the dictionary's key of a derived attribute begins: see `index.attribute_names`."""


class Ranked(NamedTuple):
    """Entries that stand on a ladder, ordered by chunk, ladder and rank.

    Attributes
    ----------
    chunk, event, ladder, rank
        int32 [ranked entries].
    """

    chunk: Int32s
    event: Int32s
    ladder: Int32s
    rank: Int32s


_NONE_RANKED = Ranked(*(np.zeros(0, np.int32) for _ in Ranked._fields))


class View(NamedTuple):
    """A block as one segment sees it: what its entries set, where they stand on ladders, what of them can score.

    Events are numbered in the order in which they are matched, ``order.event``.
    """

    marks: Marks
    ranked: Ranked
    entries: Entries
    order: Order


class Translator:
    """The dictionaries and ladders of one segment."""

    def __init__(self, parts: Parts) -> None:
        self._attributes = Dictionary.of(parts, "attribute")
        self._known_names: dict[str, int] = {}
        self._terms = Dictionary.of(parts, "term")
        self._arrays = ladders = group(LadderArrays, parts)
        rows = group(RowArrays, parts)
        exists = rows.exists_attribute
        known = len(self._attributes.tags) + 1  # the last entry serves attributes that the segment does not know, -1
        numbers, texts, members = (
            len(a) for a in (ladders.number_attribute, ladders.text_attribute, rows.member_attribute)
        )
        self._has_members = members > 0
        self.ladders = numbers + texts + members
        self._number_ladder = _inverse(ladders.number_attribute, 0, known)
        self._text_ladder = _inverse(ladders.text_attribute, numbers, known)
        self._member_ladder = _inverse(rows.member_attribute, numbers + texts, known)
        first_exists = 1 + len(self._terms.tags)
        self._exists_row = np.maximum(_inverse(exists, first_exists, known), 0)
        self._tests = ValueTests(parts, first_exists + len(exists))
        self._row_attribute, self._attribute_sums = parts["row_attribute"], parts["attribute_sums"]
        self._has_programs = len(parts["clause_owner"]) > 0
        names = (key[1:] for key in self._attributes.keys.to_list() if key.startswith(_DERIVED))
        self._arrangement = Arrangement(parts, self._terms.tags)
        self._derived = families(name.decode("utf-8", "surrogatepass") for name in names)
        self._members = {family: self._find_names(value_rows(family.names)) for family in self._derived}

    def view(self, block: EventBlock, sizes: Sequence[int]) -> View:
        """Translate a block that is to be matched in chunks of at most one of these numbers of events, ascending."""
        block = extended(block, self._derived) if self._derived else block
        attribute, term_row, exists_row = self._rows_of(block)
        tests = self._tests.rows(block, attribute)
        marks = Marks(block.offsets, block.term, term_row, exists_row, *tests)
        standing = Standing(attribute, *self._ranks(block, attribute))
        order = self._arrangement.order(marks, standing, sizes)
        ranked = self._ranked(block, standing, term_row, order)
        return View(marks, ranked, self._entries(block, marks, order.event), order)

    def _rows_of(self, block: EventBlock) -> tuple[Int32s, Int32s, Int32s]:
        """Return for each of the block's terms its attribute, or -1, and two fields of `Marks`."""
        attribute, term_row, exists_row = (np.empty(len(block.values), np.int32) for _ in range(3))
        keys = block.keys
        _find_rows(
            self._terms.held,
            self._exists_row,
            self._ordinals(block),
            block.term_attribute,
            keys.data,
            keys.offsets,
            attribute,
            term_row,
            exists_row,
        )
        return attribute, term_row, exists_row

    def _ordinals(self, block: EventBlock) -> Int32s:
        """Return the ordinals of the block's attributes; those of few are mostly known from earlier blocks."""
        if isinstance(block, ExtendedBlock):
            return np.concatenate([self._ordinals(block.origin), *map(self._members.__getitem__, block.families)])
        few = len(block.attributes) <= _FEW_NAMES
        known = self._known_names
        if few:
            with suppress(KeyError):
                return np.array([known[name] for name in block.attributes], np.int32)
        found = self._find_names(block.names)
        if few:
            if len(known) > _KNOWN_NAMES:
                known.clear()
            known.update(zip(block.attributes, found.tolist(), strict=True))
        return found

    def _find_names(self, names: ByteRows) -> Int32s:
        return self._attributes.find(np.zeros(len(names), np.int32), names)

    def _ranked(self, block: EventBlock, standing: Standing, term_row: Int32s, order: Order) -> Ranked:
        """Return what stands on ladders; a value may stand on the one of its kind and on a member ladder."""
        if not self.ladders:
            return _NONE_RANKED
        found = [_standing(block, standing.ladder, standing.rank)]
        if self._has_members:
            found.append(_standing(block, self._member_ladder[standing.attribute], term_row))
        event, ladder, rank = (np.concatenate(column) for column in zip(*found, strict=True))
        place = np.empty(block.size, np.int32)
        place[order.event] = np.arange(block.size)
        event = place[event]
        chunk = np.repeat(np.arange(len(order.cuts) - 1, dtype=np.int32), np.diff(order.cuts))[event]
        by_rank = np.argsort((chunk.astype(np.int64) * self.ladders + ladder) << 32 | rank, kind="stable")
        return Ranked(chunk[by_rank], event[by_rank], ladder[by_rank], rank[by_rank])

    def _ranks(self, block: EventBlock, attribute: Int32s) -> tuple[Int32s, Int32s]:
        """Return for each of the block's terms its ladder, or -1, and its rank there."""
        rank = np.zeros(len(attribute), np.int32)
        if not self.ladders:
            return np.full_like(rank, -1), rank
        ladders, keys, numbers = self._arrays, block.keys, block.numbers
        ladder = np.where(np.isnan(numbers.double), -1, self._number_ladder[attribute])
        _rank_numbers(
            ladder,
            numbers.double,
            numbers.remainder,
            ladders.number_start,
            ladders.number_double,
            ladders.number_remainder,
            rank,
        )
        if len(ladders.text_attribute):
            texts = np.where(block.is_text, self._text_ladder[attribute], -1)
            first = len(ladders.number_attribute)
            _rank_texts(
                texts,
                first,
                keys.data,
                keys.offsets,
                ladders.text_start,
                ladders.text_data,
                ladders.text_offsets,
                rank,
            )
            ladder = np.maximum(ladder, texts)
        return ladder, rank

    def _entries(self, block: EventBlock, marks: Marks, order: Int64s) -> Entries:
        """Return the entries that the segment knows."""
        start = np.zeros(block.size + 1, np.int64)
        term, weight = np.empty(len(block.term), np.int32), np.empty(len(block.term))
        # only programs, and leaves that may get several weights, look terms up
        sorted_ = self._has_programs or isinstance(block, ExtendedBlock)
        known = _known(marks, order, block.term_attribute, block.weight, sorted_, start, term, weight)
        term, weight, plain = term[:known], weight[:known], block.plain[order]
        if not plain.all():
            plain = np.empty(block.size, np.bool_)
            fill_plain(start, term, weight, self._row_attribute, self._attribute_sums, plain)
        return Entries(plain, start, term, weight)


def _inverse(attributes: Int32s, first: int, size: int) -> Int32s:
    """Return for each attribute its place among these, from ``first`` on, or -1."""
    inverse = np.full(size, -1, np.int32)
    inverse[attributes] = np.arange(first, first + len(attributes))
    return inverse


def _standing(block: EventBlock, ladder: Int32s, rank: Int32s) -> tuple[Int32s, Int32s, Int32s]:
    """Return event, ladder and rank of the entries whose terms stand on a ladder."""
    chosen = ladder[block.term] >= 0
    term = block.term[chosen]
    return block.entry_event[chosen], ladder[term], rank[term]


@kernel
def _find_rows(  # type: ignore[no-untyped-def]
    terms, exists, name_ordinal, term_name, keys, key_offsets, attribute, term_row, exists_row
):
    """Write what `_rows_of` returns; an attribute that is unknown is -1."""
    for term in range(len(term_name)):
        of = name_ordinal[term_name[term]]
        attribute[term], exists_row[term] = of, exists[of] if of >= 0 else 0
        term_row[term] = 1 + find_key(terms, of, keys, key_offsets[term], key_offsets[term + 1])


@njit(cache=True, nogil=True)
def _known(marks, order, term_attribute, block_weight, sorted_, start, term, weight):  # type: ignore[no-untyped-def]
    """Write what the segment knows of each event's entries; return how many there are.

    They ascend, and equal ones stay in their order, in events that have two values of an attribute, or everywhere.
    """
    n = 0
    for event in range(len(start) - 1):
        of, last, several = order[event], -1, sorted_
        for entry in range(marks.offsets[of], marks.offsets[of + 1]):
            row = marks.term_row[marks.term[entry]]
            if row > 0:
                attribute = term_attribute[marks.term[entry]]
                several = several or attribute == last
                term[n], weight[n], last = row - 1, block_weight[entry], attribute
                n += 1
        start[event + 1] = n
        if not several:
            continue
        if n - start[event] > _INSERTED:
            ascending = np.argsort(term[start[event] : n], kind="mergesort")
            term[start[event] : n] = term[start[event] : n][ascending]
            weight[start[event] : n] = weight[start[event] : n][ascending]
            continue
        for i in range(start[event] + 1, n):
            t, w, j = term[i], weight[i], i
            while j > start[event] and term[j - 1] > t:
                term[j], weight[j] = term[j - 1], weight[j - 1]
                j -= 1
            term[j], weight[j] = t, w
    return n


@njit(cache=True, nogil=True)
def _rank_numbers(ladder, double, remainder, start, bound_double, bound_remainder, rank):  # type: ignore[no-untyped-def]
    """Among bounds with one nearest double the remainders decide."""
    for term in range(len(ladder)):
        if ladder[term] < 0:
            continue
        first, stop = start[ladder[term]], start[ladder[term] + 1]
        i = lower_bound(bound_double, first, stop, double[term])
        while i < stop and bound_double[i] == double[term] and bound_remainder[i] < remainder[term]:
            i += 1
        on_bound = i < stop and bound_double[i] == double[term] and bound_remainder[i] == remainder[term]
        rank[term] = 2 * (i - first) + on_bound


@njit(cache=True, nogil=True)
def _rank_texts(ladder, ladder_base, data, offsets, start, bound_data, bound_offsets, rank):  # type: ignore[no-untyped-def]
    """A term's bytes begin with a letter for their kind, which no bound has."""
    for term in range(len(ladder)):
        if ladder[term] < 0:
            continue
        first, stop = start[ladder[term] - ladder_base], start[ladder[term] - ladder_base + 1]
        low, high, on_bound = first, stop, 0
        while low < high:
            middle = (low + high) >> 1
            order = compare(
                bound_data, bound_offsets[middle], bound_offsets[middle + 1], data, offsets[term] + 1, offsets[term + 1]
            )
            if order < 0:
                low = middle + 1
            else:
                high = middle
                on_bound = 1 if order == 0 else on_bound
        rank[term] = 2 * (low - first) + on_bound
