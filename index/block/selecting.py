"""Picks from 64 values those whose bits are set in a word: by compressing registers, where the processor can.

AVX-512 has an instruction that moves the marked numbers of a register together. With it a word takes 3 ns, however many
bits it has. Other processors take them one by one: each bit takes 0.6 ns, and a word's last one a guess that fails.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic, overload

from index.block.bits import lowest_bit, without_lowest
from index.block.instructions import address

_REGISTER = 512
"""Bits."""

_NEEDED = "+avx512f"
"""The processor's feature."""


def select(values, first, bits, out, n):  # type: ignore[no-untyped-def]
    """Write those of the values from ``first`` on whose bits are set to ``out``, from ``n`` on; return where they end.

    Parameters
    ----------
    values
        int32 or int64, with memory for 64 from ``first`` on.
    first
        The value of bit 0.
    bits
        A uint64.
    out
        Of the same kind, with memory for 64 from ``n`` on, whose contents beyond the end are arbitrary afterwards.
    n
        An int64.
    """
    while bits != np.uint64(0):
        out[n] = values[first + lowest_bit(bits)]  # type: ignore[no-untyped-call]
        bits = without_lowest(bits)  # type: ignore[no-untyped-call]
        n += 1
    return n


def has_compress() -> bool:
    """Return whether code is compiled for a processor that can compress registers."""
    wanted = config.CPU_FEATURES  # type: ignore[attr-defined]
    wanted = get_host_cpu_features() if wanted is None else wanted
    return _NEEDED in wanted.split(",")


@overload(select)
def _select(values, first, bits, out, n):  # type: ignore[no-untyped-def]
    if not has_compress():
        return select
    lanes = _REGISTER // values.dtype.bitwidth

    def by_registers(values, first, bits, out, n):  # type: ignore[no-untyped-def]
        for place in range(0, 64, lanes):
            n = _compress(values, np.int64(first + place), bits >> np.uint64(place), out, np.int64(n))  # type: ignore[call-arg]
        return n

    return by_registers


@intrinsic
def _compress(_typing, values, first, bits, out, n):  # type: ignore[no-untyped-def]
    """Do the same with a register of values and as many bits."""
    width = values.dtype.bitwidth
    lanes = _REGISTER // width

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vector = ir.VectorType(ir.IntType(width), lanes)
        array, at, word, target, end = arguments
        given = builder.load(address(context, builder, signature.args[0], array, [at], vector))
        given.align = width // 8
        marked = builder.trunc(word, ir.IntType(lanes))
        mask = builder.bitcast(marked, ir.VectorType(ir.IntType(1), lanes))
        shape = ir.FunctionType(vector, [vector, vector, mask.type])
        name = f"llvm.x86.avx512.mask.compress.v{lanes}i{width}"
        function = cgutils.get_or_insert_function(builder.module, shape, name)
        picked = builder.call(function, [given, ir.Constant(vector, None), mask])
        builder.store(picked, address(context, builder, signature.args[3], target, [end], vector)).align = width // 8
        count = builder.zext(builder.ctpop(marked), ir.IntType(64))
        return builder.add(end, count)

    return types.int64(values, first, bits, out, n), generate
