"""Tells which of several ranks lie in an interval, all at once: comparisons of vectors, which Numba does not offer.

A loop that collects the same bits is compiled to fifteen times the instructions.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from index.block.instructions import address, spread

AT_ONCE = 32
"""So many ranks are compared."""


def inside(ranks, row, low, high):  # type: ignore[no-untyped-def]
    """Return which of the `AT_ONCE` ranks of a row lie from ``low`` to ``high``, as bits of an int64.

    Parameters
    ----------
    ranks
        int32 [rows, AT_ONCE].
    row, low, high
        The row, and the first and the last rank of the interval, which is empty where these are the wrong way round.
    """
    held = (ranks[row] >= low) & (ranks[row] <= high)
    return np.int64(sum(1 << int(place) for place in np.flatnonzero(held)))


@overload(inside)
def _inside(ranks, row, low, high):  # type: ignore[no-untyped-def]
    return lambda ranks, row, low, high: _compare(ranks, np.int64(row), np.int32(low), np.int32(high))  # type: ignore[call-arg]


@intrinsic
def _compare(_typing, ranks, row, low, high):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vector = ir.VectorType(ir.IntType(32), AT_ONCE)
        array, row, low, high = arguments
        held = builder.load(address(context, builder, signature.args[0], array, [row], vector))
        held.align = 4
        reaches = builder.icmp_signed(">=", held, spread(builder, low, vector))
        stays = builder.icmp_signed("<=", held, spread(builder, high, vector))
        bits = builder.bitcast(builder.and_(reaches, stays), ir.IntType(AT_ONCE))
        return builder.zext(bits, ir.IntType(64))

    return types.int64(ranks, row, low, high), generate
