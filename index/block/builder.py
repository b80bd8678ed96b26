"""Builds the arrays of a block segment: reads the subscriptions once, numbers the rows, then compiles every clause."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

import numpy as np

from index.block.clauses import Clause, ClauseReader
from index.block.ladders import places_of, reach
from index.block.layout import ADD, SHARE, SUM, TREE, Int32s, Int64s, Sizes
from index.block.leaves import Leaves
from index.block.nodes import Branch, Node, Test, postorder
from index.block.postings import lay_out
from index.block.programs import Compiler, Program
from index.block.rows import Arrays, Rows, number_rows, starts_of
from index.block.vocabulary import Inside, OneOf, Vocabulary
from index.observed.statistics import EventStatistics
from schemas.records import Subscription
from schemas.values import score_term

INLINE_TERMS = 4
"""A list of at most so many terms that few clauses name is written as its terms' rows: those are few and hot."""

SHARED_USES = 4
"""A list that so many clauses name gets a row that is set before the walk."""


def build_parts(subscriptions: Sequence[Subscription], statistics: EventStatistics | None = None) -> Arrays:
    """Return the parts of a segment, `index.block.layout`; ordinal i is the i-th subscription."""
    with _no_garbage_collection():
        return _build_parts(subscriptions, statistics)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Spare the collector from walking millions of live objects again and again: a third of the time of a build."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _build_parts(subscriptions: Sequence[Subscription], statistics: EventStatistics | None) -> Arrays:
    reader = ClauseReader()
    owners = array("i")
    read: list[Clause] = []
    for ordinal, subscription in enumerate(subscriptions):
        for clause in reader.clauses(subscription):
            owners.append(ordinal)
            read.append(clause)
    owner = np.array(owners, np.int32)
    uses = Uses.of(reader.vocabulary, read)
    rows = number_rows(reader.vocabulary, uses.inline, statistics)
    eager = {rows.row[p] for p in uses.shared if rows.row[p] >= 0}
    leaves = reader.leaves
    once = {rows.row[p] for p in uses.once}
    compiler = Compiler(rows, eager, once, leaves.met)
    clauses = [compiler.compile(clause) for clause in read]
    points = np.array([score_term(1.0, s.priority) for s in subscriptions], np.int64)
    postings, general = lay_out(rows, compiler, clauses, owner, points, leaves.met)
    scores = _scores([clauses[number] for number in general], owner[general], points, leaves, rows.term_ordinal)
    sizes = Sizes(
        len(subscriptions),
        max((part.depth for clause in clauses for part in clause.parts), default=0),
        max((clause.score_depth for clause in clauses), default=0),
    )
    posted = np.unique(np.fromiter(chain.from_iterable(clause.access for clause in clauses), np.int32))
    return rows.arrays | postings | scores | _wakers(rows, posted, eager) | {"sizes": np.array(sizes, np.int64)}


class Uses(NamedTuple):
    """How predicates are used.

    Attributes
    ----------
    inline, shared
        Lists of values that need no row, and such that need one that is always at hand.
    once
        Ranges that one literal alone names.
    """

    inline: Collection[int]
    shared: Collection[int]
    once: Collection[int]

    @classmethod
    def of(cls, vocabulary: Vocabulary, clauses: Sequence[Clause]) -> Uses:
        """Count the uses; below the top of a clause a list needs a row."""
        top = array("i")
        nested = array("i")
        for clause in clauses:
            for arg in clause.args:
                if isinstance(arg, Test):
                    top.append(arg.literal >> 1)
                else:
                    nested.extend(_tested(arg))
            if clause.weighing is not None:
                for node in clause.weighing.nodes:
                    nested.extend(_tested(node))
        size = len(vocabulary.predicates)
        deep = np.bincount(np.frombuffer(nested, np.int32), minlength=size) if nested else np.zeros(size, np.int64)
        all_ = deep + (np.bincount(np.frombuffer(top, np.int32), minlength=size) if top else 0)
        lists = {i: len(p.terms) for i, p in enumerate(vocabulary.predicates) if type(p) is OneOf}
        return cls(
            {i for i, n in lists.items() if 0 < n <= INLINE_TERMS and not deep[i] and all_[i] < SHARED_USES},
            {i for i in lists if all_[i] >= SHARED_USES},
            {i for i, p in enumerate(vocabulary.predicates) if type(p) is Inside and all_[i] == 1 and not deep[i]},
        )


