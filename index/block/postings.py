"""Lays records out: chooses the second row of each, writes its words, sorts all into tiers and groups."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.block.ladders import places_of
from index.block.layout import (
    ALL,
    GENERAL,
    KIND_SHIFT,
    LINEAR,
    LONG,
    NEGATED,
    NO_LEAF,
    ROW_SHIFT,
    TAIL_LIMIT,
    TAIL_SHIFT,
    UNIT,
    WORDS_LIMIT,
    Float64s,
    Int32s,
    Int64s,
    UInt16s,
)
from index.block.leaves import Leaf
from index.block.programs import COPIES, Compiled, Compiler, Program
from index.block.rows import Arrays, Rows, starts_of
from schemas.errors import TocsinError

TIER_SHARES = (0.01, 0.05, 0.2)
"""Tiers end at these shares of the records, best bounds first."""

_WORDS_LIMIT = 2**31 - 1


class Copy(NamedTuple):
    """A record to be: a clause, and which of its access rows it is posted under, or `SHARED`."""

    clause: int
    place: int


SHARED = -1


def copies_of(clauses: Sequence[Program]) -> list[Copy]:
    """Return the records that clauses need."""
    copies = []
    for number, clause in enumerate(clauses):
        if len(clause.access) > COPIES:
            copies.append(Copy(number, SHARED))
        else:
            copies += [Copy(number, place) for place in range(len(clause.access))]
    return copies


def second_rows(rows: Rows, clauses: Sequence[Program], copies: Sequence[Copy]) -> Int32s:
    """Return a second row for each record, or `ALL`: of its literals with a row the one that gathers most.

    A row scores the number of records that could share the group, times how much it says: minus the logarithm of its
    frequency.
    """
    copy, first, second, frequency = array("i"), array("i"), array("i"), array("d")
    for number, (clause, place) in enumerate(copies):
        p = ALL if place == SHARED else clauses[clause].access[place]
        for part in clauses[clause].parts:
            if part.row > ALL and part.row != p:
                copy.append(number)
                first.append(p)
                second.append(part.row)
                frequency.append(part.probability)
    chosen = np.full(len(copies), ALL, np.int32)
    if len(copy):
        key = np.frombuffer(first, np.int32).astype(np.int64) * rows.count + np.frombuffer(second, np.int32)
        _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
        says = count[inverse] * -np.log(np.clip(np.frombuffer(frequency), 1e-6, 0.99))
        owner = np.frombuffer(copy, np.int32)
        best = np.lexsort((np.frombuffer(second, np.int32), -says, owner))
        new = np.ones(len(best), np.bool_)
        new[1:] = np.diff(owner[best]) != 0
        chosen[owner[best][new]] = np.frombuffer(second, np.int32)[best][new]
    return chosen


class WeightCodes(NamedTuple):
    """How weights are written in words: the bits of float32 where that loses nothing, else places in a table."""

    code: list[int]
    table: Float64s

    @classmethod
    def of(cls, leaves: Sequence[Leaf]) -> WeightCodes:
        """Return a code for each leaf's weight; that of an uneven leaf has no meaning."""
        weights = np.array([leaf.weight or 0.0 for leaf in leaves], np.float64)
        short = weights.astype(np.float32)
        if (short == weights).all():
            return cls(short.view(np.int32).tolist(), np.zeros(0))
        table, place = np.unique(np.append(weights, 0.0), return_inverse=True)
        return cls(place[:-1].tolist(), table)

    def zero(self) -> int:
        """Return the code of the weight 0."""
        return int(np.searchsorted(self.table, 0.0))


