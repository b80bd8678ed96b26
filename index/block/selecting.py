"""Picks from 64 values those whose bits are set in a word: by vector instructions, where the processor has them.

AVX-512 can move the marked items of a register together. Numbers of 16 and 32 bits are picked by their places: the
bytes 0 to 63 are compressed by the word, and a register of numbers at a time is fetched by what is left, so that a word
of up to sixteen bits, or of 32 where the numbers are short, is written at once: it takes 2 ns, or 1.6. Numbers of 64
bits, and all where only registers of numbers can be compressed, take 3 ns a word. Other processors take them one by
one: each bit takes 0.6 ns, and a word's last one a guess that fails. Which words of a row are not zero is listed eight
at a time, without a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic, overload

from index.block.bits import lowest_bit, without_lowest
from index.block.instructions import address, spread

_REGISTER = 512
"""Bits."""

_NUMBERS = 16
"""So many numbers of 32 bits has a register."""

_SHORT = 32
"""So many numbers of 16 bits has a register."""

_LINE = 8
"""So many words has a register."""


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


def select_near(base, offset, first, bits, out, n):  # type: ignore[no-untyped-def]
    """Do the same for values, int32, that are given by how far they are from one of them.

    Parameters
    ----------
    base
        That one.
    offset
        uint16, with memory for 64 from ``first`` on.
    first, bits, out, n
        As in `select`.
    """
    while bits != np.uint64(0):
        out[n] = base + np.int64(offset[first + lowest_bit(bits)])  # type: ignore[no-untyped-call]
        bits = without_lowest(bits)  # type: ignore[no-untyped-call]
        n += 1
    return n


def list_words(words, row, first, stop, out, n):  # type: ignore[no-untyped-def]
    """Append which words of a row, from ``first`` up to ``stop``, are not zero; return where they end.

    Parameters
    ----------
    words
        uint64 [rows, words].
    row, first, stop
        int64.
    out
        int32, with memory for all that there may be and seven more, whose contents beyond the end are arbitrary
        afterwards.
    n
        An int64, from where on to write.
    """
    for word in range(first, stop):
        out[n] = word
        n += np.int64(words[row, word] != np.uint64(0))
    return n


def has(feature: str) -> bool:
    """Return whether code is compiled for a processor with a feature, as LLVM calls it."""
    known = config.CPU_FEATURES  # type: ignore[attr-defined]
    known = get_host_cpu_features() if known is None else known
    return f"+{feature}" in known.split(",")


@overload(select)
def _select(values, first, bits, out, n):  # type: ignore[no-untyped-def]
    width = values.dtype.bitwidth
    lanes = _REGISTER // width

    def by_places(values, first, bits, out, n):  # type: ignore[no-untyped-def]
        return _permute(values, np.int64(first), bits, out, np.int64(n))  # type: ignore[call-arg]

    def by_registers(values, first, bits, out, n):  # type: ignore[no-untyped-def]
        for place in range(0, 64, lanes):
            n = _compress(values, np.int64(first + place), bits >> np.uint64(place), out, np.int64(n))  # type: ignore[call-arg]
        return n

    if width == 32 and has("avx512vbmi2"):
        return by_places
    return by_registers if has("avx512f") else select


@overload(select_near)
def _select_near(base, offset, first, bits, out, n):  # type: ignore[no-untyped-def]
    def by_places(base, offset, first, bits, out, n):  # type: ignore[no-untyped-def]
        return _permute_near(np.int64(base), offset, np.int64(first), bits, out, np.int64(n))  # type: ignore[call-arg]

    return by_places if has("avx512vbmi2") and has("avx512bw") else select_near


@overload(list_words)
def _list_words(words, row, first, stop, out, n):  # type: ignore[no-untyped-def]
    def by_lines(words, row, first, stop, out, n):  # type: ignore[no-untyped-def]
        word = np.int64(first)
        while word + _LINE <= stop:
            n = _list_line(words, np.int64(row), word, out, np.int64(n))  # type: ignore[call-arg]
            word += _LINE
        while word < stop:
            out[n] = word
            n += np.int64(words[row, word] != np.uint64(0))
            word += 1
        return n

    return by_lines if has("avx512vl") else list_words


@intrinsic
def _permute(_typing, values, first, bits, out, n):  # type: ignore[no-untyped-def]
    """Do the same by the places of the bits."""
    vector = ir.VectorType(ir.IntType(32), _NUMBERS)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array, at, word, target, end = arguments
        packed, given = _places(builder, word), _loaded(context, builder, signature.args[0], array, at, vector)

        def write(part: int) -> None:
            begin = builder.add(end, ir.Constant(end.type, part))
            picked = _fetched(builder, given, packed, part)
            builder.store(picked, address(context, builder, signature.args[3], target, [begin], vector)).align = 4

        return builder.add(end, _in_parts(builder, word, _NUMBERS, write))

    return types.int64(values, first, bits, out, n), generate


def _loaded(context: Any, builder: Any, kind: types.Array, array: Any, at: Any, vector: ir.VectorType) -> list[Any]:
    """Return 64 values of an array from a place on, in registers."""
    given = []
    for part in range(0, 64, vector.count):
        place = builder.add(at, ir.Constant(at.type, part))
        given.append(builder.load(address(context, builder, kind, array, [place], vector)))
        given[-1].align = vector.element.width // 8
    return given


def _in_parts(builder: Any, word: Any, each: int, write: Callable[[int], None]) -> Any:
    """Have the first values written, so many as a part has, and the others if there are more; return how many bits."""
    count = builder.ctpop(word)
    write(0)
    with builder.if_then(builder.icmp_unsigned(">", count, ir.Constant(count.type, each)), likely=False):
        for part in range(each, 64, each):
            write(part)
    return count


def _compressed(builder: Any, values: Any, mask: Any) -> Any:
    """Return the values of a register that are marked by a mask, moved together, and zeros."""
    vector = values.type
    shape = ir.FunctionType(vector, [vector, vector, mask.type])
    name = f"llvm.x86.avx512.mask.compress.v{vector.count}i{vector.element.width}"
    function = cgutils.get_or_insert_function(builder.module, shape, name)
    return builder.call(function, [values, ir.Constant(vector, None), mask])


def _numbers(first: int, count: int, bits: int = 32) -> ir.Constant:
    """Return so many numbers, ascending by one, of so many bits."""
    return ir.Constant(ir.VectorType(ir.IntType(bits), count), list(range(first, first + count)))


def _places(builder: Any, word: Any) -> Any:
    """Return the places of a word's bits as bytes, from the first byte on."""
    return _compressed(builder, _numbers(0, 64, 8), builder.bitcast(word, ir.VectorType(ir.IntType(1), 64)))


