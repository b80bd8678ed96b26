"""Writes the words of records and their heads; see `index.block.layout` for what they mean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.conjunctions import Programs
from index.block.layout import (
    ALL,
    GENERAL,
    KIND_SHIFT,
    LAST,
    LAZY,
    LINEAR,
    LONG,
    NEGATED,
    ROW_SHIFT,
    TAIL_LIMIT,
    TAIL_SHIFT,
    UNIT,
    WORDS_LIMIT,
    Bools,
    Float64s,
    Int32s,
    Int64s,
)
from index.block.leaves import LeafTable
from index.kernel import inlined, kernel


class Copies(NamedTuple):
    """Records to be, in the order of their clauses.

    Attributes
    ----------
    clause, place
        int64: the clause, and which of its access rows the record is posted under, or `SHARED`.
    """

    clause: Int64s
    place: Int64s


SHARED = -1


class WeightCodes(NamedTuple):
    """How weights are written in words: the bits of float32 where that loses nothing, else places in a table."""

    code: Int32s
    table: Float64s

    @classmethod
    def of(cls, leaves: LeafTable) -> WeightCodes:
        """Return a code for each leaf's weight; that of an uneven leaf has no meaning."""
        short = leaves.weight.astype(np.float32)
        if (short == leaves.weight).all():
            return cls(short.view(np.int32), np.zeros(0))
        table, place = np.unique(np.append(leaves.weight, 0.0), return_inverse=True)
        return cls(place[:-1].astype(np.int32), table)

    def zero(self) -> int:
        """Return the code of the weight 0."""
        return int(np.searchsorted(self.table, 0.0))


class Written(NamedTuple):
    """What `write_records` returns.

    Attributes
    ----------
    heads, lengths, words
        int32 and int64 [records], int32: heads, how many words each has, and the words.
    general
        int64: the clauses that general records name, in the order of their numbers there.
    """

    heads: Int32s
    lengths: Int64s
    words: Int32s
    general: Int64s


def write_records(
    programs: Programs,
    copies: Copies,
    second: Int32s,
    order: Int64s,
    lazy: Bools,
    weighs: Bools,
    leaves: LeafTable,
    codes: WeightCodes,
) -> Written:
    """Return the words of all records.

    Parameters
    ----------
    programs, copies, second
        The clauses, the records and their second rows.
    order
        int64 [records]: the records as they will be posted.
    lazy
        By row: whether it is derived when first read.
    weighs
        By row, as far as there are any: whether it can score.
    leaves, codes
        The leaves and the codes of their weights.
    """
    count = len(copies.clause)
    implied, heads = np.empty(count, np.int64), np.empty(count, np.int32)
    lengths = np.empty(count, np.int64)
    parts = programs.parts
    unit = leaves.even & (leaves.weight == 1.0)
    _size(
        *copies, second, programs.access_start, programs.access, programs.part_start, programs.part, programs.part_leaf,
        programs.simple, programs.access_leaf, parts.row, parts.exact, parts.code_start, parts.code, weighs, unit,
        implied, heads, lengths,
    )  # fmt: skip
    number, general = _numbered(copies.clause, order[heads[order] >> KIND_SHIFT >= GENERAL])
    words = np.empty(lengths.sum(), np.int32)
    _write(
        *copies, number, heads, lengths, implied, programs.access_start, programs.access, programs.part_start,
        programs.part, programs.part_leaf, programs.access_leaf, second, parts.row, parts.code_start, parts.code, lazy,
        codes.code, codes.zero(), words,
    )  # fmt: skip
    return Written(heads, lengths, words, general)


def _numbered(clause: Int64s, records: Int64s) -> tuple[Int32s, Int64s]:
    """Number the clauses of general records as these are posted, so that what is scored together lies together.

    Returns
    -------
    number, general
        int32 [all records]: the number of its clause, -1 for the others; int64: the clauses by number.
    """
    general, first, place = np.unique(clause[records], return_index=True, return_inverse=True)
    met = np.argsort(first, kind="stable")
    number = np.full(len(clause), -1, np.int32)
    number[records] = np.argsort(met, kind="stable")[place.reshape(-1)]
    return number, general[met]


@inlined
def _positive(part, code_start, code):  # type: ignore[no-untyped-def]
    return not code[code_start[part]] & NEGATED