class Writer:
    """Writes the words of records, and their heads.

    Attributes
    ----------
    words, heads, lengths
        What has been written.
    general
        The clauses that general records name, in the order of their numbers there.
    """

    def __init__(self, rows: Rows, compiler: Compiler, leaves: Sequence[Leaf]) -> None:
        self._leaves = leaves
        self._codes = WeightCodes.of(leaves)
        self._zero = self._codes.zero()
        self._attribute = row_attributes(rows)
        self._weighs = self._attribute >= 0
        self._compiler = compiler
        self._places: dict[int, int] = {}
        self.words, self.heads, self.lengths = array("i"), array("i"), array("i")
        self.general: list[int] = []

    def write(self, copy: Copy, clause: Program, second: int) -> None:
        """Write one record."""
        before = len(self.words)
        head = -1 if clause.leaves is None else self._simple(clause.access[0], clause, clause.leaves, second)
        if head < 0:
            head = self._general(copy, clause, second)
        self.heads.append(head)
        self.lengths.append(len(self.words) - before)

    def parts(self) -> Arrays:
        """Return what all records share."""
        return {"weight_table": self._codes.table, "row_attribute": self._attribute}

    def _simple(self, first: int, clause: Program, leaves: list[int], second: int) -> int:
        """Write a conjunction of literals and return its head, or -1 when it is too long for one."""
        implied = _implied(clause.parts, second)
        places = [place for place in range(len(clause.parts)) if place != implied]
        positive = [place for place in places if not clause.parts[place].code[0] & NEGATED]
        scoring = [leaves[0], NO_LEAF if implied < 0 else leaves[1 + implied], *(leaves[1 + p] for p in positive)]
        if len(scoring) > TAIL_LIMIT:
            return -1
        code = list(chain.from_iterable(clause.parts[place].code for place in places))
        if len(code) > WORDS_LIMIT:
            return -1
        self.words.extend(code)
        rows = [first, second, *(clause.parts[place].code[0] >> ROW_SHIFT for place in positive)]
        weighing = [
            leaf for row, leaf in zip(rows, scoring, strict=True) if row < len(self._weighs) and self._weighs[row]
        ]
        if all(leaf >= 0 and self._leaves[leaf].weight == 1.0 for leaf in weighing):
            return UNIT << KIND_SHIFT | len(weighing) << TAIL_SHIFT | len(code)
        self.words.extend(self._codes.code[leaf] if leaf >= 0 else self._zero for leaf in scoring)
        return LINEAR << KIND_SHIFT | len(scoring) << TAIL_SHIFT | len(code)

    def _general(self, copy: Copy, clause: Program, second: int) -> int:
        """Write any program; a copy leaves to the earlier ones the events in which their access rows hold."""
        implied = _implied(clause.parts, second)
        code = list(chain.from_iterable(part.code for i, part in enumerate(clause.parts) if i != implied))
        if copy.place > 0:
            code += [self._compiler.exclusion(row) for row in clause.access[: copy.place]]
        number = self._places.setdefault(copy.clause, len(self.general))
        if number == len(self.general):
            self.general.append(copy.clause)
        if len(code) <= WORDS_LIMIT:
            self.words.extend((*code, number))
            return GENERAL << KIND_SHIFT | 1 << TAIL_SHIFT | len(code)
        self.words.extend((len(code), *code, number))
        return LONG << KIND_SHIFT


def _implied(parts: Sequence[Compiled], second: int) -> int:
    """Return the place of the part that the second row stands for, or -1; one written twice is tested once more."""
    return -1 if second == ALL else next(place for place, part in enumerate(parts) if part.row == second)


def row_attributes(rows: Rows) -> Int32s:
    """Return the attribute of each row that can score, or -1; rows after those of lists can't."""
    tags, start, term = (rows.arrays[name] for name in ("term_tags", "in_start", "in_term"))
    attribute = np.full(rows.first_range, -1, np.int32)
    attribute[1 : 1 + len(tags)] = tags
    filled = np.flatnonzero(np.diff(start))
    attribute[rows.first_in + filled] = tags[term[start[filled]]]
    return attribute


def lay_out(
    rows: Rows, compiler: Compiler, clauses: Sequence[Program], owners: Int32s, points: Int64s, leaves: Sequence[Leaf]
) -> tuple[Arrays, list[int]]:
    """Return the parts of `index.block.layout.PostingArrays` and the clauses that general records name.

    Parameters
    ----------
    rows, compiler, clauses, leaves
        What was compiled.
    owners
        int32 [clauses], the subscriptions.
    points
        int64 [subscriptions], the priorities in score units.
    """
    copies = copies_of(clauses)
    second = second_rows(rows, clauses, copies)
    writer = Writer(rows, compiler, leaves)
    row, bound = array("i"), array("d")
    for copy, q in zip(copies, second.tolist(), strict=True):
        clause = clauses[copy.clause]
        writer.write(copy, clause, q)
        row.append(rows.count if copy.place == SHARED else clause.access[copy.place])
        bound.append(clause.bound)
    owner = owners[np.array([copy.clause for copy in copies], np.int64)]
    shared = [clauses[copy.clause].access for copy in copies if copy.place == SHARED]
    records = Records(
        np.array(row, np.int32),
        second,
        owner,
        np.array(bound) + np.maximum(points[owner], 0),
        np.array(writer.heads, np.int32).astype(np.uint16),
        np.array(writer.lengths, np.int64),
    )
    return records.arrays(rows.count, np.array(writer.words, np.int32), shared) | writer.parts(), writer.general


