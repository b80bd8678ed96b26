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


class Shapes(NamedTuple):
    """What is known of records before their words are written.

    Attributes
    ----------
    second
        int32 [records]: the second row of each.
    implied
        int64: the part that this row stands for, -1 for none.
    heads, lengths
        As in `Written`.
    """

    second: Int32s
    implied: Int64s
    heads: Int32s
    lengths: Int64s


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
    shapes = Shapes(second, np.empty(count, np.int64), np.empty(count, np.int32), np.empty(count, np.int64))
    size_records(copies, programs, weighs, leaves.even & (leaves.weight == 1.0), shapes)
    number, general = _numbered(copies.clause, order[shapes.heads[order] >> KIND_SHIFT >= GENERAL])
    words = np.empty(shapes.lengths.sum(), np.int32)
    fill_words(copies, programs, shapes, number, lazy, codes.code, codes.zero(), words)
    return Written(shapes.heads, shapes.lengths, words, general)


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
def _positive(part, parts):  # type: ignore[no-untyped-def]
    return not parts.code[parts.code_start[part]] & NEGATED


@inlined
def _is_next(i, late, record, first, programs, shapes):  # type: ignore[no-untyped-def]
    """Return whether part ``i`` is written among the late ones, which a row of the record implies all but exactly."""
    row = programs.parts.row[programs.part[i]]
    covered = row > ALL and row in (first, shapes.second[record])
    return i != shapes.implied[record] and covered == late


@kernel
def size_records(copies, programs, weighs, unit, shapes):  # type: ignore[no-untyped-def]
    """Set each record's head and length, and which part its second row stands for (one written twice is tested)."""
    for record in range(len(copies.clause)):
        own = copies.clause[record]
        shapes.implied[record] = _implied(record, own, programs, shapes)
        words = _words(record, own, programs, shapes)
        scoring, weighing, even = _weighed(record, own, programs, weighs, unit, shapes)
        if programs.simple[own] and scoring <= TAIL_LIMIT and words <= WORDS_LIMIT:
            tail = weighing if even else scoring
            shapes.heads[record] = (UNIT if even else LINEAR) << KIND_SHIFT | tail << TAIL_SHIFT | words
            shapes.lengths[record] = words + (0 if even else scoring)
            continue
        words += max(copies.place[record], 0)
        if words <= WORDS_LIMIT:
            shapes.heads[record] = GENERAL << KIND_SHIFT | 1 << TAIL_SHIFT | words
            shapes.lengths[record] = words + 1
        else:
            shapes.heads[record] = LONG << KIND_SHIFT
            shapes.lengths[record] = words + 2


@inlined
def _implied(record, own, programs, shapes):  # type: ignore[no-untyped-def]
    """Return the part for which the second row of a record stands, -1 where there is none."""
    parts = programs.parts
    if shapes.second[record] != ALL:
        for i in range(programs.part_start[own], programs.part_start[own + 1]):
            part = programs.part[i]
            if parts.row[part] == shapes.second[record] and parts.exact[part]:
                return np.int64(i)
    return np.int64(-1)


@inlined
def _words(record, own, programs, shapes):  # type: ignore[no-untyped-def]
    """Return how many words the parts of a record take."""
    words, code_start = np.int64(0), programs.parts.code_start
    for i in range(programs.part_start[own], programs.part_start[own + 1]):
        if i != shapes.implied[record]:
            words += code_start[programs.part[i] + 1] - code_start[programs.part[i]]
    return words


@inlined
def _weighed(record, own, programs, weighs, unit, shapes):  # type: ignore[no-untyped-def]
    """Return how many literals of a simple record have a weight, how many can score, and whether all these have 1.

    The literals of its two rows are among the first, whether they can score or not.
    """
    scoring, weighing, even = np.int64(2), np.int64(0), True
    if not programs.simple[own]:
        return scoring, weighing, even
    parts, implied = programs.parts, shapes.implied[record]
    for i in range(programs.part_start[own], programs.part_start[own + 1]):
        if i != implied and _positive(programs.part[i], parts):
            scoring += 1
            if _can_score(parts.code[parts.code_start[programs.part[i]]] >> ROW_SHIFT, weighs):
                weighing += 1
                even = even and _is_unit(programs.part_leaf[i], unit)
    if _can_score(programs.access[programs.access_start[own]], weighs):
        weighing += 1
        even = even and _is_unit(programs.access_leaf[own], unit)
    if _can_score(shapes.second[record], weighs):
        weighing += 1
        even = even and _is_unit(programs.part_leaf[implied], unit)
    return scoring, weighing, even


@inlined
def _can_score(row, weighs):  # type: ignore[no-untyped-def]
    return row < len(weighs) and weighs[row]


@inlined
def _is_unit(leaf, unit):  # type: ignore[no-untyped-def]
    return leaf >= 0 and unit[leaf]


@kernel
def fill_words(copies, programs, shapes, number, lazy, codes, zero, words):  # type: ignore[no-untyped-def]
    """Write the words of all records.

    Parts that a row of the record implies all but exactly, by a cover, stand last: few events fail them.
    """
    to = np.int64(0)
    for record in range(len(copies.clause)):
        own, kind, begin = copies.clause[record], shapes.heads[record] >> KIND_SHIFT, to
        first = programs.access[programs.access_start[own]]
        if kind == LONG:
            words[to] = shapes.lengths[record] - 2
            to += 1
        to = _write_parts(record, own, first, programs, shapes, words, to)
        if kind >= GENERAL:
            to = _write_earlier(own, copies.place[record], programs, lazy, words, to)
            words[to] = number[record]
        elif kind == LINEAR:
            _write_weights(record, own, first, programs, shapes, codes, zero, words, to)
        to = begin + shapes.lengths[record]


@inlined
def _write_parts(record, own, first, programs, shapes, words, to):  # type: ignore[no-untyped-def]
    """Write the code of a record's parts from ``to`` on; return where it ends."""
    parts = programs.parts
    for late in (False, True):
        for i in range(programs.part_start[own], programs.part_start[own + 1]):
            if _is_next(i, late, record, first, programs, shapes):
                for j in range(parts.code_start[programs.part[i]], parts.code_start[programs.part[i] + 1]):
                    words[to] = parts.code[j]
                    to += 1
    return to


@inlined
def _write_earlier(own, place, programs, lazy, words, to):  # type: ignore[no-untyped-def]
    """Write that a copy leaves to the earlier ones the events in which their access rows hold; return the end."""
    begin = programs.access_start[own]
    for i in range(begin, begin + max(place, 0)):
        other = programs.access[i]
        words[to] = other << ROW_SHIFT | (LAZY if lazy[other] else 0) | NEGATED | LAST
        to += 1
    return to


@inlined
def _write_weights(record, own, first, programs, shapes, codes, zero, words, to):  # type: ignore[no-untyped-def]
    """Write the weights of a record: of its two rows, then of its positive parts in their order."""
    implied = shapes.implied[record]
    words[to] = _code(programs.access_leaf[own], codes, zero)
    words[to + 1] = _code(programs.part_leaf[implied], codes, zero) if implied >= 0 else zero
    to += 2
    for late in (False, True):
        for i in range(programs.part_start[own], programs.part_start[own + 1]):
            if _is_next(i, late, record, first, programs, shapes) and _positive(programs.part[i], programs.parts):
                words[to] = _code(programs.part_leaf[i], codes, zero)
                to += 1


@inlined
def _code(leaf, codes, zero):  # type: ignore[no-untyped-def]
    return codes[leaf] if leaf >= 0 else zero
