"""From a vocabulary to rows: every predicate gets the number of its mask, and the arrays that say how to fill it.

::

    row 0       all events
    row 1 + t   term t; terms of one attribute stand side by side
    then        one row for each ``exists``
    then        one row for each ``in`` of several terms
    then        one row for each range

The first three kinds are set directly by an event's entries, the last two are derived from those when needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from index.block.frequencies import Frequencies
from index.block.layout import ALL, ROW_LIMIT, Int32s, Int64s
from index.block.vocabulary import Everything, Inside, OneOf, Present, Term, Vocabulary
from index.byte_rows import ByteRows
from index.numbers import NumberPairs
from index.terms import Dictionary, text_bytes, value_bytes
from schemas.errors import TocsinError
from schemas.values import Number

Arrays = dict[str, npt.NDArray[Any]]


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
        Predicate to row.
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


def number_rows(vocabulary: Vocabulary) -> Rows:
    """Return the rows of a vocabulary."""
    predicates = list(vocabulary.predicates)
    present = [p.attribute for p in predicates if type(p) is Present]
    lists = [p.terms for p in predicates if type(p) is OneOf]
    ranges = [p for p in predicates if type(p) is Inside]
    ordinals, arrays = _dictionaries(vocabulary)
    ladders = Ladders(ranges)
    in_start, in_term = _sorted_lists(ordinals, lists)
    cuts = np.array([ladders.cut(p) for p in ranges], np.int32).reshape(-1, 3)
    first_in = 1 + len(ordinals) + len(present)
    first_range = first_in + len(lists)
    count = first_range + len(ranges)
    if count >= ROW_LIMIT:
        raise TocsinError(
            f"{count} distinct predicates are too many for one segment of at most {ROW_LIMIT}. Build smaller segments."
        )
    next_row: dict[type, int] = {Present: 1 + len(ordinals), OneOf: first_in, Inside: first_range}
    term_row = (ordinals + 1).tolist()
    rows: list[int] = []
    terms: list[Sequence[int]] = []
    for predicate in predicates:
        kind: type = type(predicate)
        terms.append([term_row[t] for t in predicate.terms] if isinstance(predicate, OneOf) else ())
        if isinstance(predicate, Term):
            rows.append(term_row[predicate.term])
        elif isinstance(predicate, Everything):
            rows.append(ALL)
        else:
            rows.append(next_row[kind])
            next_row[kind] += 1
    frequencies = Frequencies(vocabulary, ladders)
    arrays |= ladders.arrays()
    arrays |= {"exists_attribute": np.array(present, np.int32), "in_start": in_start, "in_term": in_term}
    arrays |= {"range_ladder": cuts[:, 0].copy(), "range_low": cuts[:, 1].copy(), "range_high": cuts[:, 2].copy()}
    frequency = [frequencies.of(p) for p in predicates]
    return Rows(count, ordinals, rows, terms, frequency, first_in, first_range, arrays)


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


def starts_of(lengths: Iterable[int], count: int) -> Int64s:
    """Return the running sum of the lengths, from 0."""
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, count), out=starts[1:])
    return starts


class Ladders:
    """The bounds of ranges, per attribute; a value's rank is 2 i + 1 on bound i and 2 i just below it."""

    def __init__(self, ranges: Iterable[Inside]) -> None:
        numbers: dict[int, set[Number]] = defaultdict(set)
        texts: dict[int, set[str]] = defaultdict(set)
        for inside in ranges:
            for bound in inside.bounds:
                if isinstance(bound, str):
                    texts[inside.attribute].add(bound)
                else:
                    numbers[inside.attribute].add(bound)
        # Python compares int with float exactly and strings by code points, which is the order that kernels keep.
        self._numbers = {attribute: sorted(numbers[attribute]) for attribute in sorted(numbers)}
        self._texts = {attribute: sorted(texts[attribute]) for attribute in sorted(texts)}
        self._ladder = {(attribute, False): i for i, attribute in enumerate(self._numbers)}
        self._ladder |= {(attribute, True): len(numbers) + i for i, attribute in enumerate(self._texts)}
        ladders: list[Sequence[str | Number]] = [*self._numbers.values(), *self._texts.values()]
        self._place = [{bound: i for i, bound in enumerate(bounds)} for bounds in ladders]

    def cut(self, inside: Inside) -> tuple[int, int, int]:
        """Return a range's ladder and the ranks that lie inside it, first and last."""
        ladder = self._ladder[inside.attribute, inside.text]
        place = self._place[ladder]
        low, high = 0, 2 * len(place)
        if inside.ge is not None:
            low = 2 * place[inside.ge] + 1
        if inside.gt is not None:
            low = max(low, 2 * place[inside.gt] + 2)
        if inside.le is not None:
            high = 2 * place[inside.le] + 1
        if inside.lt is not None:
            high = min(high, 2 * place[inside.lt])
        return ladder, low, high

    def share(self, inside: Inside) -> float:
        """Return the share of its ladder's ranks that a range holds."""
        ladder, low, high = self.cut(inside)
        return max(0, high - low + 1) / (2 * len(self._place[ladder]) + 1)

    def arrays(self) -> Arrays:
        """Return the parts of `index.block.layout.LadderArrays`."""
        pairs = NumberPairs.of(list(chain.from_iterable(self._numbers.values())))
        texts = ByteRows.of([text_bytes(text) for text in chain.from_iterable(self._texts.values())])
        return {
            "number_attribute": np.array(list(self._numbers), np.int32),
            "number_start": starts_of(map(len, self._numbers.values()), len(self._numbers)),
            "number_double": pairs.double,
            "number_remainder": pairs.remainder,
            "text_attribute": np.array(list(self._texts), np.int32),
            "text_start": starts_of(map(len, self._texts.values()), len(self._texts)),
            "text_offsets": texts.offsets,
            "text_data": texts.data,
        }
