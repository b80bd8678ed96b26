"""Instructions that write past the cache what will not be read soon: it is not fetched before, and evicts nothing.

A store fetches the line that it changes, unless it is told that the whole line will be written. Arrays far larger than
the cache, which are written in pieces here and there, are written twice as fast so: at 41 instead of 19 GB a second.
Another thread sees it all once a lock was taken or released in between, which handing over an array involves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from index.block.instructions import address
from index.block.lanes import Lanes
from index.block.layout import UInt64s
from index.kernel import inlined

_LINE = 512
"""Bits of a line of the cache."""

_BYTES, _WORDS = _LINE // 8, _LINE // 64
"""Bytes and words of a line of the cache."""


def spread_row(lanes: Lanes, squares: UInt64s, row: int, turned: UInt64s, word: int) -> None:
    """Write one row of eight squares: word x of square y becomes that of the event 64 x + ``row``, ``word`` + y.

    Parameters
    ----------
    lanes
        A tuple of W numbers.
    squares
        uint64 [8, 64 or more, W].
    turned
        uint64 [64 W, words], which begins with a line of the cache and whose rows are whole lines, as is ``word``.
    """
    turned[row::64, word : word + _WORDS] = squares[:, row].T


def write_past(values: npt.NDArray[Any], count: int, out: npt.NDArray[Any], begin: int) -> None:
    """Copy the first of the values to ``out``, from ``begin`` on; both are of one kind, int32 or int64."""
    out[begin : begin + count] = values[:count]


def write_lines(values, count, out, begin):  # type: ignore[no-untyped-def]
    """Do the same, but leave what does not fill a line, and move it to the front of the values.

    Returns
    -------
    left, place
        How many are left, and where the first of them belongs.
    """
    out[begin : begin + count] = values[:count]
    return 0, begin + count


@overload(spread_row)
def _spread_row(lanes, squares, row, turned, word):  # type: ignore[no-untyped-def]
    return lambda lanes, squares, row, turned, word: _spread(lanes, squares, np.int64(row), turned, np.int64(word))  # type: ignore[call-arg]


@overload(write_past)
def _write_past(values, count, out, begin):  # type: ignore[no-untyped-def]
    def by_lines(values, count, out, begin):  # type: ignore[no-untyped-def]
        for i in range(_whole_lines(values, count, out, begin), count):
            out[begin + i] = values[i]

    return by_lines


@overload(write_lines)
def _write_lines(values, count, out, begin):  # type: ignore[no-untyped-def]
    def by_lines(values, count, out, begin):  # type: ignore[no-untyped-def]
        i = _whole_lines(values, count, out, begin)
        _to_front(values, i)  # type: ignore[call-arg]
        return count - i, begin + i

    return by_lines


@inlined
def _whole_lines(values, count, out, begin):  # type: ignore[no-untyped-def]
    """Copy what stands before the first whole line of ``out``, and the lines; return how many values that were."""
    size = np.int64(values.itemsize)
    lanes = _BYTES // size
    i, first = np.int64(0), min(count, (-_place_of(out, np.int64(begin)) & (_BYTES - 1)) // size)  # type: ignore[call-arg]
    while i < first:
        out[begin + i] = values[i]
        i += 1
    while i + lanes <= count:
        _line(values, i, out, np.int64(begin + i))
        i += lanes
    return i


def _past_the_cache(builder: Any, store: Any) -> None:
    store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
    store.align = _BYTES


@intrinsic
def _place_of(_typing, array, at):  # type: ignore[no-untyped-def]
    """Return the address of an item."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        item = ir.IntType(8)
        return builder.ptrtoint(
            address(context, builder, signature.args[0], arguments[0], [arguments[1]], item), ir.IntType(64)
        )

    return types.int64(array, at), generate


@intrinsic
def _line(_typing, values, first, out, at):  # type: ignore[no-untyped-def]
    """Copy a line of values."""
    width = values.dtype.bitwidth
    vector = ir.VectorType(ir.IntType(width), _LINE // width)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        given = builder.load(address(context, builder, signature.args[0], arguments[0], [arguments[1]], vector))
        given.align = width // 8
        target = address(context, builder, signature.args[2], arguments[2], [arguments[3]], vector)
        _past_the_cache(builder, builder.store(given, target))
        return context.get_dummy_value()

    return types.void(values, first, out, at), generate


@intrinsic
def _to_front(_typing, values, first):  # type: ignore[no-untyped-def]
    """Copy a line of values to the front of them."""
    width = values.dtype.bitwidth
    vector = ir.VectorType(ir.IntType(width), _LINE // width)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array, at = arguments
        given = builder.load(address(context, builder, signature.args[0], array, [at], vector))
        given.align = width // 8
        front = address(context, builder, signature.args[0], array, [ir.Constant(at.type, 0)], vector)
        builder.store(given, front).align = width // 8
        return context.get_dummy_value()

    return types.void(values, first), generate


@intrinsic
def _spread(_typing, lanes, squares, row, turned, word):  # type: ignore[no-untyped-def]
    words = len(lanes)
    whole = ir.VectorType(ir.IntType(64), _WORDS)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        _, array, at, target, first = arguments
        given = []
        for y in range(_WORDS):
            place = [ir.Constant(at.type, y), at]
            row_of = ir.VectorType(ir.IntType(64), words)
            given.append(builder.load(address(context, builder, signature.args[1], array, place, row_of)))
            given[-1].align = 8
        for x, line in enumerate(_turned(builder, given, words, whole)):
            event = builder.add(at, ir.Constant(at.type, 64 * x))
            out = address(context, builder, signature.args[3], target, [event, first], whole)
            _past_the_cache(builder, builder.store(line, out))
        return context.get_dummy_value()

    return types.void(lanes, squares, row, turned, word), generate


def _turned(builder: Any, rows: list[Any], words: int, whole: ir.VectorType) -> list[Any]:
    """Return vector x of word x of each of eight rows: columns of a matrix, whose blocks change places."""
    if words < _WORDS:
        return [_column(builder, rows, x, whole) for x in range(words)]
    for apart in (1, 2, 4):
        low = [i if not i & apart else i - apart + _WORDS for i in range(_WORDS)]
        places = [ir.Constant(ir.VectorType(ir.IntType(32), _WORDS), [i + d for i in low]) for d in (0, apart)]
        for i in range(_WORDS):
            if not i & apart:
                pair = rows[i], rows[i + apart]
                rows[i], rows[i + apart] = (builder.shuffle_vector(*pair, place) for place in places)
    return rows


def _column(builder: Any, rows: list[Any], x: int, whole: ir.VectorType) -> Any:
    number, column = ir.IntType(32), ir.Constant(whole, ir.Undefined)
    for y, row in enumerate(rows):
        word = builder.extract_element(row, ir.Constant(number, x))
        column = builder.insert_element(column, word, ir.Constant(number, y))
    return column
