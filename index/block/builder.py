"""Builds the arrays of a block segment: reads the subscriptions once, numbers the rows, then compiles every clause."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from index.block.clauses import ClauseReader, Leaves, Node
from index.block.layout import EVEN_SUM, SUM, Int32s, Int64s, Sizes
from index.block.programs import Compiler
from index.block.rows import Arrays, Rows, number_rows, starts_of
from schemas.records import Subscription
from schemas.values import SCORE_SCALE, score_term


def build_parts(subscriptions: Sequence[Subscription]) -> Arrays:
    """Return the parts of a segment, `index.block.layout`; ordinal i is the i-th subscription."""
    with _no_garbage_collection():
        return _build_parts(subscriptions)


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


def _build_parts(subscriptions: Sequence[Subscription]) -> Arrays:
    reader = ClauseReader()
    owners = array("i")
    clauses: list[list[Node]] = []
    for ordinal, subscription in enumerate(subscriptions):
        for clause in reader.clauses(subscription):
            owners.append(ordinal)
            clauses.append(clause)
    rows = number_rows(reader.vocabulary)
    programs = _Programs(rows, np.array(owners, np.int32), clauses)
    leaves = _leaves(reader.leaves, rows.term_ordinal)
    points = np.array([score_term(1.0, s.priority) for s in subscriptions], np.int64)
    sizes = Sizes(len(subscriptions), programs.match_depth, programs.score_depth)
    return (
        rows.arrays
        | leaves
        | programs.postings(rows.count)
        | _wakers(rows, programs)
        | programs.scores(points, leaves)
        | {"sizes": np.array(sizes, np.int64)}
    )


class _Programs:
    """The compiled clauses in columns, in the order of their access rows; those with several rows come last."""

    def __init__(self, rows: Rows, owners: Int32s, clauses: Sequence[Sequence[Node]]) -> None:
        compiler = Compiler(rows)
        self._match, self._score = array("i"), array("i")
        match_lengths, score_lengths = array("i"), array("i")
        access, scoring = array("i"), bytearray()
        shared: list[tuple[int, tuple[int, ...]]] = []
        self.match_depth = self.score_depth = 0
        for number, clause in enumerate(clauses):
            program = compiler.compile(clause)
            self._match.extend(program.match)
            self._score.extend(program.score)
            match_lengths.append(len(program.match))
            score_lengths.append(len(program.score))
            scoring.append(program.scoring)
            self.match_depth = max(self.match_depth, program.match_depth)
            self.score_depth = max(self.score_depth, program.score_depth)
            if len(program.access) == 1:
                access.append(program.access[0])
            else:
                access.append(rows.count)
                shared.append((number, program.access))
        row = np.array(access, np.int32)
        order = np.argsort(row, kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        self.row = row[order]
        self._order = order
        self._owners = owners
        self._scoring = np.frombuffer(bytes(scoring), np.uint8)[order]
        self._match_lengths = np.array(match_lengths, np.int64)
        self._score_lengths = np.array(score_lengths, np.int64)
        self.shared_row = np.array([r for _, access_rows in shared for r in access_rows], np.int32)
        self.shared_clause = np.repeat(place[[n for n, _ in shared]], [len(a) for _, a in shared]).astype(np.int32)

    def postings(self, rows: int) -> Arrays:
        """Return the parts of `index.block.layout.PostingArrays`."""
        start, program = _taken(self._match, self._match_lengths, self._order)
        by_row = np.argsort(self.shared_row, kind="stable")
        return {
            "post_start": np.searchsorted(self.row, np.arange(rows + 1)).astype(np.int32),
            "shared_start": np.searchsorted(self.shared_row[by_row], np.arange(rows + 1)),
            "shared_clause": self.shared_clause[by_row],
            "program_start": start,
            "program": program,
            "clause_owner": self._owners[self._order],
        }

    def scores(self, owner_points: Int64s, leaves: Arrays) -> Arrays:
        """Return the rest of the parts of `index.block.layout.ScoreArrays`: all but the leaves."""
        start, program = _taken(self._score, self._score_lengths, self._order)
        owner = self._owners[self._order]
        scoring, points = _points(self._scoring, start, program, leaves)
        return {
            "clause_scoring": scoring,
            "clause_points": points + owner_points[owner],
            "score_start": start,
            "score_program": program,
            "owner_points": owner_points,
            "owner_several": (np.bincount(owner, minlength=len(owner_points)) > 1).astype(np.uint8),
        }


def _points(
    scoring: npt.NDArray[np.uint8], start: Int64s, program: Int32s, leaves: Arrays
) -> tuple[npt.NDArray[np.uint8], Int64s]:
    """Tell even sums from other sums, and return with the scoring what a plain event scores by an even sum.

    A plain event has weight 1 and at most one value in a leaf's list, so with one weight for the whole list the score
    is known beforehand.
    """
    weight, leaf_start = leaves["leaf_weight"], leaves["leaf_start"]
    filled = leaf_start[:-1] < leaf_start[1:]
    first = np.zeros(len(filled))
    first[filled] = weight[leaf_start[:-1][filled]]
    uneven = np.zeros(len(filled), np.bool_)
    uneven[np.repeat(np.arange(len(filled)), np.diff(leaf_start))[weight != np.repeat(first, np.diff(leaf_start))]] = (
        True
    )
    leaf_points = np.rint(first * SCORE_SCALE).astype(np.int64)
    clause = np.repeat(np.arange(len(scoring)), np.diff(start))
    of_sum = scoring[clause] == SUM
    clause, leaf = clause[of_sum], program[of_sum]
    points = np.zeros(len(scoring), np.int64)
    np.add.at(points, clause, leaf_points[leaf])
    even = scoring == SUM
    even[clause[uneven[leaf]]] = False
    points[~even] = 0
    return np.where(even, np.uint8(EVEN_SUM), scoring), points


def _leaves(leaves: Leaves, ordinals: Int32s) -> Arrays:
    """Return the leaves in columns, each one's terms ascending by their ordinals."""
    start = np.array(leaves.starts, np.int64)
    term = ordinals[np.array(leaves.terms, np.int64)]
    order = np.lexsort((term, np.repeat(np.arange(len(start) - 1), np.diff(start))))
    return {"leaf_start": start, "leaf_term": term[order], "leaf_weight": np.array(leaves.weights, np.float64)[order]}


