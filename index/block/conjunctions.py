"""Compiles plain clauses, which are conjunctions of literals, by kernels; all programs in columns.

What comes out is what `index.block.programs.Compiler.compile` makes of the same clause, which compiles all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from index.block.clauses import Clauses
from index.block.layout import ALL, NO_LEAF, SUM, Bools, Float64s, Int32s, Int64s, UInt8s
from index.block.leaves import LeafTable
from index.block.literals import LiteralTable
from index.block.programs import COPIES, NO_SCORE, Compiled, Compiler, Program, leaf_words
from index.kernel import kernel
from index.slices import places_of, starts_of

_INSERTED = 48
"""Clauses of so many literals are sorted by insertion."""


@dataclass(frozen=True, eq=False)
class Parts:
    """The code of conjuncts in columns: first that of every literal, by its number, then that of trees.

    Attributes
    ----------
    probability, row, code_start, code
        As in `LiteralTable`.
    exact
        bool: whether the part holds just where ``row`` does.
    """

    probability: Float64s
    row: Int32s
    exact: Bools
    code_start: Int64s
    code: Int32s

    @classmethod
    def of(cls, literals: LiteralTable, trees: Sequence[Compiled]) -> Parts:
        """Return the parts."""
        lengths = chain(np.diff(literals.code_start), (len(tree.code) for tree in trees))
        code = np.fromiter(chain.from_iterable(tree.code for tree in trees), np.int32)
        return cls(
            np.append(literals.probability, [tree.probability for tree in trees]),
            np.append(literals.row, np.array([tree.row for tree in trees], np.int32)),
            np.append(np.repeat(literals.exact, 2), np.ones(len(trees), np.bool_)),
            starts_of(lengths, len(literals.row) + len(trees)),
            np.append(literals.code, code),
        )


@dataclass(frozen=True, eq=False)
class Programs:
    """Compiled clauses in columns; see `index.block.programs.Program` for what they mean.

    Attributes
    ----------
    access_start, access
        int64 [clauses + 1], int32: the access rows.
    part_start, part, part_leaf
        int64 [clauses + 1], int32, int32: the parts and, of a simple clause, their leaves.
    simple, access_leaf
        bool, int32 [clauses]: whether it may be a simple record; the leaf of its access row.
    bound
        float64 [clauses].
    scoring, fixed, varying
        uint8, int64, int32 [clauses].
    score_start, score, names_leaf
        int64 [clauses + 1], int32, bool: score programs, and which of their words are leaves.
    parts
        What ``part`` names.
    depth, score_depth
        Frames that programs and score programs need.
    """

    access_start: Int64s
    access: Int32s
    part_start: Int64s
    part: Int32s
    part_leaf: Int32s
    simple: Bools
    access_leaf: Int32s
    bound: Float64s
    scoring: UInt8s
    fixed: Int64s
    varying: Int32s
    score_start: Int64s
    score: Int32s
    names_leaf: Bools
    parts: Parts
    depth: int
    score_depth: int


def compile_clauses(clauses: Clauses, compiler: Compiler, literals: LiteralTable, leaves: LeafTable) -> Programs:
    """Compile all clauses: conjunctions of literals by kernels, trees by the compiler."""
    count = len(clauses.owner)
    trees = np.fromiter(clauses.trees, np.int64, len(clauses.trees))
    others = [compiler.compile(clause) for clause in clauses.trees.values()]
    literal, leaf = _by_probability(clauses, literals)
    chosen, simple = np.empty(count, np.int64), np.empty(count, np.bool_)
    bound, fixed = np.empty(count, np.int64), np.zeros(count, np.int64)
    lengths = np.empty((3, count), np.int64)
    even = leaves.even
    _plan(
        clauses.start,
        literal,
        leaf,
        literals.access_start,
        literals.has_row,
        literals.exact,
        even,
        leaves.bound,
        chosen,
        simple,
        bound,
        lengths,
    )
    simple[trees] = False
    for row, member in enumerate(("access", "parts", "score")):
        lengths[row, trees] = [len(getattr(other, member)) for other in others]
    access_start, part_start, score_start = (starts_of(row, count) for row in lengths)
    access, part, score = (np.empty(start[-1], np.int32) for start in (access_start, part_start, score_start))
    part_leaf = np.full(len(part), NO_SCORE, np.int32)
    names_leaf = np.ones(len(score), np.bool_)
    access_leaf, varying = np.full(count, NO_LEAF, np.int32), np.zeros(count, np.int32)
    plain = np.ones(count, np.bool_)
    plain[trees] = False
    _fill_parts(
        plain, clauses.start, literal, leaf, chosen, literals.access_start, literals.access,
        access_start, access, access_leaf, part_start, part, part_leaf,
    )  # fmt: skip
    _fill_scores(clauses.start, clauses.leaf, simple, even, leaves.points, score_start, score, fixed, varying)
    scoring = np.full(count, SUM, np.uint8)
    parts = _place_trees(trees, others, literals, access_start, access, part_start, part)
    score[places_of(score_start[trees], lengths[2, trees])] = _flat(other.score for other in others)
    names_leaf[places_of(score_start[trees], lengths[2, trees])] = _flat(leaf_words(other) for other in others)
    scoring[trees] = [other.scoring for other in others]
    fixed[trees] = [other.fixed for other in others]
    varying[trees] = [other.varying for other in others]
    bounds = bound.astype(np.float64)
    bounds[trees] = [other.bound for other in others]
    return Programs(
        access_start, access, part_start, part, part_leaf, simple, access_leaf, bounds, scoring, fixed, varying,
        score_start, score, names_leaf, parts,
        max((part.depth for other in others for part in other.parts), default=0),
        max((other.score_depth for other in others), default=0),
    )  # fmt: skip


def _by_probability(clauses: Clauses, literals: LiteralTable) -> tuple[Int32s, Int32s]:
    """Return the literals of each clause, and their leaves, the least probable first."""
    literal, leaf = clauses.literal.copy(), clauses.leaf.copy()
    lengths = np.diff(clauses.start)
    if lengths.max(initial=0) <= _INSERTED:
        _insert(clauses.start, literals.probability, literal, leaf)
        return literal, leaf
    order = np.lexsort((literals.probability[literal], np.repeat(np.arange(len(lengths)), lengths)))
    return literal[order], leaf[order]


def _place_trees(
    trees: Int64s,
    programs: Sequence[Program],
    literals: LiteralTable,
    access_start: Int64s,
    access: Int32s,
    part_start: Int64s,
    part: Int32s,
) -> Parts:
    """Put the access rows and parts of trees where they belong; return all parts."""
    access[places_of(access_start[trees], np.diff(access_start)[trees])] = _flat(p.access for p in programs)
    own = _flat(p.literals for p in programs)
    branches = own < 0
    own[branches] = len(literals.row) + np.arange(int(branches.sum()))
    part[places_of(part_start[trees], np.diff(part_start)[trees])] = own
    compiled = [c for p in programs for c, literal in zip(p.parts, p.literals, strict=True) if literal < 0]
    return Parts.of(literals, compiled)


def _flat(lists: Iterable[Iterable[int]]) -> Int32s:
    return np.fromiter(chain.from_iterable(lists), np.int32)


@kernel
def _insert(start, probability, literal, leaf):  # type: ignore[no-untyped-def]
    for clause in range(len(start) - 1):
        for i in range(start[clause] + 1, start[clause + 1]):
            moved, its_leaf = literal[i], leaf[i]
            own = probability[moved]
            j = i
            while j > start[clause] and probability[literal[j - 1]] > own:
                literal[j], leaf[j] = literal[j - 1], leaf[j - 1]
                j -= 1
            literal[j], leaf[j] = moved, its_leaf


@kernel
def _plan(  # type: ignore[no-untyped-def]
    start, literal, leaf, row_start, has_row, exact, even, leaf_bound, chosen, simple, bound, lengths
):
    """Choose the literal under which a clause is posted, the rarest positive one, and count what will be written."""
    for clause in range(len(chosen)):
        chosen[clause], bound[clause] = -1, 0
        rows, scoring, is_even, implies = 1, 0, True, False
        for i in range(start[clause], start[clause + 1]):
            predicate = literal[i] >> 1
            if chosen[clause] < 0 and not literal[i] & 1:
                chosen[clause] = i
                rows, implies = row_start[predicate + 1] - row_start[predicate], exact[predicate]
            if leaf[i] >= 0:
                bound[clause] += leaf_bound[leaf[i]]
                scoring += 1
            is_even = is_even and has_row[predicate] and (leaf[i] < 0 or even[leaf[i]])
        simple[clause] = is_even and rows == 1
        implied = implies and rows <= COPIES
        lengths[0, clause] = rows
        lengths[1, clause] = start[clause + 1] - start[clause] - (1 if implied else 0)
        lengths[2, clause] = 0 if simple[clause] else scoring


@kernel
def _fill_parts(  # type: ignore[no-untyped-def]
    plain, start, literal, leaf, chosen, row_start, row, access_start, access, access_leaf, part_start, part,
    part_leaf,
):  # fmt: skip
    for clause in range(len(plain)):
        if not plain[clause]:
            continue
        place, own = access_start[clause], chosen[clause]
        access[place] = ALL
        if own >= 0:
            first = row_start[literal[own] >> 1]
            for i in range(access_start[clause + 1] - place):
                access[place + i] = row[first + i]
        implied = part_start[clause + 1] - part_start[clause] < start[clause + 1] - start[clause]
        if implied:
            access_leaf[clause] = leaf[own]
        to = part_start[clause]
        for i in range(start[clause], start[clause + 1]):
            if implied and i == own:
                continue
            part[to] = literal[i]
            if not literal[i] & 1:
                part_leaf[to] = leaf[i]
            to += 1


@kernel
def _fill_scores(start, leaf, simple, even, points, score_start, score, fixed, varying):  # type: ignore[no-untyped-def]
    """What varies comes first; in each half the leaves stand as they were written."""
    for clause in range(len(simple)):
        if simple[clause]:
            continue
        to = score_start[clause]
        for fixes in (False, True):
            for i in range(start[clause], start[clause + 1]):
                if leaf[i] >= 0 and even[leaf[i]] == fixes:
                    score[to] = leaf[i]
                    to += 1
                    if fixes:
                        fixed[clause] += points[leaf[i]]
                    else:
                        varying[clause] += 1
