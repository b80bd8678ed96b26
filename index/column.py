"""A column: values of attributes over one event block, interned, and which events have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.exact_numbers import ExactNumbers

Int32s = npt.NDArray[np.int32]
Float64s = npt.NDArray[np.float64]


class Entries(NamedTuple):
    """Which events have which values of a column.

    Attributes
    ----------
    event
        int32 [entries], ascending for each member of the family.
    place
        int32 [entries], a value of the column; none twice in an event.
    weight
        float64 [entries], what the heaviest of the values weighs that it was derived from.
    """

    event: Int32s
    place: Int32s
    weight: Float64s

    def take(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Entries:
        """Return some of the entries."""
        return Entries(self.event[chosen], self.place[chosen], self.weight[chosen])


@dataclass(frozen=True, eq=False)
class Column:
    """A family's attributes over one block, or some of them, or one of the block's own without its booleans.

    Attributes
    ----------
    numbers, texts
        The values, numbers before texts, distinct for each member.
    member
        int32 [values], whose value it is, ascending among numbers as among texts.
    entries
        Who has them, member by member.
    """

    numbers: ExactNumbers
    texts: list[str]
    member: Int32s
    entries: Entries

    def __len__(self) -> int:
        return len(self.member)
