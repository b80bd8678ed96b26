"""Owners of records: one, whose word says so, or a list of those whose subscriptions say the same.

A word that is not negative is one owner: subscription << 1 | whether it has other clauses; -1 - n stands for the n-th
list of such words. It is in the order of subscriptions, so its first one says where the record stands among others with
its bound; and if one has other clauses all have them, which have the same list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from index.block.layout import Int32s, Int64s, PostingArrays, UInt8s
from index.kernel import inlined, kernel


class Owners(NamedTuple):
    """What kernels need to know of owners.

    Attributes
    ----------
    start, listed
        int64 [lists + 1], int32: ``owner_list_start`` and ``owner_list`` of `index.block.layout.PostingArrays`.
    is_dead
        uint8 [subscriptions].
    """

    start: Int64s
    listed: Int32s
    is_dead: UInt8s

    @classmethod
    def of(cls, postings: PostingArrays, is_dead: UInt8s) -> Owners:
        """Return the owners of these postings."""
        return cls(postings.owner_list_start, postings.owner_list, is_dead)


@inlined
def first_owner(word, postings):  # type: ignore[no-untyped-def]
    """Return the first owner's word."""
    if word >= 0:
        return np.int64(word)
    return np.int64(postings.owner_list[postings.owner_list_start[-1 - np.int64(word)]])


@inlined
def has_live_owner(word, is_dead):  # type: ignore[no-untyped-def]
    """Return whether some owner may be alive; those of a list are asked one by one when they are written."""
    return word < 0 or not is_dead[word >> 1]


@inlined
def list_of(word, start):  # type: ignore[no-untyped-def]
    """Return where the list of a negative word begins, and where it ends."""
    number = -1 - np.int64(word)
    return start[number], start[number + 1]


@inlined
def owners_of(word, start):  # type: ignore[no-untyped-def]
    """Return how many owners a word stands for, the dead ones of a list included."""
    if word >= 0:
        return np.int64(1)
    first, stop = list_of(word, start)
    return stop - first


@kernel
def count_owners(word, n, start):  # type: ignore[no-untyped-def]
    """Return how many owners the first ``n`` words stand for, the dead ones of lists included."""
    total = np.int64(0)
    for i in range(n):
        total += owners_of(word[i], start)
    return total
