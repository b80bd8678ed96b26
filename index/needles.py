"""Finds which of many texts occur in a text: one binary search a byte, however many texts there are.

Sorted by bytes, the texts that begin a string form a chain: the greatest of those not above the string, if it begins
it, and then whatever begins that one. So each text knows the longest other one that begins it, its ``parent``.

Of long texts only the first `LONG` bytes take part in that, else a text of a million equal letters would be compared a
million times with another; those that begin in this way anywhere are looked for once more, in linear time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from index.byte_rows import ByteRows, compare

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

LONG = 256
"""Bytes of a text up to which it is compared byte by byte."""


def parents(group: Int32s, needles: ByteRows) -> Int32s:
    """Return for each needle the longest other one of its group that begins it, -1 for none.

    Parameters
    ----------
    group
        Ascending.
    needles
        Ascending and distinct within a group.
    """
    parent = np.empty(len(needles), np.int32)
    _parents(group, needles.data, needles.offsets, parent)
    parent.flags.writeable = False
    return parent


def find_needles(
    haystacks: ByteRows, skip: int, first: Int64s, stop: Int64s, needles: ByteRows, parent: Int32s, long: int = LONG
) -> tuple[Int64s, Int64s]:
    """Return the pairs (haystack, needle) of which the needle occurs in the haystack.

    Parameters
    ----------
    haystacks
        Any texts.
    skip
        How many bytes at the beginning of each haystack are none of its text.
    first, stop
        The needles of each haystack's group; equal where it has none.
    needles, parent
        As in `parents`; no needle is empty.
    long
        See `LONG`.
    """
    room = 4 * len(haystacks) + 64
    while True:
        haystack, needle = np.empty(room, np.int64), np.empty(room, np.int64)
        met = np.full(len(needles), -1, np.int64)
        n = _find(
            haystacks.data,
            haystacks.offsets,
            skip,
            first,
            stop,
            needles.data,
            needles.offsets,
            parent,
            met,
            haystack,
            needle,
            long,
        )
        if n <= room:
            return _verified(haystack[:n], needle[:n], haystacks, skip, needles, long)
        room = n


def _verified(
    haystack: Int64s, needle: Int64s, haystacks: ByteRows, skip: int, needles: ByteRows, long: int
) -> tuple[Int64s, Int64s]:
    """Leave out the pairs of a long needle that only begins in the haystack."""
    kept = np.ones(len(haystack), np.bool_)
    for pair in np.flatnonzero(np.diff(needles.offsets)[needle] > long).tolist():
        kept[pair] = haystacks[haystack[pair]].find(needles[needle[pair]], skip) >= 0
    return haystack[kept], needle[kept]


@njit(cache=True, nogil=True)
def _begins(data, start, stop, other, other_start, other_stop):  # type: ignore[no-untyped-def]
    """Return whether ``data[start:stop]`` begins ``other[other_start:other_stop]``."""
    if stop - start > other_stop - other_start:
        return False
    for i in range(stop - start):  # noqa: SIM110 -- compiled code
        if data[start + i] != other[other_start + i]:
            return False
    return True


@njit(cache=True, nogil=True)
def _parents(group, data, offsets, parent):  # type: ignore[no-untyped-def]
    for i in range(len(parent)):
        parent[i] = -1
        k = i - 1
        # the chain of the needle before holds all that begin this one
        while k >= 0 and group[k] == group[i]:
            if _begins(data, offsets[k], offsets[k + 1], data, offsets[i], offsets[i + 1]):
                parent[i] = k
                break
            k = parent[k]


@njit(cache=True, nogil=True)
def _last_not_above(low, high, data, offsets, texts, start, end, long):  # type: ignore[no-untyped-def]
    """Return the last needle from ``low`` on, before ``high``, that is not above a text; ``low - 1`` for none.

    Of both only ``long`` bytes count.
    """
    end = min(end, start + long)
    while low < high:
        middle = (low + high) >> 1
        stop = min(offsets[middle + 1], offsets[middle] + long)
        if compare(data, offsets[middle], stop, texts, start, end) <= 0:
            low = middle + 1
        else:
            high = middle
    return low - 1


@njit(cache=True, nogil=True)
def _find(texts, text_offsets, skip, first, stop, data, offsets, parent, met, found_text, found_needle, long):  # type: ignore[no-untyped-def]
    """Return how many pairs there are; those beyond the arrays are only counted.

    A long needle counts as found when it begins somewhere. All that begin alike stand side by side, and the longest
    needle that begins the first of them is not long.
    """
    n = 0
    for text in range(len(first)):
        if first[text] == stop[text]:
            continue
        end = text_offsets[text + 1]
        for start in range(text_offsets[text] + skip, end):
            k = _last_not_above(first[text], stop[text], data, offsets, texts, start, end, long)
            if k < first[text]:
                k = -1
            while k >= 0 and not _begins(data, offsets[k], min(offsets[k + 1], offsets[k] + long), texts, start, end):
                k = parent[k]
            # a needle that was met in this text has brought its chain, and those that begin alike, with it
            while k >= 0 and met[k] != text:
                met[k] = text
                if n < len(found_text):
                    found_text[n], found_needle[n] = text, k
                n += 1
                if _begin_alike(data, offsets, k - 1, k, first[text], long):
                    k -= 1
                else:
                    k = parent[k]
    return n


@njit(cache=True, nogil=True)
def _begin_alike(data, offsets, one, other, first, long):  # type: ignore[no-untyped-def]
    """Return whether two needles of a group are long, and the same as far as ``long`` bytes."""
    if one < first or offsets[one + 1] - offsets[one] <= long or offsets[other + 1] - offsets[other] <= long:
        return False
    return _begins(data, offsets[one], offsets[one] + long, data, offsets[other], offsets[other + 1])
