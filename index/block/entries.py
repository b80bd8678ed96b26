"""What events bring that scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.layout import Bools, Float64s, Int32s, Int64s
from index.kernel import inlined, kernel


class Entries(NamedTuple):
    """What of the events can score.

    Attributes
    ----------
    plain
        bool [events]: whether an event gets from each leaf that it satisfies the weight of one value and nothing else.
    start, term, weight
        int64 [events + 1], int32, float64: an event's terms that the segment knows and its weights of them. An
        attribute's terms stand side by side. They ascend in a segment with score programs, and in an event that has two
        values of an attribute.
    """

    plain: Bools
    start: Int64s
    term: Int32s
    weight: Float64s


@kernel
def weigh(first, members, entries, row_attribute, weight):  # type: ignore[no-untyped-def]
    """Fill ``weight[attribute, event]`` for the events: the one value's weight, NaN for several.

    An attribute's terms stand side by side. What is not written is not read, since nothing holds there.
    """
    for event in range(members):
        last = -1
        for i in range(entries.start[first + event], entries.start[first + event + 1]):
            attribute = row_attribute[1 + entries.term[i]]
            weight[attribute, event] = np.nan if attribute == last else entries.weight[i]
            last = attribute


@kernel
def fill_plain(start, term, weight, row_attribute, sums, plain):  # type: ignore[no-untyped-def]
    """Fill ``plain`` of `Entries` from its other arrays."""
    for event in range(len(plain)):
        plain[event] = True
        for i in range(start[event], start[event + 1]):
            if weight[i] != 1.0 or joins(i, start[event], term, row_attribute, sums):
                plain[event] = False
                break


@inlined
def joins(i, begin, term, row_attribute, sums):  # type: ignore[no-untyped-def]
    """Return whether a leaf may get the weight of an event's ``i``-th entry together with that of the one before it.

    A leaf of one value gets both only when they are the same term, which an event may have as 1 and as 1.0.
    """
    if i == begin:
        return False
    attribute = row_attribute[1 + term[i]]
    return attribute == row_attribute[1 + term[i - 1]] and (sums[attribute] != 0 or term[i] == term[i - 1])
