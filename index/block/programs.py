"""Compiles a clause: the rows it is posted under, its match program and how it scores.

A match program narrows a mask m, which starts as the AND of the rows that the record is posted under, and stops when m
is empty:

=====================  ===================================================================================
literal word           ``acc |= row`` (or its complement); with LAST: ``m &= acc``, ``acc = 0``; with INTERVAL a range's
                       ladder, first and last rank follow
PUSH, n                an AND inside an OR begins, n words long: save m and acc, ``m &= ~acc``, ``acc = 0``
POP, POP_LAST          it ends: ``acc = saved acc | m``, ``m =`` saved m; with LAST as for a literal
=====================  ===================================================================================

So an OR of literals is its literals with LAST on the last one, a conjunction is literals that all have LAST, and an AND
inside an OR is a frame whose m starts with the events still undecided; when that m gets empty, the rest of the frame is
skipped. What costs least and fails most often stands first.

A score program evaluates (truth, score) over the same tree for one event: OPEN_AND, OPEN_OR and CLOSE bracket the
connectives, a literal is followed by its leaf, and ADD by the two halves of what it adds. Below the root only what can
add to the score is written. In mode threshold the least sum that matches and the largest possible stand before it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from index.block.clauses import Clause
from index.block.layout import (
    ADD,
    ALL,
    CLOSE,
    INTERVAL,
    LAST,
    LAZY,
    NEGATED,
    NO_LEAF,
    OPEN_AND,
    OPEN_OR,
    POP,
    POP_LAST,
    PUSH,
    ROW_SHIFT,
    SHARE,
    SUM,
    TREE,
)
from index.block.leaves import Leaf
from index.block.nodes import Branch, Constant, Node, Test, postorder
from index.block.rows import Rows
from index.block.vocabulary import Literal
from index.block.weighing import Weighing
from schemas.values import SCORE_SCALE, score_term

COPIES = 6
"""A clause with so many access rows has a record under each of them; one with more has one that all of them wake."""

NO_SCORE = -2
"""The leaf of a part that is no literal, or a negated one."""


class Compiled(NamedTuple):
    """A subtree's code in the place where it stands, and what is needed to order it and to post its clause.

    Attributes
    ----------
    probability
        Share of events for which it is expected to be true.
    cost
        Expected share of events that wake it by its access set; infinite when it has none.
    access
        Rows, one of which holds whenever the subtree is true.
    code
        Words; inside an OR without LAST.
    depth
        Frames that the code needs.
    exact
        Whether it is true just where one of its access rows is, so that a clause posted there need not test it.
    row
        A row that is set before the walk and holds wherever a positive literal does: its own or its cover; else -1.
    """

    probability: float
    cost: float
    access: tuple[int, ...]
    code: list[int]
    depth: int
    exact: bool = False
    row: int = -1


class Program(NamedTuple):
    """A compiled clause.

    Attributes
    ----------
    access
        Its rows; `ALL` alone when it has no access set. More than `COPIES` are not implied by the clause's place.
    parts
        The conjuncts in the order in which they are to be tested; those that the access rows imply are left out.
    literals
        For each part the literal that it is, -1 for a tree.
    scoring, score, score_depth
        SUM, TREE or SHARE; leaves or score program; frames that it needs.
    fixed, varying
        What every plain event gets that satisfies the clause, in score units; how many words of the score program, from
        the first, decide what else it gets.
    bound
        The sum of its leaves' bounds, the best branch of an OR counted.
    """

    access: tuple[int, ...]
    parts: list[Compiled]
    literals: list[Literal]
    scoring: int
    score: list[int]
    score_depth: int
    fixed: int
    varying: int
    bound: int


_PROBABILITY = attrgetter("probability")


class Compiler:
    """Compiles clauses over numbered rows; literals are compiled once.

    Parameters
    ----------
    rows
        The rows.
    eager
        The derived rows that are set before the walk.
    intervals
        The rows of ranges that few literals name, and the rows that those are posted under: covers, or the same.
    leaves
        The leaves by which literals score.
    """

    def __init__(
        self, rows: Rows, eager: Collection[int], intervals: Mapping[int, int], leaves: Sequence[Leaf]
    ) -> None:
        self._rows = rows
        self._eager = eager
        self._intervals = intervals
        self._leaves = leaves
        self._conjuncts: dict[Literal, Compiled] = {}
        self._disjuncts: dict[Literal, Compiled] = {}

    def compile(self, clause: Clause) -> Program:
        """Compile a clause."""
        args = clause.args
        pairs = [
            (self.conjunct(arg), arg.literal) if isinstance(arg, Test) else (self._branch(arg), -1)
            for arg in args
            if not isinstance(arg, Constant)
        ]
        pairs.sort(key=lambda pair: pair[0].probability)
        chosen = min(pairs, key=lambda pair: pair[0].cost, default=None)
        access: tuple[int, ...] = (ALL,)
        if chosen is not None and chosen[0].cost < math.inf:
            access = chosen[0].access
            if chosen[0].exact and len(access) <= COPIES:
                pairs.remove(chosen)
        parts, literals = [part for part, _ in pairs], [literal for _, literal in pairs]
        if clause.weighing is not None:
            return Program(access, parts, literals, *self._weighed(clause.weighing))
        return Program(access, parts, literals, *self._score(args), sum(self._bound(arg) for arg in args))

    def conjunct(self, test: Test) -> Compiled:
        """Return the code of a literal that is an argument of a clause."""
        found = self._conjuncts.get(test.literal)
        if found is None:
            found = self._conjuncts[test.literal] = self._literal(test.literal, inside_or=False)
        return found

    def _disjunct(self, test: Test) -> Compiled:
        found = self._disjuncts.get(test.literal)
        if found is None:
            found = self._disjuncts[test.literal] = self._literal(test.literal, inside_or=True)
        return found

    def _literal(self, literal: Literal, inside_or: bool) -> Compiled:
        predicate, negated = literal >> 1, literal & 1
        row, frequency = self._rows.row[predicate], self._rows.frequency[predicate]
        held = [row] if row >= 0 else list(self._rows.terms[predicate])
        code = [self._word(r) | (NEGATED if negated else 0) for r in held]
        if row in self._intervals:
            code = [row << ROW_SHIFT | INTERVAL | (NEGATED if negated else 0) | LAST, *self._cut(row)]
        elif not inside_or:
            # NOT (a OR b) is NOT a AND NOT b, so every word of it is a conjunct of its own.
            code = [word | LAST for word in code] if negated else [*code[:-1], code[-1] | LAST]
        if negated:
            return Compiled(1 - frequency, math.inf, (), code, 0)
        cover = self._intervals.get(row, row)
        if cover != row:
            return Compiled(frequency, frequency, (cover,), code, 0, row=cover)
        single = row if row >= 0 and not code[0] & (LAZY | INTERVAL) else -1
        return Compiled(frequency, frequency, tuple(held), code, 0, exact=True, row=single)

    def _cut(self, row: int) -> tuple[int, int, int]:
        """Return the ladder of a range row, and its first and last rank there."""
        place, arrays = row - self._rows.first_range, self._rows.arrays
        return int(arrays["range_ladder"][place]), int(arrays["range_low"][place]), int(arrays["range_high"][place])

    def _word(self, row: int) -> int:
        return row << ROW_SHIFT | (LAZY if row >= self._rows.first_in and row not in self._eager else 0)

    def _branch(self, root: Branch) -> Compiled:
        """Compile a subtree from below, each branch from the compiled branches under it."""
        done: dict[int, Compiled] = {}
        for branch in postorder(root):
            literal = self.conjunct if branch.conjunction else self._disjunct
            parts = [literal(arg) if isinstance(arg, Test) else done.pop(id(arg)) for arg in branch.args]
            done[id(branch)] = _and(parts) if branch.conjunction else _or(parts)
        return done[id(root)]

    def _bound(self, root: Node) -> int:
        if not isinstance(root, Branch):
            return self._leaf_bound(root)
        done: dict[int, int] = {}
        for branch in postorder(root) if root.scores else ():
            bounds = [done.pop(id(arg)) if isinstance(arg, Branch) else self._leaf_bound(arg) for arg in branch.args]
            done[id(branch)] = sum(bounds) if branch.conjunction else max(bounds, default=0)
        return done.get(id(root), 0)

    def _leaf_bound(self, node: Test | Constant) -> int:
        if isinstance(node, Constant):
            return max(0, node.points)
        return self._leaves[node.leaf].bound if node.leaf >= 0 else 0

    def _score(self, args: Sequence[Node]) -> tuple[int, list[int], int, int, int]:
        """Return scoring, score program, depth, what is fixed and how much of the program is not.

        The root is true, so only its arguments that score are written, those with a score that varies first.
        """
        scoring = [(arg, self._fixed(arg)) for arg in args if not isinstance(arg, Constant) and self._scores(arg)]
        scoring.sort(key=lambda pair: pair[1] is not None)
        fixed = sum(points or 0 for _, points in scoring)
        tree = any(isinstance(arg, Branch) for arg, _ in scoring)
        code: list[int] = []
        depth, varying = 0, 0
        for arg, points in scoring:
            if isinstance(arg, Branch):
                inner, frames = self._scored_branch(arg)
                code += inner
                depth = max(depth, frames)
            elif isinstance(arg, Test):  # a literal of the clause itself may have no row, and is true in any case
                code += (ALL << 1, arg.leaf) if tree else (arg.leaf,)
            varying = len(code) if points is None else varying
        return (TREE if tree else SUM), code, depth, fixed, varying

    def _scores(self, node: Node) -> bool:
        return node.scores if isinstance(node, Branch) else isinstance(node, Test) and node.leaf != NO_LEAF

    def _fixed(self, root: Node) -> int | None:
        """Return what every plain event gets for which the node is true, None where that varies."""
        if not isinstance(root, Branch):
            return self._fixed_leaf(root)
        done: dict[int, int | None] = {}
        for branch in postorder(root):
            found = [done.pop(id(arg)) if isinstance(arg, Branch) else self._fixed_leaf(arg) for arg in branch.args]
            known = [points for points in found if points is not None]
            fixed = None
            if len(known) == len(found) and branch.conjunction:
                fixed = sum(known)
            elif len(known) == len(found) and len(set(known)) == 1:
                fixed = known[0]
            done[id(branch)] = fixed
        return done[id(root)]

    def _fixed_leaf(self, node: Test | Constant) -> int | None:
        if isinstance(node, Constant):
            return node.points
        if node.leaf < 0:
            return 0
        weight = self._leaves[node.leaf].weight
        return None if weight is None else score_term(1.0, weight)

    def _weighed(self, weighing: Weighing) -> tuple[int, list[int], int, int, int, int]:
        """Return the last members of the `Program` of a clause in mode relaxed or threshold: nothing is fixed."""
        code, depth = self._scored_branch(Branch(True, weighing.nodes, True))
        code = code[1:-1]  # the clause itself is the AND around
        if not weighing.possible:
            return TREE, code, depth, 0, len(code), sum(self._bound(node) for node in weighing.nodes)
        code = [*halves(weighing.needed), *halves(weighing.possible), *code]
        return SHARE, code, depth, 0, len(code), SCORE_SCALE

    def _scored_branch(self, root: Branch) -> tuple[list[int], int]:
        done: dict[int, tuple[list[int], int]] = {}
        for branch in postorder(root):
            code = [OPEN_AND if branch.conjunction else OPEN_OR]
            depth = 0
            for arg in branch.args:
                if isinstance(arg, Test):
                    code += (self._rows.row[arg.literal >> 1] << 1 | arg.literal & 1, arg.leaf)
                elif isinstance(arg, Constant):
                    code += (ADD, *halves(arg.points))
                else:
                    inner, frames = done.pop(id(arg))
                    code += inner
                    depth = max(depth, frames)
            done[id(branch)] = ([*code, CLOSE], depth + 1)
        return done[id(root)]


def leaf_words(program: Program) -> list[bool]:
    """Return which words of a score program are leaves."""
    if program.scoring == SUM:
        return [True] * len(program.score)
    first = 4 if program.scoring == SHARE else 0
    marks = [False] * len(program.score)
    place = first
    while place < len(marks):
        word = program.score[place]
        if word >= 0:
            place += 1
            marks[place] = program.score[place] >= 0
        elif word == ADD:
            place += 2
        place += 1
    return marks


def halves(number: int) -> tuple[int, int]:
    """Return a 64-bit integer as two words, the lower one first."""
    low, high = np.array([number], np.int64).view(np.int32).tolist()
    return low, high


def _and(parts: list[Compiled]) -> Compiled:
    """Return the frame of an AND inside an OR; the cheapest argument wakes it."""
    parts.sort(key=_PROBABILITY)
    code = list(chain.from_iterable(part.code for part in parts))
    cheapest = min(parts, key=attrgetter("cost"))
    return Compiled(
        math.prod(part.probability for part in parts),
        cheapest.cost,
        cheapest.access,
        [PUSH, len(code), *code, POP],
        1 + max(part.depth for part in parts),
    )


def _or(parts: list[Compiled]) -> Compiled:
    """Return an OR inside an AND; any argument may wake it, so all must be able to."""
    parts.sort(key=lambda part: (part.depth, -part.probability))
    code = list(chain.from_iterable(part.code for part in parts))
    code[-1] = POP_LAST if code[-1] == POP else code[-1] | LAST
    access = tuple(dict.fromkeys(chain.from_iterable(part.access for part in parts)))
    cost = sum(part.cost for part in parts)
    if ALL in access:
        access, cost = (ALL,), max(cost, 1.0)
    probability = 1 - math.prod(1 - part.probability for part in parts)
    exact = cost < math.inf and all(part.exact for part in parts)
    return Compiled(probability, cost, access, code, max(part.depth for part in parts), exact)
