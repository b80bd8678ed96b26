"""Builds the arrays of a block segment: reads the subscriptions once, numbers the rows, then compiles every clause."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from index.block.alike import joined
from index.block.attribute_marks import AttributeMarks
from index.block.clauses import ClauseReader, Clauses
from index.block.conjunctions import Programs, compile_clauses
from index.block.covers import add_covers
from index.block.ladders import reach
from index.block.layout import Int32s, Int64s, Sizes, UInt8s
from index.block.leaves import LeafTable, Leaves
from index.block.literals import LiteralTable
from index.block.nodes import Branch, Node, Test, postorder
from index.block.postings import lay_out
from index.block.programs import Compiler
from index.block.rows import Arrays, Rows, number_rows
from index.block.vocabulary import Inside, OneOf, Vocabulary
from index.observed.statistics import EventStatistics
from index.slices import places_of, starts_of
from index.uncollected import no_garbage_collection
from schemas.records import Subscription
from schemas.values import score_term

INLINE_TERMS = 4
"""A list of at most so many terms that few clauses name is written as its terms' rows: those are few and hot."""

SHARED_USES = 4
"""A list that so many clauses name gets a row that is set before the walk, such a range a row that is derived once."""


def build_parts(subscriptions: Sequence[Subscription], statistics: EventStatistics | None = None) -> Arrays:
    """Return the parts of a segment, `index.block.layout`; ordinal i is the i-th subscription."""
    with no_garbage_collection():  # it would take a third of the time
        return _build_parts(subscriptions, statistics)


def _build_parts(subscriptions: Sequence[Subscription], statistics: EventStatistics | None) -> Arrays:
    reader = ClauseReader()
    every = reader.read(subscriptions)
    leaves = reader.leaves.table()
    points = np.array([score_term(1.0, s.priority) for s in subscriptions], np.int64)
    clauses, lists = joined(every, leaves, points)
    uses = Uses.of(reader.vocabulary, clauses)
    covers = add_covers(reader.vocabulary, uses.intervals)
    rows = number_rows(reader.vocabulary, uses.inline, statistics)
    eager = {rows.row[p] for p in (*uses.shared, *covers.values()) if rows.row[p] >= 0}
    intervals = {rows.row[p]: rows.row[covers.get(p, p)] for p in uses.intervals}
    lazy = np.arange(rows.count) >= rows.first_in
    lazy[list(eager)] = False
    compiler = Compiler(rows, eager, intervals, reader.leaves.met)
    programs = compile_clauses(clauses, compiler, LiteralTable.of(rows, lazy, intervals), leaves)
    about = reader.leaves.attributes(rows.arrays["term_tags"][rows.term_ordinal])
    marks = AttributeMarks.of(clauses, programs, leaves.bound, about, len(reader.vocabulary.attributes))
    postings, general = lay_out(rows, programs, lazy, clauses.owner, lists, points, leaves, marks)
    scores = _scores(programs, general, clauses.owner[general], points, leaves)
    scores |= reader.leaves.arrays(scores.pop("chosen").tolist(), rows.term_ordinal)
    sizes = Sizes(len(subscriptions), programs.depth, programs.score_depth)
    wakers = _wakers(rows, np.unique(programs.access), eager)
    sums = _sums(reader.vocabulary, reader.leaves)
    return rows.arrays | postings | scores | wakers | {"attribute_sums": sums, "sizes": np.array(sizes, np.int64)}


class Uses(NamedTuple):
    """How predicates are used.

    Attributes
    ----------
    inline, shared
        Lists of values that need no row, and such that need one that is always at hand.
    intervals
        Ranges that so few literals name that each holds a copy of the interval.
    """

    inline: Collection[int]
    shared: Collection[int]
    intervals: Collection[int]

    @classmethod
    def of(cls, vocabulary: Vocabulary, clauses: Clauses) -> Uses:
        """Count the uses; below the top of a clause a list needs a row."""
        top, nested = array("i"), array("i")
        for clause in clauses.trees.values():
            for arg in clause.args:
                if isinstance(arg, Test):
                    top.append(arg.literal >> 1)
                else:
                    nested.extend(_tested(arg))
            if clause.weighing is not None:
                for node in clause.weighing.nodes:
                    nested.extend(_tested(node))
        size = len(vocabulary.predicates)
        deep = np.bincount(np.array(nested, np.int64), minlength=size)
        all_ = deep + np.bincount(np.concatenate([clauses.literal >> 1, np.array(top, np.int32)]), minlength=size)
        lists = {i: len(p.terms) for i, p in enumerate(vocabulary.predicates) if type(p) is OneOf}
        return cls(
            {i for i, n in lists.items() if 0 < n <= INLINE_TERMS and not deep[i] and all_[i] < SHARED_USES},
            {i for i in lists if all_[i] >= SHARED_USES},
            {
                i
                for i, p in enumerate(vocabulary.predicates)
                if type(p) is Inside and 0 < all_[i] < SHARED_USES and not deep[i]
            },
        )


def _tested(node: Node) -> Iterator[int]:
    """Yield the predicates that a tree tests."""
    if isinstance(node, Test):
        yield node.literal >> 1
    elif isinstance(node, Branch):
        for branch in postorder(node):
            yield from (test.literal >> 1 for test in branch.args if isinstance(test, Test))


def _sums(vocabulary: Vocabulary, leaves: Leaves) -> UInt8s:
    """Return which attributes have a leaf that may get the weights of several values."""
    sums, long = np.zeros(len(vocabulary.attributes), np.uint8), leaves.long_lists()
    attributes = {p.attribute for number, p in enumerate(vocabulary.predicates) if number in long and type(p) is OneOf}
    sums[list(attributes)] = 1
    return sums


def _scores(programs: Programs, general: Int64s, owner: Int32s, points: Int64s, leaves: LeafTable) -> Arrays:
    """Return the parts of `index.block.layout.ScoreArrays` for the clauses of general records, and the chosen leaves.

    Leaves are numbered as the programs name them; an unweighted list is one leaf wherever it stands.
    """
    starts = programs.score_start
    lengths = np.diff(starts)[general]
    taken = places_of(starts[general], lengths)
    program, is_leaf = programs.score[taken], programs.names_leaf[taken]
    named = program[is_leaf].astype(np.int64)
    key = np.where(leaves.shared[named], named, len(leaves.shared) + np.arange(len(named)))
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    program[is_leaf] = np.argsort(order)[place.reshape(-1)]
    return {
        "chosen": named[first[order]],
        "clause_owner": owner,
        "clause_scoring": programs.scoring[general],
        "clause_points": programs.fixed[general] + points[owner],
        "score_start": starts_of(lengths, len(general)),
        "score_program": program,
        "score_plain": programs.varying[general],
        "owner_points": points if points.any() else np.zeros(0, np.int64),
    }


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
