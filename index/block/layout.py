"""The arrays of a block segment: their names, shapes and invariants, and the words of their two little languages.

`README.md` beside this file draws them. The named tuples below are what kernels take; their field names are the names
of the parts, so that a segment file and a kernel speak of one thing by one name.
"""

from __future__ import annotations

from typing import NamedTuple

# the types of what follows; all modules of this package take them from here
from index.arrays import Bools as Bools
from index.arrays import Float32s as Float32s
from index.arrays import Float64s as Float64s
from index.arrays import Int32s as Int32s
from index.arrays import Int64s as Int64s
from index.arrays import UInt8s as UInt8s
from index.arrays import UInt16s as UInt16s
from index.arrays import UInt64s as UInt64s

ALL = 0
"""The row of events that exist; subscriptions without an access set are posted under it."""

REACH = 64
"""Range rows that are passed over at once when none of them reaches a value."""

# Match programs. A word >= 0 is a literal: row << 4 | INTERVAL | LAZY | NEGATED | LAST. See `index.block.programs`.
INTERVAL = 8
"""A range that few words name: its ladder, first and last rank follow, and nothing of it is kept for the others."""
LAZY = 4
"""The row is derived when it is first read in a chunk."""
NEGATED = 2
LAST = 1
ROW_SHIFT = 4
ROW_LIMIT = 2**27

MARKS = 16
"""A record has a mark for each attribute by which it can score: bit a modulo so many for attribute a."""
PUSH = -1
POP = -2
POP_LAST = -3

# Score programs of trees. A word >= 0 is a literal, row << 1 | negated, and the word after it a leaf or NO_LEAF.
OPEN_AND = -1
OPEN_OR = -2
CLOSE = -3
ADD = -4
NO_LEAF = -1

# Records: ``record_head`` is kind << KIND_SHIFT | tail << TAIL_SHIFT | words.
KIND_SHIFT = 14
TAIL_SHIFT = 9
TAIL_LIMIT = 31
WORDS_LIMIT = 511
UNIT = 0
"""A conjunction of literals with a row each; as many of them as ``tail`` says score, each with weight 1. No tail."""
LINEAR = 1
"""A conjunction of literals with a row each; the tail has the weight codes of p, q and each positive literal."""
GENERAL = 2
"""Any match program; the tail is one word, the clause by which it scores."""
LONG = 3
"""The same with more words than the head can say: the first word is their number."""

# How a clause scores: `clause_scoring`.
SUM = 0
"""A sum of leaves; the score program lists them."""
TREE = 1
"""The score program is a tree."""
SHARE = 2
"""A tree whose sum must be large enough for a match, and whose score is the share of the largest sum possible."""

NO_MATCH = -(2**63)
"""Stands for the score of an event that a `SHARE` keeps away."""


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
    member_attribute
        int32 [member ladders], ascending. These ladders come after those of `LadderArrays`: a term's rank is its
        ordinal + 1, and values that are no term have rank 0.
    in_ladder
        int32 [in rows]: the member ladder of the attribute of a long list, -1 for others.
    range_ladder, range_low, range_high
        int32 [range rows], ascending by ladder and ``low``: a range row holds ranks ``low`` to ``high`` of a ladder.
        Those of member ladders come last; they hold all ranks but a list, and have no ``low`` and ``high``.
    outside_start, outside_rank
        int64 [range rows of member ladders + 1], int32: the ranks that such a row does not hold, ascending.
    term_in_start, term_in
        int64 [terms + 1], int32: the ``in`` rows with postings that list a term.
    ladder_range_start, ladder_range
        int64 [ladders + 1], int32: the range rows with postings that are cut from a ladder, ascending.
    ladder_range_reach
        int32: the highest ``range_high`` among each `REACH` entries of ``ladder_range``.
    """

    exists_attribute: Int32s
    in_start: Int64s
    in_term: Int32s
    member_attribute: Int32s
    in_ladder: Int32s
    range_ladder: Int32s
    range_low: Int32s
    range_high: Int32s
    outside_start: Int64s
    outside_rank: Int32s
    term_in_start: Int64s
    term_in: Int32s
    ladder_range_start: Int64s
    ladder_range: Int32s
    ladder_range_reach: Int32s


class LadderArrays(NamedTuple):
    """The bounds that ranges name, per attribute; number ladders come before text ladders.

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


