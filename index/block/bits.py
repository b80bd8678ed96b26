"""Bit counting that Numba does not offer: its machine instruction in compiled code, plain Python with the JIT off."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.cpython.unsafe.numbers import trailing_zeros as _trailing_zeros
from numba.extending import overload


def lowest_bit(word):  # type: ignore[no-untyped-def]
    """Return the place, 0 to 63, of the lowest bit set in a word that is not 0."""
    number = int(word)
    return (number & -number).bit_length() - 1


@overload(lowest_bit)
def _lowest_bit(word):  # type: ignore[no-untyped-def]
    if word == types.uint64:
        return lambda word: np.int64(_trailing_zeros(word))  # type: ignore[call-arg]
    return None
