"""The compiled code of every literal in columns, for clauses that are compiled by kernels.

It is the code that `index.block.programs.Compiler.conjunct` writes for a literal that is an argument of a clause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from index.block.layout import INTERVAL, LAST, LAZY, NEGATED, ROW_SHIFT, Bools, Float64s, Int32s, Int64s
from index.block.rows import Rows
from index.kernel import kernel
from index.slices import starts_of


@dataclass(frozen=True, eq=False)
class LiteralTable:
    """Predicates and literals in columns; literal = predicate << 1 | negated.

    Attributes
    ----------
    access_start, access
        int64 [predicates + 1], int32: the rows that a positive literal is posted under, several for a list without a
        row of its own.
    has_row, exact
        bool [predicates]: whether it has a row of its own; whether it holds wherever one of the access rows does.
    probability
        float64 [literals].
    row
        int32 [literals]: a row that is set before the walk and holds wherever a positive literal does, else -1.
    code_start, code
        int64 [literals + 1], int32: the words.
    """

    access_start: Int64s
    access: Int32s
    has_row: Bools
    exact: Bools
    probability: Float64s
    row: Int32s
    code_start: Int64s
    code: Int32s

    @classmethod
    def of(cls, rows: Rows, lazy: Bools, intervals: Mapping[int, int]) -> LiteralTable:
        """Return the table.

        Parameters
        ----------
        rows
            The rows.
        lazy
            By row: whether it is derived when first read.
        intervals
            The rows of ranges that few literals name, and the rows that those are posted under: covers, or the same.
        """
        own = np.array(rows.row, np.int32)
        has_row = own >= 0
        held_start = starts_of(
            (len(terms) if row < 0 else 1 for row, terms in zip(rows.row, rows.terms, strict=True)), len(own)
        )
        held = np.empty(held_start[-1], np.int32)
        held[held_start[:-1][has_row]] = own[has_row]
        listed = np.repeat(~has_row, np.diff(held_start))
        rowless = (terms for row, terms in zip(rows.row, rows.terms, strict=True) if row < 0)
        held[listed] = np.fromiter(chain.from_iterable(rowless), np.int32, int(listed.sum()))
        cover = np.arange(rows.count)
        cover[list(intervals)] = list(intervals.values())
        is_interval = np.zeros(rows.count, np.bool_)
        is_interval[list(intervals)] = True
        is_interval = is_interval[own] & has_row
        frequency = np.array(rows.frequency, np.float64)
        code_start = starts_of(np.repeat(np.where(is_interval, 4, np.diff(held_start)), 2), 2 * len(own))
        code = np.empty(code_start[-1], np.int32)
        cuts = (rows.arrays[f"range_{name}"] for name in ("ladder", "low", "high"))
        _write_codes(held_start, held, is_interval, lazy, rows.first_range, *cuts, code_start, code)
        single = np.full((len(own), 2), -1, np.int32)
        access = cover[held].astype(np.int32)
        exact = ~is_interval | (cover[own] == own)
        at_hand = has_row & (~is_interval | ~exact)
        at_hand[at_hand] = ~lazy[cover[own[at_hand]]]
        single[at_hand, 0] = cover[own[at_hand]]
        return cls(
            held_start,
            access,
            has_row,
            exact,
            np.column_stack([frequency, 1 - frequency]).reshape(-1),
            single.reshape(-1),
            code_start,
            code,
        )


@kernel
def _write_codes(held_start, held, is_interval, lazy, first_range, ladder, low, high, code_start, code):  # type: ignore[no-untyped-def]
    """An OR of rows has LAST on its last word; NOT (a OR b) is NOT a AND NOT b, so there every word has it."""
    for literal in range(len(code_start) - 1):
        predicate, negated = literal >> 1, literal & 1
        first, stop = held_start[predicate], held_start[predicate + 1]
        place = code_start[literal]
        if is_interval[predicate]:
            row = held[first]
            code[place] = row << ROW_SHIFT | INTERVAL | (NEGATED if negated else 0) | LAST
            code[place + 1] = ladder[row - first_range]
            code[place + 2] = low[row - first_range]
            code[place + 3] = high[row - first_range]
            continue
        for i in range(first, stop):
            last = LAST if negated or i == stop - 1 else 0
            row = held[i]
            code[place + i - first] = row << ROW_SHIFT | (LAZY if lazy[row] else 0) | (NEGATED if negated else 0) | last
