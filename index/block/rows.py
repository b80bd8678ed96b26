"""From a vocabulary to rows: every predicate gets the number of its mask, and the arrays that say how to fill it.

::

    row 0       all events
    row 1 + t   term t; terms of one attribute stand side by side
    then        one row for each ``exists``
    then        one row for each test of string values
    then        one row for each ``in`` of several terms
    then        one row for each range, and for each list that some value is to be outside of

The first four kinds are set directly by an event's entries, the last two are derived from those when needed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from index.block.frequencies import Frequencies
from index.block.ladders import Arrays, Ladders
from index.block.layout import ALL, ROW_LIMIT, Int32s, Int64s
from index.block.too_large import too_large
from index.block.value_tests import value_tests
from index.block.vocabulary import Everything, Inside, OneOf, Outside, Predicate, Present, Term, Vocabulary
from index.byte_rows import ByteRows
from index.observed.statistics import EventStatistics
from index.slices import starts_of
from index.terms import Dictionary, value_bytes

__all__ = ["Arrays", "Ladders", "Rows", "number_rows"]

NO_ROW = -1

LONG_LIST = 64
"""Of a list longer than this, the values at hand are looked up, when they are fewer, rather than its terms' masks."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Numbers of a finished vocabulary.

    Attributes
    ----------
    count
        How many rows there are.
    term_ordinal
        int32 [terms], the ordinal in the segment of the vocabulary's term.
    row
        Predicate to row, `NO_ROW` for a list that has its terms' rows only.
    terms
        Predicate to the rows of its terms when it is a `OneOf`, else empty.
    frequency
        Predicate to the share of events in which it is expected to hold.
    first_in, first_range
        Where the ``in`` rows and the range rows begin.
    arrays
        The parts: dictionaries, ladders and rows.
    """

    count: int
    term_ordinal: Int32s
    row: list[int]
    terms: list[Sequence[int]]
    frequency: list[float]
    first_in: int
    first_range: int
    arrays: Arrays


def number_rows(vocabulary: Vocabulary, inline: Container[int] = (), statistics: EventStatistics | None = None) -> Rows:
    """Return the rows of a vocabulary; the lists that ``inline`` names get none, only those of their terms."""
    predicates = list(vocabulary.predicates)
    rowless = {p for i, p in enumerate(predicates) if i in inline}
    present = [p for p in predicates if type(p) is Present]
    lists = [p for p in predicates if type(p) is OneOf and p not in rowless]
    ranges = [p for p in predicates if type(p) is Inside]
    outsides = [p for p in predicates if type(p) is Outside]
    ordinals, arrays = _dictionaries(vocabulary)
    tests, test_arrays = value_tests(predicates)
    ladders = Ladders(ranges)
    ranges.sort(key=ladders.cut)
    members = sorted({p.attribute for p in outsides} | {p.attribute for p in lists if len(p.terms) > LONG_LIST})
    first_in = 1 + len(ordinals) + len(present) + len(tests)
    first_range = first_in + len(lists)
    count = first_range + len(ranges) + len(outsides)
    if count >= ROW_LIMIT:
        raise too_large(count, ROW_LIMIT - 1, "distinct predicates and values")
    term_row = (ordinals + 1).tolist()
    place: dict[Predicate, int] = {Everything(): ALL}
    in_order: tuple[Sequence[Predicate], ...] = (present, tests, lists, ranges, outsides)
    place |= zip(chain.from_iterable(in_order), range(1 + len(ordinals), count), strict=True)
    frequencies = Frequencies(vocabulary, ladders, statistics)
    return Rows(
        count,
        ordinals,
        [term_row[p.term] if isinstance(p, Term) else place.get(p, NO_ROW) for p in predicates],
        [[term_row[t] for t in p.terms] if isinstance(p, OneOf) else () for p in predicates],
        [frequencies.of(p) for p in predicates],
        first_in,
        first_range,
        arrays
        | test_arrays
        | ladders.arrays()
        | _list_arrays(ordinals, lists, members, ladders.count)
        | _range_arrays(ordinals, ranges, outsides, members, ladders)
        | {"exists_attribute": np.array([p.attribute for p in present], np.int32)},
    )


def _list_arrays(ordinals: Int32s, lists: Sequence[OneOf], members: Sequence[int], first_member: int) -> Arrays:
    start, term = _sorted_lists(ordinals, [p.terms for p in lists])
    ladder = {attribute: first_member + i for i, attribute in enumerate(members)}
    long = [ladder[p.attribute] if len(p.terms) > LONG_LIST else -1 for p in lists]
    return {"in_start": start, "in_term": term, "in_ladder": np.array(long, np.int32)}


def _range_arrays(
    ordinals: Int32s, ranges: Sequence[Inside], outsides: Sequence[Outside], members: Sequence[int], ladders: Ladders
) -> Arrays:
    """Return the parts of range rows; a term's rank on its member ladder is its ordinal + 1."""
    cuts = [ladders.cut(p) for p in ranges]
    cuts += [(ladders.count + bisect_left(members, p.attribute), 0, 0) for p in outsides]
    start, term = _sorted_lists(ordinals, [p.terms for p in outsides])
    ladder, low, high = np.array(cuts, np.int32).reshape(-1, 3).T.copy()
    return {
        "range_ladder": ladder,
        "range_low": low,
        "range_high": high,
        "outside_start": start,
        "outside_rank": term + np.int32(1),
        "member_attribute": np.array(members, np.int32),
    }


def _dictionaries(vocabulary: Vocabulary) -> tuple[Int32s, Arrays]:
    """Return the terms' ordinals, ascending by attribute, and the dictionaries of attributes and terms."""
    attribute = np.array([a for a, _, _ in vocabulary.terms], np.int32)
    order = np.argsort(attribute, kind="stable")
    ordinals = np.empty(len(order), np.int32)
    ordinals[order] = np.arange(len(order), dtype=np.int32)
    keys = [value_bytes(value) for _, _, value in vocabulary.terms]
    names = ByteRows.of([value_bytes(name) for name in vocabulary.attributes])
    attributes = Dictionary.build(np.zeros(len(names), np.int32), names)
    terms = Dictionary.build(attribute[order], ByteRows.of([keys[i] for i in order.tolist()]))
    return ordinals, attributes.parts("attribute") | terms.parts("term")


def _sorted_lists(ordinals: Int32s, lists: Sequence[tuple[int, ...]]) -> tuple[Int64s, Int32s]:
    """Return the lists of terms as starts and ordinals, ascending within a list."""
    starts = starts_of(map(len, lists), len(lists))
    flat = ordinals[np.fromiter(chain.from_iterable(lists), np.int64, int(starts[-1]))]
    owner = np.repeat(np.arange(len(lists)), np.diff(starts))
    return starts, flat[np.lexsort((flat, owner))]
