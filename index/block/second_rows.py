"""Chooses the second row of each record, which is what a group of records has in common beside its access row."""

from __future__ import annotations

import numpy as np

from index.block.conjunctions import Programs
from index.block.layout import ALL, Int32s, Int64s
from index.kernel import inlined, kernel

RAREST, COMMONEST = 1e-6, 0.99
"""Frequencies beyond these count as these."""


def second_rows(programs: Programs, clause: Int64s, first: Int32s, rows: int) -> Int32s:
    """Return a second row for each record, or `ALL`: of its literals with a row the one that gathers most.

    A row scores the number of records that could share the group, times how much it says: minus the logarithm of its
    frequency. Of rows with equal scores the lowest is taken.

    Parameters
    ----------
    programs
        The compiled clauses.
    clause, first
        Each record's clause and access row, `ALL` for a shared one.
    rows
        How many rows there are.
    """
    parts = programs.parts
    says = -np.log(np.clip(parts.probability, RAREST, COMMONEST))
    most = int(np.diff(programs.part_start)[clause].sum())
    slots = 1 << (2 * most | 1).bit_length()
    keys, counts = np.full(slots, -1, np.int64), np.zeros(slots, np.int32)
    second = np.full(len(clause), ALL, np.int32)
    _count(clause, first, programs.part_start, programs.part, parts.row, rows, keys, counts)
    _choose(clause, first, programs.part_start, programs.part, parts.row, says, rows, keys, counts, second)
    return second


@inlined
def _slot(keys, key):  # type: ignore[no-untyped-def]
    """Return where a key stands or belongs; at most half of the slots are taken, so every search ends."""
    mask = np.uint64(len(keys) - 1)
    slot = ((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def _count(clause, first, part_start, part, row, rows, keys, counts):  # type: ignore[no-untyped-def]
    for record in range(len(clause)):
        for i in range(part_start[clause[record]], part_start[clause[record] + 1]):
            q = row[part[i]]
            if q > ALL and q != first[record]:
                key = np.int64(first[record]) * rows + q
                slot = _slot(keys, key)
                keys[slot] = key
                counts[slot] += 1


@kernel
def _choose(clause, first, part_start, part, row, says, rows, keys, counts, second):  # type: ignore[no-untyped-def]
    for record in range(len(clause)):
        best = -1.0
        for i in range(part_start[clause[record]], part_start[clause[record] + 1]):
            q = row[part[i]]
            if q > ALL and q != first[record]:
                worth = counts[_slot(keys, np.int64(first[record]) * rows + q)] * says[part[i]]
                if worth > best or (worth == best and q < second[record]):
                    best = worth
                    second[record] = q