def _tested(node: Node) -> Iterator[int]:
    """Yield the predicates that a tree tests."""
    if isinstance(node, Test):
        yield node.literal >> 1
    elif isinstance(node, Branch):
        for branch in postorder(node):
            yield from (test.literal >> 1 for test in branch.args if isinstance(test, Test))


def _scores(clauses: Sequence[Program], owner: Int32s, points: Int64s, leaves: Leaves, ordinals: Int32s) -> Arrays:
    """Return the parts of `index.block.layout.ScoreArrays` for the clauses of general records."""
    number: dict[int, int] = {}
    program, lengths = array("i"), array("i")
    for clause in clauses:
        score = clause.score
        if clause.scoring == SUM:
            score = [number.setdefault(leaf, len(number)) for leaf in score]
        elif clause.scoring == TREE:
            score = _renumbered(score, number)
        elif clause.scoring == SHARE:
            score = score[:4] + _renumbered(score[4:], number)
        program.extend(score)
        lengths.append(len(score))
    return leaves.arrays(number, ordinals) | {
        "clause_owner": owner,
        "clause_scoring": np.array([clause.scoring for clause in clauses], np.uint8),
        "clause_points": np.array([clause.fixed for clause in clauses], np.int64) + points[owner],
        "score_start": starts_of(lengths, len(clauses)),
        "score_program": np.array(program, np.int32),
        "score_plain": np.array([clause.varying for clause in clauses], np.int32),
        "owner_points": points if points.any() else np.zeros(0, np.int64),
    }


def _renumbered(program: Sequence[int], number: dict[int, int]) -> list[int]:
    """Return a tree's program with its leaves numbered as they are stored; each literal is followed by one."""
    words: list[int] = []
    place = 0
    while place < len(program):
        word = program[place]
        words.append(word)
        if word >= 0:
            place += 1
            leaf = program[place]
            words.append(number.setdefault(leaf, len(number)) if leaf >= 0 else leaf)
        elif word == ADD:
            words += program[place + 1 : place + 3]
            place += 2
        place += 1
    return words


def _wakers(rows: Rows, posted: Int32s, eager: Collection[int]) -> Arrays:
    """Return by which terms and ladders the derived rows are found that must be set before the walk."""
    early = np.union1d(posted, np.fromiter(eager, np.int32, len(eager)))
    ins = early[(early >= rows.first_in) & (early < rows.first_range)] - rows.first_in
    ranges = early[(early >= rows.first_range) & (early < rows.count)] - rows.first_range
    lengths = np.diff(rows.arrays["in_start"])[ins]
    terms = rows.arrays["in_term"][places_of(rows.arrays["in_start"][ins], lengths)]
    ladders = sum(len(rows.arrays[f"{kind}_attribute"]) for kind in ("number", "text", "member"))
    term_start, by_term = _grouped(terms, np.repeat(ins, lengths), len(rows.term_ordinal))
    ladder_start, by_ladder = _grouped(rows.arrays["range_ladder"][ranges], ranges, ladders)
    return {
        "term_in_start": term_start,
        "term_in": by_term,
        "ladder_range_start": ladder_start,
        "ladder_range": by_ladder,
        "ladder_range_reach": reach(rows.arrays["range_high"][by_ladder]),
    }


def _grouped(group: Int32s, member: Int32s, groups: int) -> tuple[Int64s, Int32s]:
    """Return the members group by group, as starts and members."""
    order = np.argsort(group, kind="stable")
    return np.searchsorted(group[order], np.arange(groups + 1)).astype(np.int64), member[order].astype(np.int32)
