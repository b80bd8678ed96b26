"""Compiles a clause: its access set, its match program and its score program.

A match program narrows a mask m, which starts as the access row's mask (or all events when the access set has several
rows), and stops when m is empty:

=====================  ===================================================================================
literal word           ``acc |= row`` (or its complement); with LAST: ``m &= acc``, ``acc = 0``
PUSH, n                an AND inside an OR begins, n words long: save m and acc, ``m &= ~acc``, ``acc = 0``
POP, POP_LAST          it ends: ``acc = saved acc | m``, ``m =`` saved m; with LAST as for a literal
=====================  ===================================================================================

So an OR of literals is its literals with LAST on the last one, a conjunction is literals that all have LAST, and an AND
inside an OR is a frame whose m starts with the events still undecided; when that m gets empty, the rest of the frame is
skipped. What costs least and fails most often stands first.

A score program evaluates (truth, score) over the same tree for one event: OPEN_AND, OPEN_OR and CLOSE bracket the
connectives, and a literal is followed by its leaf. Below the root only what can add to the score is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from index.block.clauses import Branch, Node, Test, postorder
from index.block.layout import (
    ALL,
    CLOSE,
    CONSTANT,
    LAST,
    NEGATED,
    NO_LEAF,
    OPEN_AND,
    OPEN_OR,
    POP,
    POP_LAST,
    PUSH,
    ROW_SHIFT,
    SUM,
    TREE,
)
from index.block.rows import Rows
from index.block.vocabulary import Literal

INLINE_TERMS = 4
"""An ``in`` of so few terms is written as its terms' rows: those are few and hot, its own row would seldom be."""


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
        Whether it is true just where its one access row is, so that the clause posted there need not test it.
    """

    probability: float
    cost: float
    access: tuple[int, ...]
    code: list[int]
    depth: int
    exact: bool = False


class Program(NamedTuple):
    """A compiled clause.

    Attributes
    ----------
    access
        Rows to post it under; never empty.
    match
        Match program; what a single access row implies is left out.
    match_depth
        Frames that it needs.
    scoring
        CONSTANT, SUM or TREE.
    score
        Leaves or score program.
    score_depth
        Frames that the score program needs.
    """

    access: tuple[int, ...]
    match: list[int]
    match_depth: int
    scoring: int
    score: list[int]
    score_depth: int


_PROBABILITY = attrgetter("probability")
_COST = attrgetter("cost")


class Compiler:
    """Compiles clauses over numbered rows; literals are compiled once."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._conjuncts: dict[Literal, Compiled] = {}
        self._disjuncts: dict[Literal, Compiled] = {}

    def compile(self, args: Sequence[Node]) -> Program:
        """Compile the clause that is the AND of ``args``."""
        parts = [self._conjunct(arg) if isinstance(arg, Test) else self._branch(arg) for arg in args]
        parts.sort(key=_PROBABILITY)
        scoring, score, score_depth = self._score(args)
        chosen = min(parts, key=_COST, default=None)
        access: tuple[int, ...] = (ALL,)
        if chosen is not None and chosen.cost < math.inf:
            access = chosen.access
            if chosen.exact:
                parts.remove(chosen)
        match = list(chain.from_iterable(part.code for part in parts))
        return Program(access, match, max((part.depth for part in parts), default=0), scoring, score, score_depth)

    def _conjunct(self, test: Test) -> Compiled:
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
        row, terms, frequency = self._rows.row[predicate], self._rows.terms[predicate], self._rows.frequency[predicate]
        inline = 0 < len(terms) <= INLINE_TERMS and not (inside_or and negated)
        flags = NEGATED if negated else 0
        code = [term << ROW_SHIFT | flags for term in terms] if inline else [row << ROW_SHIFT | flags]
        if not inside_or:
            # NOT (a OR b) is NOT a AND NOT b, so every word of it is a conjunct of its own.
            code = [word | LAST for word in code] if negated else [*code[:-1], code[-1] | LAST]
        if negated:
            return Compiled(1 - frequency, math.inf, (), code, 0)
        return Compiled(frequency, frequency, (row,), code, 0, exact=True)

    def _branch(self, root: Branch) -> Compiled:
        """Compile a subtree from below, each branch from the compiled branches under it."""
        done: dict[int, Compiled] = {}
        for branch in postorder(root):
            literal = self._conjunct if branch.conjunction else self._disjunct
            parts = [literal(arg) if isinstance(arg, Test) else done.pop(id(arg)) for arg in branch.args]
            done[id(branch)] = _and(parts) if branch.conjunction else _or(parts)
        return done[id(root)]

    def _score(self, args: Sequence[Node]) -> tuple[int, list[int], int]:
        """Return scoring, score program and depth; the root is true, so only its arguments that score are written."""
        leaves = [arg for arg in args if isinstance(arg, Test) and arg.leaf != NO_LEAF]
        branches = [arg for arg in args if isinstance(arg, Branch) and arg.scores]
        if not branches:
            return (SUM if leaves else CONSTANT), [leaf.leaf for leaf in leaves], 0
        code = list(chain.from_iterable(self._scored_literal(leaf) for leaf in leaves))
        depth = 0
        for branch in branches:
            inner, frames = self._scored_branch(branch)
            code += inner
            depth = max(depth, frames)
        return TREE, code, depth

    def _scored_literal(self, test: Test) -> tuple[int, int]:
        return self._rows.row[test.literal >> 1] << 1 | test.literal & 1, test.leaf

    def _scored_branch(self, root: Branch) -> tuple[list[int], int]:
        done: dict[int, tuple[list[int], int]] = {}
        for branch in postorder(root):
            code = [OPEN_AND if branch.conjunction else OPEN_OR]
            depth = 0
            for arg in branch.args:
                if isinstance(arg, Test):
                    code += self._scored_literal(arg)
                else:
                    inner, frames = done.pop(id(arg))
                    code += inner
                    depth = max(depth, frames)
            done[id(branch)] = ([*code, CLOSE], depth + 1)
        return done[id(root)]


def _and(parts: list[Compiled]) -> Compiled:
    """Return the frame of an AND inside an OR; the cheapest argument wakes it."""
    parts.sort(key=_PROBABILITY)
    code = list(chain.from_iterable(part.code for part in parts))
    cheapest = min(parts, key=_COST)
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
    return Compiled(probability, cost, access, code, max(part.depth for part in parts))
