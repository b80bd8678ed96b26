"""Building: by which attributes each clause scores, and how much any clause gets from an attribute.

They tell what an event can get beyond a record's bound, see `index.block.surplus`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.clauses import Clauses
from index.block.conjunctions import Programs
from index.block.layout import MARKS, Float64s, Int32s, Int64s, UInt16s
from index.kernel import kernel
from index.slices import places_of


class AttributeMarks(NamedTuple):
    """What is known of attributes.

    Attributes
    ----------
    marks
        uint16 [clauses]: bit a modulo `MARKS` for each attribute a by which the clause scores.
    limit
        float64 [attributes]: no clause gets more from the attribute for a plain event, in units of 1 / SCORE_SCALE.
    leaves
        int32 [clauses]: by how many leaves the clause scores.
    """

    marks: UInt16s
    limit: Float64s
    leaves: Int32s

    @classmethod
    def of(
        cls, clauses: Clauses, programs: Programs, bound: Int64s, attribute: Int32s, attributes: int
    ) -> AttributeMarks:
        """Look through the leaves of all clauses.

        Parameters
        ----------
        clauses, programs
            The clauses, compiled.
        bound, attribute
            int64, int32 [leaves]: what a leaf gives a plain event at most; what it is about, -1 if it lists nothing.
        attributes
            How many attributes there are.
        """
        count = len(clauses.owner)
        made = cls(np.zeros(count, np.uint16), np.zeros(attributes), np.zeros(count, np.int32))
        plain = np.repeat(np.arange(count), np.diff(clauses.start))
        trees = np.fromiter(clauses.trees, np.int64, len(clauses.trees))
        lengths = np.diff(programs.score_start)[trees]
        words = places_of(programs.score_start[trees], lengths)
        for clause, leaf, scores in (
            (plain, clauses.leaf, clauses.leaf >= 0),
            (np.repeat(trees, lengths), programs.score[words], programs.names_leaf[words]),
        ):
            mark_clauses(clause[scores], leaf[scores], bound, attribute, np.zeros(attributes, np.int64), made)
        return made


@kernel
def mark_clauses(clause, leaf, bound, attribute, sums, made):  # type: ignore[no-untyped-def]
    """Mark the clauses, whose leaves stand side by side; ``sums`` is zero before and after."""
    i = 0
    while i < len(clause):
        begin = i
        while i < len(clause) and clause[i] == clause[begin]:
            about = np.int64(attribute[leaf[i]])
            if about >= 0:
                sums[about] += bound[leaf[i]]
                made.marks[clause[begin]] |= np.uint16(1 << about % MARKS)
                made.limit[about] = max(made.limit[about], np.float64(sums[about]))
            i += 1
        made.leaves[clause[begin]] = i - begin
        for j in range(begin, i):
            if attribute[leaf[j]] >= 0:
                sums[attribute[leaf[j]]] = 0
