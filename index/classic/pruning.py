"""Bounds of scores over posting lists, by which top-N matching skips what cannot be among the best.

Whang et al., "Indexing Boolean Expressions", section 5. A list's bound is the paper's UB(A, v) times the event's
weight; rounding keeps order, so bounds in units of 1 / SCORE_SCALE are exact, and what is skipped is strictly below the
lowest score held: ties survive.
"""

from __future__ import annotations

import numpy as np

from index.classic.answers import NO_THRESHOLD
from index.kernel import inlined, kernel
from schemas.values import SCORE_SCALE


@inlined
def missing(least, points):  # type: ignore[no-untyped-def]
    """Return what an expression must score for an owner with priority ``points`` to reach the threshold ``least``."""
    return least - points if least > NO_THRESHOLD else least


@kernel
def bound_lists(low, high, event_weight, postings, cursors):  # type: ignore[no-untyped-def]
    """Note the most that each of an event's lists ``low`` to ``high`` can add to a score; Z adds nothing."""
    zero = postings.key_list[len(postings.key_list) - 2]
    for i in range(low, high):
        of = cursors.list[i]
        cursors.bound[i] = 0
        if of >= zero:
            continue
        weight = event_weight[cursors.source[i]]
        if len(postings.weight):
            weight = max(weight * postings.list_high[of], weight * postings.list_low[of])
        cursors.bound[i] = np.int64(np.rint(max(weight, 0.0) * SCORE_SCALE))


@inlined
def falls_short(n, pivot, enough, cursors):  # type: ignore[no-untyped-def]
    """Return whether the first pruning's bound, the sum over the lists up to the pivot, is below ``enough``."""
    total = np.int64(0)
    for i in range(n):
        if total >= enough or cursors.current[i] >> 1 > pivot:
            break
        total += cursors.bound[cursors.which[i]]
    return total < enough


@kernel
def best_sum(size, view, attribute, cursors, sums):  # type: ignore[no-untyped-def]
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
            total += cursors.bound[i]
            i += 1
        k = size
        while k > 0 and sums[k - 1] < total:
            if k < size:
                sums[k] = sums[k - 1]
            k -= 1
        if k < size:
            sums[k] = total
    return sums[:size].sum()