def _wakers(rows: Rows, programs: _Programs) -> Arrays:
    """Return by which terms and ladders the derived rows with postings are found."""
    posted = np.unique(np.concatenate([programs.row, programs.shared_row]))
    ins = posted[(posted >= rows.first_in) & (posted < rows.first_range)] - rows.first_in
    ranges = posted[(posted >= rows.first_range) & (posted < rows.count)] - rows.first_range
    lengths = np.diff(rows.arrays["in_start"])[ins]
    terms = rows.arrays["in_term"][_places(rows.arrays["in_start"][ins], lengths)]
    ladders = len(rows.arrays["number_attribute"]) + len(rows.arrays["text_attribute"])
    term_start, by_term = _grouped(terms, np.repeat(ins, lengths), len(rows.term_ordinal))
    ladder_start, by_ladder = _grouped(rows.arrays["range_ladder"][ranges], ranges, ladders)
    return {
        "term_in_start": term_start,
        "term_in": by_term,
        "ladder_range_start": ladder_start,
        "ladder_range": by_ladder,
    }


def _grouped(group: Int32s, member: Int32s, groups: int) -> tuple[Int64s, Int32s]:
    """Return the members group by group, as starts and members."""
    order = np.argsort(group, kind="stable")
    return np.searchsorted(group[order], np.arange(groups + 1)).astype(np.int64), member[order].astype(np.int32)


def _places(starts: Int64s, lengths: Int64s) -> Int64s:
    """Return the indices of the slices that begin at ``starts`` and have these lengths, one slice after the other."""
    ends = np.cumsum(lengths)
    places: Int64s = np.arange(int(lengths.sum())) + np.repeat(starts - (ends - lengths), lengths)
    return places


def _taken(words: array[int], lengths: Int64s, order: Int64s) -> tuple[Int64s, Int32s]:
    """Return starts and words of the programs in another order."""
    starts = starts_of(lengths, len(lengths))
    taken = lengths[order]
    return starts_of(taken, len(taken)), np.array(words, np.int32)[_places(starts[:-1][order], taken)]
