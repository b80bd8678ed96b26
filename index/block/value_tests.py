"""Tests of string values that are neither lists nor ranges: regular expressions, and texts to be contained.

Each is put to a distinct value of a block once; what comes out is which rows an entry with that value sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from index.arrays import group
from index.block.ladders import Arrays
from index.block.layout import Int32s, Int64s, TestArrays
from index.block.vocabulary import Fits, Holds, Predicate
from index.byte_rows import ByteRows
from index.engine import Parts
from index.event_block import EventBlock
from index.needles import find_needles, parents
from index.patterns import Patterns
from index.terms import text_bytes


def value_tests(predicates: Sequence[Predicate]) -> tuple[list[Fits | Holds], Arrays]:
    """Return the tests among the predicates in the order of their rows, and the parts of `TestArrays`."""
    patterns = sorted((p for p in predicates if isinstance(p, Fits)), key=lambda p: (p.attribute, p.pattern))
    needles = sorted((p for p in predicates if isinstance(p, Holds)), key=lambda p: (p.attribute, p.text))
    pattern_attribute = np.array([p.attribute for p in patterns], np.int32)
    needle_attribute = np.array([p.attribute for p in needles], np.int32)
    pattern_rows = ByteRows.of([text_bytes(p.pattern) for p in patterns])
    needle_rows = ByteRows.of([text_bytes(p.text) for p in needles])
    needle_attribute.flags.writeable = False
    return [*patterns, *needles], {
        "pattern_attribute": pattern_attribute,
        "pattern_offsets": pattern_rows.offsets,
        "pattern_data": pattern_rows.data,
        "needle_attribute": needle_attribute,
        "needle_offsets": needle_rows.offsets,
        "needle_data": needle_rows.data,
        "needle_parent": parents(needle_attribute, needle_rows),
    }


KIND_BYTES = 1
"""What stands before a text's own bytes in `index.terms.value_bytes`."""


class ValueTests:
    """The tests of one segment.

    Parameters
    ----------
    parts
        The segment's arrays.
    first_row
        The row of the first test.
    """

    def __init__(self, parts: Parts, first_row: int) -> None:
        self._tests = group(TestArrays, parts)
        self._first_pattern = first_row
        self._first_needle = first_row + len(self._tests.pattern_attribute)
        self._needles = ByteRows(self._tests.needle_data, self._tests.needle_offsets)
        self._patterns = _patterns(self._tests)
        self._count = len(self._tests.pattern_attribute) + len(self._tests.needle_attribute)

    def __len__(self) -> int:
        return self._count

    def rows(self, block: EventBlock, attribute: Int32s) -> tuple[Int64s, Int32s]:
        """Return for each of the block's terms the rows of the tests that it satisfies, as starts and rows.

        Parameters
        ----------
        block
            The block, with what the segment derives.
        attribute
            int32 [terms], the segment's ordinal of each term's attribute, -1 where it has none.
        """
        if not self._count:
            return np.zeros(len(block.values) + 1, np.int64), np.zeros(0, np.int32)
        found = (self._fitting(block, attribute), self._holding(block, attribute))
        term, row = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(term, kind="stable")
        return np.searchsorted(term[order], np.arange(len(block.values) + 1)), row[order].astype(np.int32)

    def _fitting(self, block: EventBlock, attribute: Int32s) -> tuple[Int64s, Int64s]:
        """Return the pairs of a term and the row of a pattern that it matches."""
        terms: list[int] = []
        rows: list[int] = []
        asked = np.flatnonzero(np.isin(attribute, list(self._patterns)) & block.is_text)
        for term, of_attribute in zip(asked.tolist(), attribute[asked].tolist(), strict=True):
            first, patterns = self._patterns[of_attribute]
            found = patterns.matching(str(block.values[term]))
            terms += [term] * len(found)
            rows += [self._first_pattern + first + place for place in found]
        return np.array(terms, np.int64), np.array(rows, np.int64)

    def _holding(self, block: EventBlock, attribute: Int32s) -> tuple[Int64s, Int64s]:
        """Return the pairs of a term and the row of a text that it contains."""
        of_needle = self._tests.needle_attribute
        first, stop = (np.searchsorted(of_needle, attribute, side=side) for side in ("left", "right"))
        asked = np.flatnonzero((first < stop) & block.is_text)
        place, needle = find_needles(
            block.keys.take(asked), KIND_BYTES, first[asked], stop[asked], self._needles, self._tests.needle_parent
        )
        return asked[place], needle + self._first_needle


def _patterns(tests: TestArrays) -> dict[int, tuple[int, Patterns]]:
    """Return for each attribute with patterns the place of the first, and the patterns."""
    texts = [
        row.decode("utf-8", "surrogatepass") for row in ByteRows(tests.pattern_data, tests.pattern_offsets).to_list()
    ]
    attributes, starts = np.unique(tests.pattern_attribute, return_index=True)
    cuts = pairwise([*starts.tolist(), len(texts)])
    return {a: (start, Patterns(texts[start:stop])) for a, (start, stop) in zip(attributes.tolist(), cuts, strict=True)}
