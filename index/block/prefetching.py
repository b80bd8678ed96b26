"""Asks the processor to fetch a row that will be read soon, which Numba does not offer; nothing with the JIT off.

Where a loop reads rows that lie anywhere in memory, the processor by itself waits for a few of them at a time. Told of
a row some dozens of turns before it is read, it has them all under way: hits of 64 bytes took 18 ns each instead of 77.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from index.block.instructions import address

LINE = 16
"""So many int32s are fetched together."""


def prefetch(array, row):  # type: ignore[no-untyped-def]
    """Begin to fetch the start of a row, whose number is not below 0 and at most that of the array's end."""


@overload(prefetch)
def _prefetch(array, row):  # type: ignore[no-untyped-def]
    return lambda array, row: _fetch(array, row)  # type: ignore[call-arg]


@intrinsic
def _fetch(_typing, array, row):  # type: ignore[no-untyped-def]
    """For reading, to be kept in the nearest cache, data: these are the numbers that LLVM's instruction is given."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        row = context.cast(builder, arguments[1], signature.args[1], types.intp)
        start = address(context, builder, signature.args[0], arguments[0], [row], ir.IntType(8))
        number = ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [start.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [start.type], shape)
        builder.call(function, [start, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, row), generate
