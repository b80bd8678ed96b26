"""Compiles plain clauses, which are conjunctions of literals, by kernels; all programs in columns.

What comes out is what `index.block.programs.Compiler.compile` makes of the same clause, which compiles all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from index.block.clauses import Clauses
from index.block.layout import ALL, NO_LEAF, SUM, TAIL_LIMIT, Bools, Float64s, Int32s, Int64s, UInt8s
from index.block.leaves import LeafTable
from index.block.literals import LiteralTable
from index.block.programs import COPIES, NO_SCORE, Compiled, Compiler, Program, leaf_words
from index.kernel import kernel
from index.slices import places_of, starts_of

_INSERTED = 48
"""Clauses of so many literals are sorted by insertion."""

_FITTING = TAIL_LIMIT - 2
"""Simple clauses of so many literals are simple records for certain: a tail has their weights and those of two rows,
and code of at most four words each is far from `WORDS_LIMIT`. Longer ones may be general records and need a score."""


class Literals(NamedTuple):
    """The literals of plain clauses, the least probable first: int64 [clauses + 1], int32, int32; see `Clauses`."""

    start: Int64s
    literal: Int32s
    leaf: Int32s


class Plan(NamedTuple):
    """What is decided of clauses before any program is written.

    Attributes
    ----------
    chosen
        int64 [clauses]: where the literal stands under which the clause is posted, -1 for none.
    simple, bound
        bool, int64 [clauses]: as in `Programs`.
    lengths
        int64 [3, clauses]: how many access rows, parts and words of a score program it has; no such words where a
        simple record holds the weights.
    """

    chosen: Int64s
    simple: Bools
    bound: Int64s
    lengths: Int64s

    @classmethod
    def of(cls, count: int) -> Plan:
        """Return room for so many clauses."""
        chosen, bound = np.empty(count, np.int64), np.empty(count, np.int64)
        return cls(chosen, np.empty(count, np.bool_), bound, np.empty((3, count), np.int64))


class Parts(NamedTuple):
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


class Programs(NamedTuple):
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
    trees = np.fromiter(clauses.trees, np.int64, len(clauses.trees))
    others = [compiler.compile(clause) for clause in clauses.trees.values()]
    own, plan = _by_probability(clauses, literals), Plan.of(len(clauses.owner))
    plan_clauses(own, literals.access_start, literals.has_row, literals.exact, leaves, plan)
    plan.simple[trees] = False
    for row, member in enumerate(("access", "parts", "score")):
        plan.lengths[row, trees] = [len(getattr(other, member)) for other in others]
    programs = _room(plan, literals, others)
    plain = np.ones(len(clauses.owner), np.bool_)
    plain[trees] = False
    fill_parts(plain, own, plan.chosen, literals.access_start, literals.access, programs)
    fill_scores(clauses.start, clauses.leaf, leaves, programs)
    _place_trees(trees, others, len(literals.row), programs)
    return programs


def _room(plan: Plan, literals: LiteralTable, trees: Sequence[Program]) -> Programs:
    """Return programs as long as planned, of which only what the clauses have in common is filled in."""
    count = len(plan.chosen)
    access_start, part_start, score_start = (starts_of(row, count) for row in plan.lengths)
    access, part, score = (np.empty(start[-1], np.int32) for start in (access_start, part_start, score_start))
    compiled = [c for p in trees for c, literal in zip(p.parts, p.literals, strict=True) if literal < 0]
    return Programs(
        access_start,
        access,
        part_start,
        part,
        part_leaf=np.full(len(part), NO_SCORE, np.int32),
        simple=plan.simple,
        access_leaf=np.full(count, NO_LEAF, np.int32),
        bound=plan.bound.astype(np.float64),
        scoring=np.full(count, SUM, np.uint8),
        fixed=np.zeros(count, np.int64),
        varying=np.zeros(count, np.int32),
        score_start=score_start,
        score=score,
        names_leaf=np.ones(len(score), np.bool_),
        parts=Parts.of(literals, compiled),
        depth=max((part.depth for tree in trees for part in tree.parts), default=0),
        score_depth=max((tree.score_depth for tree in trees), default=0),
    )


def _by_probability(clauses: Clauses, literals: LiteralTable) -> Literals:
    """Return the literals of each clause, and their leaves, the least probable first."""
    own = Literals(clauses.start, clauses.literal.copy(), clauses.leaf.copy())
    lengths = np.diff(clauses.start)
    if lengths.max(initial=0) <= _INSERTED:
        _insert(own, literals.probability)
        return own
    order = np.lexsort((literals.probability[own.literal], np.repeat(np.arange(len(lengths)), lengths)))
    return Literals(clauses.start, own.literal[order], own.leaf[order])


def _place_trees(trees: Int64s, others: Sequence[Program], literals: int, programs: Programs) -> None:
    """Put the programs of trees where they belong; their own parts are numbered behind so many literals."""

    def places(start: Int64s) -> Int64s:
        return places_of(start[trees], np.diff(start)[trees])

    programs.access[places(programs.access_start)] = _flat(other.access for other in others)
    own = _flat(other.literals for other in others)
    branches = own < 0
    own[branches] = literals + np.arange(int(branches.sum()))
    programs.part[places(programs.part_start)] = own
    words = places(programs.score_start)
    programs.score[words] = _flat(other.score for other in others)
    programs.names_leaf[words] = _flat(leaf_words(other) for other in others)
    programs.bound[trees] = [other.bound for other in others]
    programs.scoring[trees] = [other.scoring for other in others]
    programs.fixed[trees] = [other.fixed for other in others]
    programs.varying[trees] = [other.varying for other in others]


def _flat(lists: Iterable[Iterable[int]]) -> Int32s:
    return np.fromiter(chain.from_iterable(lists), np.int32)


@kernel
def _insert(own, probability):  # type: ignore[no-untyped-def]
    """Sort the literals of each clause by insertion."""
    start, literal, leaf = own
    for clause in range(len(start) - 1):
        for i in range(start[clause] + 1, start[clause + 1]):
            moved, its_leaf = literal[i], leaf[i]
            its_probability = probability[moved]
            j = i
            while j > start[clause] and probability[literal[j - 1]] > its_probability:
                literal[j], leaf[j] = literal[j - 1], leaf[j - 1]
                j -= 1
            literal[j], leaf[j] = moved, its_leaf


@kernel
def plan_clauses(own, row_start, has_row, exact, leaves, plan):  # type: ignore[no-untyped-def]
    """Choose the literal under which a clause is posted, the rarest positive one, and count what will be written."""
    start, literal, leaf = own
    for clause in range(len(plan.chosen)):
        chosen, bound = -1, np.int64(0)
        rows, scoring, is_even, implies = 1, 0, True, False
        for i in range(start[clause], start[clause + 1]):
            predicate = literal[i] >> 1
            if chosen < 0 and not literal[i] & 1:
                chosen = i
                rows, implies = row_start[predicate + 1] - row_start[predicate], exact[predicate]
            if leaf[i] >= 0:
                bound += leaves.bound[leaf[i]]
                scoring += 1
            is_even = is_even and has_row[predicate] and (leaf[i] < 0 or leaves.even[leaf[i]])
        simple, implied = is_even and rows == 1, implies and rows <= COPIES
        plan.chosen[clause], plan.simple[clause], plan.bound[clause] = chosen, simple, bound
        plan.lengths[0, clause] = rows
        plan.lengths[1, clause] = start[clause + 1] - start[clause] - (1 if implied else 0)
        fits = simple and start[clause + 1] - start[clause] <= _FITTING
        plan.lengths[2, clause] = 0 if fits else scoring


@kernel
def fill_parts(plain, own, chosen, row_start, row, programs):  # type: ignore[no-untyped-def]
    """Write the access rows and the parts of plain clauses."""
    start, literal, leaf = own
    access_start, part_start = programs.access_start, programs.part_start
    for clause in range(len(plain)):
        if not plain[clause]:
            continue
        place, at = access_start[clause], chosen[clause]
        programs.access[place] = ALL
        if at >= 0:
            first = row_start[literal[at] >> 1]
            for i in range(access_start[clause + 1] - place):
                programs.access[place + i] = row[first + i]
        implied = part_start[clause + 1] - part_start[clause] < start[clause + 1] - start[clause]
        if implied:
            programs.access_leaf[clause] = leaf[at]
        to = part_start[clause]
        for i in range(start[clause], start[clause + 1]):
            if implied and i == at:
                continue
            programs.part[to] = literal[i]
            if not literal[i] & 1:
                programs.part_leaf[to] = leaf[i]
            to += 1


@kernel
def fill_scores(start, leaf, leaves, programs):  # type: ignore[no-untyped-def]
    """Write the sums of clauses that have room for one: what varies, then what does not, as it was written in each."""
    for clause in range(len(programs.simple)):
        to = programs.score_start[clause]
        if to == programs.score_start[clause + 1]:
            continue
        for fixes in (False, True):
            for i in range(start[clause], start[clause + 1]):
                if leaf[i] >= 0 and leaves.even[leaf[i]] == fixes:
                    programs.score[to] = leaf[i]
                    to += 1
                    if fixes:
                        programs.fixed[clause] += leaves.points[leaf[i]]
                    else:
                        programs.varying[clause] += 1
