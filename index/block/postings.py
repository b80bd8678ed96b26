"""Lays records out: what each clause needs, sorted into tiers and groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.block.alike import OwnerLists
from index.block.attribute_marks import AttributeMarks
from index.block.conjunctions import Programs
from index.block.layout import ALL, Bools, Float64s, Int32s, Int64s, UInt16s
from index.block.leaves import LeafTable
from index.block.programs import COPIES
from index.block.record_words import SHARED, Copies, WeightCodes, Written, write_records
from index.block.rows import Arrays, Rows
from index.block.second_rows import second_rows
from index.block.surplus import LEAVES
from index.block.too_large import too_large
from index.slices import places_of, starts_of

TIER_SHARES = (0.01, 0.05, 0.2)
"""Tiers end at these shares of the records, each counted for all its owners, best bounds first."""

_WORDS_LIMIT = 2**31 - 1


def copies_of(programs: Programs) -> Copies:
    """Return the records that clauses need: one for each access row, or one that is shared."""
    rows = np.diff(programs.access_start)
    copies = np.where(rows > COPIES, 1, rows)
    clause = np.repeat(np.arange(len(rows)), copies)
    place = np.arange(len(clause)) - np.repeat(np.cumsum(copies) - copies, copies)
    place[rows[clause] > COPIES] = SHARED
    return Copies(clause, place)


def row_attributes(rows: Rows) -> Int32s:
    """Return the attribute of each row that can score, or -1; rows after those of lists can't."""
    tags, start, term = (rows.arrays[name] for name in ("term_tags", "in_start", "in_term"))
    attribute = np.full(rows.first_range, -1, np.int32)
    attribute[1 : 1 + len(tags)] = tags
    filled = np.flatnonzero(np.diff(start))
    attribute[rows.first_in + filled] = tags[term[start[filled]]]
    return attribute


def lay_out(
    rows: Rows,
    programs: Programs,
    lazy: Bools,
    owners: Int32s,
    lists: OwnerLists,
    points: Int64s,
    leaves: LeafTable,
    marks: AttributeMarks,
) -> tuple[Arrays, Int64s]:
    """Return the parts of `index.block.layout.PostingArrays` and the clauses that general records name.

    Parameters
    ----------
    rows, programs, leaves
        What was compiled.
    lazy
        By row: whether it is derived when first read.
    owners
        int32 [clauses], the subscriptions, of several the first one.
    lists
        All of them, where there are several.
    points
        int64 [subscriptions], the priorities in score units.
    marks
        The attributes by which the clauses score.
    """
    copies = copies_of(programs)
    is_shared = copies.place == SHARED
    row = programs.access[programs.access_start[copies.clause] + copies.place]
    row[is_shared] = ALL
    second = second_rows(programs, copies.clause, row, rows.count)
    row[is_shared] = rows.count
    owner = owners[copies.clause]
    several = np.bincount(owners, minlength=len(points)) > 1
    clause_bound = np.where(marks.leaves > LEAVES, np.inf, programs.bound)
    bound = clause_bound[copies.clause] + np.maximum(points[owner], 0)
    word, its_marks = owner << 1 | several[owner], marks.marks[copies.clause]
    records = Records(row, second, word, lists.number[copies.clause], bound, its_marks)
    posted = records.posted(rows.count, lists)
    codes = WeightCodes.of(leaves)
    attribute = row_attributes(rows)
    written = write_records(programs, copies, second, posted.order, lazy, attribute >= 0, leaves, codes)
    starts, access = programs.access_start, programs.access
    shared = [access[starts[clause] : starts[clause + 1]] for clause in copies.clause[is_shared].tolist()]
    parts: Arrays = {
        "weight_table": codes.table,
        "attribute_limit": marks.limit,
        "row_attribute": attribute,
        "owner_list_start": lists.start,
        "owner_list": lists.owner << 1 | several[np.repeat(lists.owner[lists.start[:-1]], np.diff(lists.start))],
    }
    return records.arrays(posted, written, rows.count, shared) | parts, written.general


class Posted(NamedTuple):
    """The order in which records are posted.

    Attributes
    ----------
    order, place
        int64 [records]: a record's number, and its list, tier by tier; each shared record has a list of its own at the
        end.
    tier_bound
        float64 [tiers].
    """

    order: Int64s
    place: Int64s
    tier_bound: Float64s