def _fetched(builder: Any, given: Sequence[Any], packed: Any, part: int) -> Any:
    """Return those of four registers of numbers whose places are the sixteen bytes from ``part`` on."""
    vector = given[0].type
    shape = ir.FunctionType(vector, [vector] * 3)
    permute = cgutils.get_or_insert_function(builder.module, shape, "llvm.x86.avx512.vpermi2var.d.512")
    places = builder.zext(builder.shuffle_vector(packed, packed, _numbers(part, _NUMBERS)), vector)
    low, high = (builder.call(permute, [given[i], places, given[i + 1]]) for i in (0, 2))
    is_high = builder.icmp_unsigned(">=", places, ir.Constant(vector, [2 * _NUMBERS] * _NUMBERS))
    return builder.select(is_high, high, low)


@intrinsic
def _permute_near(_typing, base, offset, first, bits, out, n):  # type: ignore[no-untyped-def]
    """Pick 16-bit numbers by the places of the bits, and add the base to them."""
    short, whole = ir.VectorType(ir.IntType(16), _SHORT), ir.VectorType(ir.IntType(32), _NUMBERS)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        from_, array, at, word, target, end = arguments
        packed, given = _places(builder, word), _loaded(context, builder, signature.args[1], array, at, short)
        bases = spread(builder, builder.trunc(from_, ir.IntType(32)), whole)
        permute = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(short, [short] * 3), "llvm.x86.avx512.vpermi2var.hi.512"
        )

        def write(part: int) -> None:
            places = builder.zext(builder.shuffle_vector(packed, packed, _numbers(part, _SHORT)), short)
            picked = builder.call(permute, [given[0], places, given[1]])
            for half in (0, _NUMBERS):
                some = builder.zext(builder.shuffle_vector(picked, picked, _numbers(half, _NUMBERS)), whole)
                begin = builder.add(end, ir.Constant(end.type, part + half))
                place = address(context, builder, signature.args[4], target, [begin], whole)
                builder.store(builder.add(some, bases), place).align = 4

        return builder.add(end, _in_parts(builder, word, _SHORT, write))

    return types.int64(base, offset, first, bits, out, n), generate


@intrinsic
def _list_line(_typing, words, row, first, out, n):  # type: ignore[no-untyped-def]
    """Append which of eight words are not zero."""
    line, number = ir.VectorType(ir.IntType(64), _LINE), ir.VectorType(ir.IntType(32), _LINE)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array, of, at, target, end = arguments
        given = builder.load(address(context, builder, signature.args[0], array, [of, at], line))
        given.align = 8
        mask = builder.icmp_unsigned("!=", given, ir.Constant(line, None))
        places = builder.add(spread(builder, builder.trunc(at, ir.IntType(32)), number), _numbers(0, _LINE))
        place = address(context, builder, signature.args[3], target, [end], number)
        builder.store(_compressed(builder, places, mask), place).align = 4
        count = builder.ctpop(builder.bitcast(mask, ir.IntType(_LINE)))
        return builder.add(end, builder.zext(count, ir.IntType(64)))

    return types.int64(words, row, first, out, n), generate


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
        picked = _compressed(builder, given, mask)
        builder.store(picked, address(context, builder, signature.args[3], target, [end], vector)).align = width // 8
        count = builder.zext(builder.ctpop(marked), ir.IntType(64))
        return builder.add(end, count)

    return types.int64(values, first, bits, out, n), generate