class Records(NamedTuple):
    """Records in columns.

    Attributes
    ----------
    row, second, owner
        int32: p, q and the subscription; p is the number of rows for shared records.
    bound
        float64.
    head
        uint16.
    lengths
        int64, how many words each has.
    """

    row: Int32s
    second: Int32s
    owner: Int32s
    bound: Float64s
    head: UInt16s
    lengths: Int64s

    def arrays(self, rows: int, words: Int32s, shared: Sequence[tuple[int, ...]]) -> Arrays:
        """Sort the records into tiers, lists and groups."""
        if len(words) > _WORDS_LIMIT:
            raise TocsinError("The programs of one segment are too long. Build smaller segments.")
        is_shared = self.row == rows
        tier = _tiers(self.bound)
        tier[is_shared] = 0
        tiers = int(tier.max(initial=0)) + 1
        place = tier * rows + self.row
        place[is_shared] = tiers * rows + np.arange(int(is_shared.sum()))
        order = np.lexsort((self.owner, -self.bound, self.second, place))
        place = place[order]
        taken = Records(
            self.row[order],
            self.second[order],
            self.owner[order],
            self.bound[order],
            self.head[order],
            self.lengths[order],
        )
        new = np.ones(len(order), np.bool_)
        new[1:] = (np.diff(place) != 0) | (np.diff(taken.second) != 0)
        first = np.flatnonzero(new)
        word_start = starts_of(taken.lengths, len(order))
        posted = int(np.searchsorted(place[first], tiers * rows))
        awake = np.repeat(np.arange(posted, posted + len(shared)), [len(access) for access in shared])
        shared_row = np.fromiter(chain.from_iterable(shared), np.int32, len(awake))
        by_row = np.argsort(shared_row, kind="stable")
        several = np.bincount(taken.owner)[taken.owner] > 1 if len(order) else np.zeros(0, np.bool_)
        return {
            "tier_bound": np.array([self.bound[(tier == t) | is_shared].max(initial=0.0) for t in range(tiers)]),
            "group_start": np.searchsorted(place[first], np.arange(tiers * rows + 1)).astype(np.int32),
            "group_second": taken.second[first],
            "group_record": np.append(first, len(order)).astype(np.int32),
            "group_word": word_start[np.append(first, len(order))].astype(np.int32),
            "shared_start": np.searchsorted(shared_row[by_row], np.arange(rows + 1)).astype(np.int64),
            "shared_group": awake[by_row].astype(np.int32),
            "record_owner": (taken.owner << 1 | several).astype(np.int32),
            "record_bound": rounded_up(taken.bound),
            "record_head": taken.head,
            "words": words[places_of(starts_of(self.lengths, len(order))[:-1][order], taken.lengths)],
        }


def _tiers(bound: Float64s) -> Int64s:
    """Return each record's tier; records of one bound are in one tier, so one bound alone is one tier."""
    falling = -np.sort(-bound)
    cuts = sorted({falling[math.ceil(share * len(bound)) - 1] for share in TIER_SHARES}) if len(bound) else []
    tier = len(cuts) - np.searchsorted(np.array(cuts, np.float64), bound, side="right")
    # tiers without records would only be walked in vain
    return np.unique(tier, return_inverse=True)[1].reshape(-1).astype(np.int64)


def rounded_up(bound: Float64s) -> npt.NDArray[np.float32]:
    """Return float32 that are not less."""
    short = bound.astype(np.float32)
    return np.where(short < bound, np.nextafter(short, np.float32(np.inf)), short)