class Records(NamedTuple):
    """Records in columns.

    Attributes
    ----------
    row, second, owner
        int32: p, q and the first owner's word; p is the number of rows for shared records.
    owners
        int32: the list of all owners, -1 where there is one.
    bound
        float64.
    marks
        uint16: the attributes by which they score.
    """

    row: Int32s
    second: Int32s
    owner: Int32s
    owners: Int32s
    bound: Float64s
    marks: UInt16s

    def posted(self, rows: int, lists: OwnerLists) -> Posted:
        """Sort the records into tiers, lists and groups."""
        is_shared = self.row == rows
        # by records alone what is popular, and short, would not get its share of the upper tiers
        sizes = np.append(np.diff(lists.start), 1)  # the last one is that of records with one owner, who have list -1
        tier = _tiers(self.bound, sizes[self.owners])
        tier[is_shared] = 0
        tiers = int(tier.max(initial=0)) + 1
        place = tier * rows + self.row
        place[is_shared] = tiers * rows + np.arange(int(is_shared.sum()))
        order = np.lexsort((self.owner, -self.bound, self.second, place))
        bounds = [self.bound[(tier == t) | is_shared].max(initial=0.0) for t in range(tiers)]
        return Posted(order, place[order], np.array(bounds))

    def arrays(self, posted: Posted, written: Written, rows: int, shared: Sequence[Int32s]) -> Arrays:
        """Return the records as they are posted; ``shared`` has the access rows of each shared one."""
        if len(written.words) > _WORDS_LIMIT:
            raise too_large(len(written.words), _WORDS_LIMIT, "words of programs")
        order, place = posted.order, posted.place
        second, lengths, owners = self.second[order], written.lengths[order], self.owners[order]
        marks = self.marks[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (np.diff(place) != 0) | (np.diff(second) != 0)
        first = np.flatnonzero(new)
        word_start = starts_of(lengths, len(order))
        lists = len(posted.tier_bound) * rows
        first_shared = int(np.searchsorted(place[first], lists))
        awake = np.repeat(np.arange(first_shared, first_shared + len(shared)), [len(access) for access in shared])
        shared_row = np.fromiter(chain.from_iterable(shared), np.int32, len(awake))
        by_row = np.argsort(shared_row, kind="stable")
        return {
            "tier_bound": posted.tier_bound,
            "group_start": np.searchsorted(place[first], np.arange(lists + 1)).astype(np.int32),
            "group_second": second[first],
            "group_record": np.append(first, len(order)).astype(np.int32),
            "group_word": word_start[np.append(first, len(order))].astype(np.int32),
            "group_marks": np.bitwise_or.reduceat(marks, first),
            "shared_start": np.searchsorted(shared_row[by_row], np.arange(rows + 1)).astype(np.int64),
            "shared_group": awake[by_row].astype(np.int32),
            "record_owner": np.where(owners >= 0, -1 - owners, self.owner[order]).astype(np.int32),
            "record_bound": rounded_up(self.bound[order]),
            "record_head": written.heads[order].astype(np.uint16),
            "record_marks": marks,
            "words": written.words[places_of(starts_of(written.lengths, len(order))[:-1][order], lengths)],
        }


def _tiers(bound: Float64s, owners: Int64s) -> Int64s:
    """Return each record's tier; records of one bound are in one tier, so one bound alone is one tier."""
    falling = np.argsort(-bound, kind="stable")
    sizes = np.cumsum(owners[falling])
    cuts = np.zeros(0)
    if len(bound):
        cuts = np.unique(bound[falling[np.searchsorted(sizes, [math.ceil(s * sizes[-1]) for s in TIER_SHARES])]])
    tier = len(cuts) - np.searchsorted(cuts, bound, side="right")
    # tiers without records would only be walked in vain
    return np.unique(tier, return_inverse=True)[1].reshape(-1).astype(np.int64)


def rounded_up(bound: Float64s) -> npt.NDArray[np.float32]:
    """Return float32 that are not less."""
    short = bound.astype(np.float32)
    return np.where(short < bound, np.nextafter(short, np.float32(np.inf)), short)