@inlined
def _covered(row, first, second):  # type: ignore[no-untyped-def]
    """Return whether a part's row is one of the two that a record is posted under."""
    return row > ALL and row in (first, second)


@kernel
def _size(  # type: ignore[no-untyped-def]
    clause, place, second, access_start, access, part_start, part, part_leaf, simple, access_leaf, row, exact,
    code_start, code, weighs, unit, implied, heads, lengths,
):  # fmt: skip
    """Set each record's head and length, and which part its second row stands for (one written twice is tested)."""
    for record in range(len(clause)):
        own = clause[record]
        first, stop = part_start[own], part_start[own + 1]
        implied[record] = -1
        if second[record] != ALL:
            for i in range(first, stop):
                if row[part[i]] == second[record] and exact[part[i]]:
                    implied[record] = i
                    break
        words, scoring, weighing, even = 0, 2, 0, True
        for i in range(first, stop):
            if i == implied[record]:
                continue
            words += code_start[part[i] + 1] - code_start[part[i]]
            if simple[own] and _positive(part[i], code_start, code):
                scoring += 1
                at = code[code_start[part[i]]] >> ROW_SHIFT
                if at < len(weighs) and weighs[at]:
                    weighing += 1
                    even = even and part_leaf[i] >= 0 and unit[part_leaf[i]]
        if simple[own] and scoring <= TAIL_LIMIT and words <= WORDS_LIMIT:
            at = access[access_start[own]]
            if at < len(weighs) and weighs[at]:
                weighing += 1
                even = even and access_leaf[own] >= 0 and unit[access_leaf[own]]
            at = second[record]
            if at < len(weighs) and weighs[at]:
                weighing += 1
                even = even and part_leaf[implied[record]] >= 0 and unit[part_leaf[implied[record]]]
            tail = weighing if even else scoring
            heads[record] = (UNIT if even else LINEAR) << KIND_SHIFT | tail << TAIL_SHIFT | words
            lengths[record] = words + (0 if even else scoring)
            continue
        words += max(place[record], 0)
        if words <= WORDS_LIMIT:
            heads[record] = GENERAL << KIND_SHIFT | 1 << TAIL_SHIFT | words
            lengths[record] = words + 1
        else:
            heads[record] = LONG << KIND_SHIFT
            lengths[record] = words + 2


@kernel
def _write(  # type: ignore[no-untyped-def]
    clause, place, number, heads, lengths, implied, access_start, access, part_start, part, part_leaf, access_leaf,
    second, row, code_start, code, lazy, codes, zero, words,
):  # fmt: skip
    """A copy leaves to the earlier ones the events in which their access rows hold.

    Parts that a row of the record implies all but exactly, by a cover, stand last: few events fail them.
    """
    to = 0
    for record in range(len(clause)):
        own, kind, begin = clause[record], heads[record] >> KIND_SHIFT, to
        if kind == LONG:
            words[to] = lengths[record] - 2
            to += 1
        first = access[access_start[own]]
        for late in (False, True):
            for i in range(part_start[own], part_start[own + 1]):
                if i != implied[record] and _covered(row[part[i]], first, second[record]) == late:
                    for j in range(code_start[part[i]], code_start[part[i] + 1]):
                        words[to] = code[j]
                        to += 1
        if kind >= GENERAL:
            for i in range(access_start[own], access_start[own] + max(place[record], 0)):
                other = access[i]
                words[to] = other << ROW_SHIFT | (LAZY if lazy[other] else 0) | NEGATED | LAST
                to += 1
            words[to] = number[record]
        elif kind == LINEAR:
            words[to] = codes[access_leaf[own]] if access_leaf[own] >= 0 else zero
            seconds = part_leaf[implied[record]] if implied[record] >= 0 else -1
            words[to + 1] = codes[seconds] if seconds >= 0 else zero
            to += 2
            for late in (False, True):
                for i in range(part_start[own], part_start[own + 1]):
                    is_next = i != implied[record] and _covered(row[part[i]], first, second[record]) == late
                    if is_next and _positive(part[i], code_start, code):
                        words[to] = codes[part_leaf[i]] if part_leaf[i] >= 0 else zero
                        to += 1
        to = begin + lengths[record]
