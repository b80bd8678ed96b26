"""Ladders: the bounds of ranges in ascending order, so that a value has a rank and a range is an interval of ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from index.block.layout import REACH, Int32s
from index.block.vocabulary import Inside
from index.byte_rows import ByteRows
from index.numbers import NumberPairs
from index.slices import starts_of
from index.terms import text_bytes
from schemas.values import Number

Arrays = dict[str, npt.NDArray[Any]]


def reach(high: Int32s) -> Int32s:
    """Return the greatest of each `REACH` entries."""
    return np.maximum.reduceat(high, np.arange(0, len(high), REACH)) if len(high) else high


class Ladders:
    """The bounds of ranges, per attribute; a value's rank is 2 i + 1 on bound i and 2 i just below it.

    Attributes
    ----------
    count
        How many ladders there are.
    """

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
        self.count = len(ladders)
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
