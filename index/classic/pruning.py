"""Bounds of scores over posting lists, by which top-N matching skips what cannot be among the best.

Whang et al., "Indexing Boolean Expressions", section 5. A list's bound is the paper's UB(A, v) times the event's
weight; rounding keeps order, so bounds in units of 1 / SCORE_SCALE are exact, and what is skipped is strictly below the
lowest score held: ties survive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from index.classic.answers import NO_THRESHOLD
from schemas.values import SCORE_SCALE


class Counters(NamedTuple):
    """What a matcher has done since it was opened.

    Attributes
    ----------
    candidates
        Expressions found in enough lists.
    skipped_by_list
        Pivots passed over because the bounds of their lists were too low: the first pruning.
    skipped_sizes
        Sizes passed over because the bounds of their best lists were too low: the second pruning.
    """

    candidates: int
    skipped_by_list: int
    skipped_sizes: int


CANDIDATES, SKIPPED_BY_LIST, SKIPPED_SIZES = range(3)


@njit(cache=True, nogil=True)
def missing(least, points):  # type: ignore[no-untyped-def]
    """Return what an expression must score for an owner with priority ``points`` to reach the threshold ``least``."""
    return least - points if least > NO_THRESHOLD else least


@njit(cache=True, nogil=True)
def bound(one, event_weight, postings, cursors):  # type: ignore[no-untyped-def]
    """Return the most that one of an event's lists can add to a score; Z adds nothing."""
    of = cursors.list[one]
    if of >= postings.key_list[len(postings.key_list) - 2]:
        return np.int64(0)
    weight = event_weight[cursors.source[one]]
    if len(postings.weight):
        weight = max(weight * postings.list_high[of], weight * postings.list_low[of])
    return np.int64(np.rint(max(weight, 0.0) * SCORE_SCALE))


@njit(cache=True, nogil=True)
def list_sum(n, pivot, event_weight, postings, cursors):  # type: ignore[no-untyped-def]
    """Return the first pruning's bound: the sum over the lists that do not stand behind the pivot."""
    total = np.int64(0)
    for i in range(n):
        if cursors.current[i] >> 1 > pivot:
            break
        total += bound(cursors.which[i], event_weight, postings, cursors)
    return total


@njit(cache=True, nogil=True)
def best_sum(size, view, attribute, postings, cursors, sums):  # type: ignore[no-untyped-def]
    """Return the second pruning's bound: the sum of the ``size`` attributes whose lists have the highest bounds.

    ``sums`` holds the best so far, falling. The lists of a size stand attribute by attribute.
    """
    if not size:
        return np.int64(0)
    i, stop = cursors.bucket[size], cursors.bucket[size + 1]
    sums[:size] = 0
    while i < stop:
        of = attribute[view.key[cursors.source[i]]]
        total = np.int64(0)
        while i < stop and attribute[view.key[cursors.source[i]]] == of:
            total += bound(i, view.weight, postings, cursors)
            i += 1
        k = size
        while k > 0 and sums[k - 1] < total:
            if k < size:
                sums[k] = sums[k - 1]
            k -= 1
        if k < size:
            sums[k] = total
    return sums[:size].sum()
