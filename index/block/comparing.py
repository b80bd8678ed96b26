"""Tells which of several ranks lie in an interval, all at once: comparisons of vectors, which Numba does not offer.

A loop that collects the same bits is compiled to fifteen times the instructions.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

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
        number = ir.IntType(32)
        vector = ir.VectorType(number, AT_ONCE)
        kind, first = signature.args[0], context.get_constant(types.intp, 0)
        struct = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, struct, [arguments[1], first], wraparound=False)
        held = builder.load(builder.bitcast(place, vector.as_pointer()))
        held.align = 4

        def everywhere(value):  # type: ignore[no-untyped-def]
            nothing = ir.Constant(vector, ir.Undefined)
            once = builder.insert_element(nothing, value, ir.Constant(number, 0))
            return builder.shuffle_vector(once, nothing, ir.Constant(vector, [0] * AT_ONCE))

        reaches = builder.icmp_signed(">=", held, everywhere(arguments[2]))  # type: ignore[no-untyped-call]
        stays = builder.icmp_signed("<=", held, everywhere(arguments[3]))  # type: ignore[no-untyped-call]
        bits = builder.bitcast(builder.and_(reaches, stays), ir.IntType(AT_ONCE))
        return builder.zext(bits, ir.IntType(64))

    return types.int64(ranks, row, low, high), generate