class TestArrays(NamedTuple):
    """Tests of string values, in the order of their rows, which come after those of ``exists``.

    Attributes
    ----------
    pattern_attribute, pattern_offsets, pattern_data
        int32 [patterns], ascending; regular expressions in UTF-8, ascending within an attribute.
    needle_attribute, needle_offsets, needle_data, needle_parent
        int32 [needles], ascending; texts to be contained in UTF-8, ascending and distinct within an attribute; see
        `index.needles.parents`.
    """

    pattern_attribute: Int32s
    pattern_offsets: Int64s
    pattern_data: UInt8s
    needle_attribute: Int32s
    needle_offsets: Int64s
    needle_data: UInt8s
    needle_parent: Int32s


class PostingArrays(NamedTuple):
    """The posting lists: records by tier, access row p and second row q, best bounds first.

    A record is one copy of a clause, posted under p; it holds at most where both p and q do, and its program tests the
    rest. Records of a clause with many access rows are *shared*: groups of their own, posted under no row.

    Attributes
    ----------
    tier_bound
        float64 [tiers]: the largest bound of a tier's records, falling.
    group_start
        int32 [tiers * rows + 1]: row p's groups of tier t are ``group_start[t * rows + p]`` to the next entry.
    group_second
        int32 [groups]: q, or `ALL`.
    group_record, group_word
        int32 [groups + 1]: a group's first record, and its first word.
    group_marks
        uint16 [groups]: the marks of a group's records together.
    shared_start, shared_group
        int64 [rows + 1], int32: the shared groups that have row r in their access set; they follow all others.
    record_owner
        int32 [records]: subscription << 1 | whether it has other clauses; the records of one clause never meet. Or
        -1 - n, where the n-th list says who the owners are.
    owner_list_start, owner_list
        int64 [lists + 1], int32: the owner words of each list, ascending, two at least.
    record_bound
        float32 [records]: no score of the record is higher for a plain event, in units of 1 / SCORE_SCALE.
    record_head
        uint16 [records]: see above.
    record_marks
        uint16 [records]: the attributes by which the record can score, see `MARKS`.
    words
        int32: each record's program and tail, in the order of the records.
    weight_table
        float64: what weight codes stand for; empty where a code is the bits of a float32.
    row_attribute
        int32 [rows of terms and ``in`` + 1]: the attribute of a row that can score, or -1.
    attribute_sums
        uint8 [attributes]: whether some leaf that scores lists two values, so that an event may get both their weights.
    attribute_limit
        float64 [attributes]: no record gets more from the attribute for a plain event, in units of 1 / SCORE_SCALE.
    """

    tier_bound: Float64s
    group_start: Int32s
    group_second: Int32s
    group_record: Int32s
    group_marks: UInt16s
    group_word: Int32s
    shared_start: Int64s
    shared_group: Int32s
    record_owner: Int32s
    owner_list_start: Int64s
    owner_list: Int32s
    record_bound: Float32s
    record_head: UInt16s
    record_marks: UInt16s
    words: Int32s
    weight_table: Float64s
    row_attribute: Int32s
    attribute_sums: UInt8s
    attribute_limit: Float64s


class ScoreArrays(NamedTuple):
    """How the clauses of general records score.

    Attributes
    ----------
    clause_owner
        int32 [clauses]: the subscription.
    clause_scoring
        uint8 [clauses], one of `SUM`, `TREE`, `SHARE`.
    clause_points
        int64 [clauses]: the priority and what every plain event gets that satisfies the clause.
    score_start, score_program
        int64 [clauses + 1], int32: for sums the leaves, for trees the program.
    score_plain
        int32 [clauses]: how many words of it, from the first, decide what else a plain event gets.
    leaf_start, leaf_term, leaf_weight
        int64 [leaves + 1], int32, float64: a leaf's terms, ascending, and their weights.
    leaf_even
        uint8 [leaves], 1 where all the weights are one.
    owner_points
        int64 [subscriptions], the priority; empty where all are 0.
    """

    clause_owner: Int32s
    clause_scoring: UInt8s
    clause_points: Int64s
    score_start: Int64s
    score_program: Int32s
    score_plain: Int32s
    leaf_start: Int64s
    leaf_term: Int32s
    leaf_weight: Float64s
    leaf_even: UInt8s
    owner_points: Int64s


class RowKinds(NamedTuple):
    """Where the rows begin that are derived, and how many rows there are; `README.md` draws them."""

    first_in: int
    first_range: int
    first_outside: int
    rows: int

    @classmethod
    def of(cls, rows: RowArrays, postings: PostingArrays) -> RowKinds:
        """Read them off the arrays' lengths."""
        count = len(postings.shared_start) - 1
        first_range = count - len(rows.range_ladder)
        first_outside = count - (len(rows.outside_start) - 1)
        return cls(first_range - (len(rows.in_start) - 1), first_range, first_outside, count)
