"""Bit counting that Numba does not offer: its machine instruction in compiled code, plain Python with the JIT off."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.cpython.unsafe.numbers import trailing_zeros as _trailing_zeros
from numba.extending import overload

from index.kernel import inlined


def lowest_bit(word):  # type: ignore[no-untyped-def]
    """Return the place, 0 to 63, of the lowest bit set in a word; 64 if the word is 0."""
    number = int(word)
    return (number & -number).bit_length() - 1 if number else 64


@overload(lowest_bit)
def _lowest_bit(word):  # type: ignore[no-untyped-def]
    if word == types.uint64:
        return lambda word: np.int64(_trailing_zeros(word))  # type: ignore[call-arg]
    return None


def without_lowest(word):  # type: ignore[no-untyped-def]
    """Return the word without its lowest bit set; 0 if the word is 0, of which NumPy would warn."""
    number = int(word)
    return np.uint64(number & number - 1) if number else np.uint64(0)


@overload(without_lowest)
def _without_lowest(word):  # type: ignore[no-untyped-def]
    if word == types.uint64:
        return lambda word: word & word - np.uint64(1)
    return None


@inlined
def ones(word):  # type: ignore[no-untyped-def]
    """Return how many bits are set, by sums of neighbours, for which compilers put the machine's instruction."""
    word = word - (word >> np.uint64(1) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (word >> np.uint64(2) & np.uint64(0x3333333333333333))
    word = word + (word >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return word * np.uint64(0x0101010101010101) >> np.uint64(56)
