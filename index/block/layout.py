"""The arrays of a block segment: their names, shapes and invariants, and the words of their two little languages.

`README.md` beside this file draws them. The named tuples below are what kernels take; their field names are the names
of the parts, so that a segment file and a kernel speak of one thing by one name.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from index.engine import Parts

UInt8s = npt.NDArray[np.uint8]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Float64s = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

ALL = 0
"""The row of events that exist; subscriptions without an access set are posted under it."""

# Match programs. A word >= 0 is a literal: row << 2 | NEGATED | LAST. See `index.block.kernels`.
NEGATED = 2
LAST = 1
ROW_SHIFT = 2
ROW_LIMIT = 2**29
PUSH = -1
POP = -2
POP_LAST = -3

# Score programs of trees. A word >= 0 is a literal, row << 1 | negated, and the word after it a leaf or NO_LEAF.
OPEN_AND = -1
OPEN_OR = -2
CLOSE = -3
NO_LEAF = -1

# How a clause scores: `clause_scoring`.
CONSTANT = 0
"""The priority alone; ``clause_points`` is the score."""
EVEN_SUM = 1
"""A sum of leaves, each with one weight for all its values; ``clause_points`` is the score of a plain event."""
SUM = 2
"""A sum of leaves; the score program lists them."""
TREE = 3
"""The score program is a tree."""


class Sizes(NamedTuple):
    """Small numbers of a segment, stored in one array ``sizes``."""

    subscriptions: int
    match_depth: int
    """Frames that match programs need at most."""
    score_depth: int
    """Frames that score programs need at most."""


class RowArrays(NamedTuple):
    """How the masks of rows come about.

    Attributes
    ----------
    exists_attribute
        int32 [exists rows], ascending.
    in_start, in_term
        int64 [in rows + 1], int32: an ``in`` row's terms, ascending.
    range_ladder, range_low, range_high
        int32 [range rows]: a range row holds ranks ``low`` to ``high`` of a ladder.
    term_in_start, term_in
        int64 [terms + 1], int32: the ``in`` rows with postings that list a term.
    ladder_range_start, ladder_range
        int64 [ladders + 1], int32: the range rows with postings that are cut from a ladder.
    """

    exists_attribute: Int32s
    in_start: Int64s
    in_term: Int32s
    range_ladder: Int32s
    range_low: Int32s
    range_high: Int32s
    term_in_start: Int64s
    term_in: Int32s
    ladder_range_start: Int64s
    ladder_range: Int32s


class LadderArrays(NamedTuple):
    """The bounds that ranges name, per attribute: number ladders come before text ladders.

    Attributes
    ----------
    number_attribute, number_start, number_double, number_remainder
        int32 [number ladders], ascending; int64 [+ 1]; bounds as `index.numbers.NumberPairs`, ascending and distinct
        within a ladder.
    text_attribute, text_start, text_offsets, text_data
        int32 [text ladders], ascending; int64 [+ 1]; bounds as UTF-8, ascending and distinct within a ladder.
    """

    number_attribute: Int32s
    number_start: Int64s
    number_double: Float64s
    number_remainder: Int64s
    text_attribute: Int32s
    text_start: Int64s
    text_offsets: Int64s
    text_data: UInt8s


class PostingArrays(NamedTuple):
    """Which clauses a row wakes, and their match programs.

    Attributes
    ----------
    post_start
        int32 [rows + 1]: clauses ``post_start[r]`` to ``post_start[r + 1]`` are true at most where row r is; clauses
        from ``post_start[rows]`` on have an access set of several rows.
    shared_start, shared_clause
        int64 [rows + 1], int32: the clauses of the latter kind that have row r in their access set.
    program_start, program
        int64 [clauses + 1], int32: match programs.
    clause_owner
        int32 [clauses]: the subscription.
    """

    post_start: Int32s
    shared_start: Int64s
    shared_clause: Int32s
    program_start: Int64s
    program: Int32s
    clause_owner: Int32s


class ScoreArrays(NamedTuple):
    """How clauses score.

    Attributes
    ----------
    clause_scoring
        uint8 [clauses], one of `CONSTANT`, `EVEN_SUM`, `SUM`, `TREE`.
    clause_points
        int64 [clauses], see there; includes the priority.
    score_start, score_program
        int64 [clauses + 1], int32: for sums the leaves, for trees the program, for constants nothing.
    leaf_start, leaf_term, leaf_weight
        int64 [leaves + 1], int32, float64: a leaf's terms, ascending, and their weights.
    owner_points
        int64 [subscriptions], the priority.
    owner_several
        uint8 [subscriptions], 1 where several clauses have this owner.
    """

    clause_scoring: UInt8s
    clause_points: Int64s
    score_start: Int64s
    score_program: Int32s
    leaf_start: Int64s
    leaf_term: Int32s
    leaf_weight: Float64s
    owner_points: Int64s
    owner_several: UInt8s


Group = TypeVar("Group", RowArrays, LadderArrays, PostingArrays, ScoreArrays)


def group(kind: type[Group], parts: Parts) -> Group:
    """Return a group of parts as kernels take them."""
    return kind(*(read_only(parts, name) for name in kind._fields))


def read_only(parts: Parts, name: str) -> npt.NDArray[Any]:
    """Return a part as a plain read-only array: Numba takes maps, and writeable arrays, for other types."""
    array = np.asarray(parts[name]).view(np.ndarray)
    array.flags.writeable = False
    return array
