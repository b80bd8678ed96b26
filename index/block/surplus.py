"""How much more than a plain event an event can get from a record.

A record's bound is for plain events: weights of 1, and one value of an attribute. An event with greater weights, or
with several values of an attribute whose weights a leaf adds up, can get more, but only of the attributes by which a
record scores. A record has marks for these, so that most records of a list are passed over for such an event, whose
bounds, raised by all that the event has, would not end the list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.bits import lowest_bit
from index.block.entries import joins
from index.block.layout import MARKS, Float64s
from index.kernel import inlined, kernel

LEAVES = 2**15
"""A clause that scores by more leaves has no bound, so its records are never passed over."""

ROUNDINGS = LEAVES / 2.0
"""The most that leaves round up for each value: half a unit each."""


class Surplus(NamedTuple):
    """What the events of a chunk can get beyond bounds, in units of 1 / SCORE_SCALE.

    Attributes
    ----------
    scale, slack
        float64 [events]: a record gives at most bound * scale + slack.
    marked
        float64 [events, MARKS]: and at most bound + what stands here for its marks.
    whole
        float64 [events]: the sum of ``marked``, which is for all records.
    """

    scale: Float64s
    slack: Float64s
    marked: Float64s
    whole: Float64s

    @classmethod
    def of(cls, events: int) -> Surplus:
        """Return that of events which are all plain."""
        return cls(np.ones(events), np.zeros(events), np.zeros((events, MARKS)), np.zeros(events))


@kernel
def limits(first, members, entries, postings, surplus):  # type: ignore[no-untyped-def]
    """Fill the surplus of the events, which are so far taken for plain.

    An attribute with several values, where leaves list several, may give the sum of their weights, and rounds once
    for each. A negative weight can make much of a negative one, for which bounds allow nothing: no limit then.
    """
    scale, slack, marked, whole = surplus
    row_attribute, sums = postings.row_attribute, postings.attribute_sums
    for event in range(members):
        total, values, last, held, begin = 0.0, 0, np.int64(-1), 0.0, entries.start[first + event]
        for i in range(begin, entries.start[first + event + 1]):
            weight, attribute = entries.weight[i], np.int64(row_attribute[1 + entries.term[i]])
            is_joined = joins(i, begin, entries.term, row_attribute, sums)
            total, values = (total + weight, values + 1) if is_joined else (weight, 1)
            held, last = held if attribute == last else 0.0, attribute
            scale[event] = np.inf if weight < 0.0 else max(scale[event], total)
            rounding = ROUNDINGS * values + 1.0 if values > 1 or total > 1.0 else 0.0
            slack[event] = max(slack[event], rounding)
            more = rounding + (0.0 if total <= 1.0 else (total - 1.0) * postings.attribute_limit[attribute])
            more = np.inf if weight < 0.0 else more
            if more > held:  # the most that one of the attribute's values, or several together, bring
                marked[event, attribute % MARKS] += more - held
                held = more
        for mark in range(MARKS):
            whole[event] += marked[event, mark]


@inlined
def is_exact(surplus, event):  # type: ignore[no-untyped-def]
    """Return whether no record gives the event more than its bound."""
    return surplus.scale[event] == 1.0 and surplus.slack[event] == 0.0


@inlined
def of_marks(surplus, event, marks):  # type: ignore[no-untyped-def]
    """Return the most that a record with these marks can give the event beyond its bound."""
    left, more = np.uint64(marks), 0.0
    while left != np.uint64(0):
        more += surplus.marked[event, lowest_bit(left)]  # type: ignore[no-untyped-call]
        left &= left - np.uint64(1)
    return more
