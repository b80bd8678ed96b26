"""Masks of W words as vectors in registers, for kernels: loaded, joined and stored whole.

Written as loops over words the same was compiled word by word, since the arrays that a kernel reads and writes might
overlap: `mask &= row` of eight words took 2.4 ns, and takes 0.7. With the JIT off a vector is a NumPy array.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from index.block.instructions import address, spread
from index.block.layout import UInt64s

Lanes = Sequence[int]
"""W numbers; compiled, a tuple, whose length is part of its type."""

Place = SupportsIndex | tuple[SupportsIndex, ...]
"""What stands in brackets behind an array for the row that is a mask; 0 for an array that is one."""


class Vector(types.Type):
    """Numba's type of a mask of so many words."""

    def __init__(self, words: int) -> None:
        self.words = words
        super().__init__(f"Vector({words})")


@register_model(Vector)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, _shape(kind))  # type: ignore[no-untyped-call]


def _shape(kind: Vector) -> ir.VectorType:
    return ir.VectorType(ir.IntType(64), kind.words)


def load(lanes: Lanes, array: UInt64s, place: Place) -> UInt64s:
    """Return a mask of an array; ``lanes`` says of how many words."""
    mask: UInt64s = (array[place] if array.ndim > 1 else array).copy()
    return mask


def store(mask: UInt64s, array: UInt64s, place: Place) -> None:
    """Write a mask to an array."""
    array[place if array.ndim > 1 else slice(None)] = mask


def everywhere(lanes: Lanes, word: SupportsIndex) -> UInt64s:
    """Return the mask whose words are all this int64: 0 or, for all bits, -1."""
    return np.full(len(lanes), word, np.int64).view(np.uint64)


def some(mask: UInt64s) -> bool:
    """Return whether a mask has a bit."""
    return bool(mask.any())


@overload(load)
def _load(lanes, array, place):  # type: ignore[no-untyped-def]
    return lambda lanes, array, place: _read(lanes, array, place)  # type: ignore[call-arg]


@overload(store)
def _store(mask, array, place):  # type: ignore[no-untyped-def]
    return lambda mask, array, place: _write(mask, array, place)  # type: ignore[call-arg]


@overload(everywhere)
def _everywhere(lanes, word):  # type: ignore[no-untyped-def]
    return lambda lanes, word: _fill(lanes, np.uint64(word))  # type: ignore[call-arg]


@overload(some)
def _some(mask):  # type: ignore[no-untyped-def]
    return lambda mask: _is_any(mask)  # type: ignore[call-arg]


@overload(operator.and_)
def _and(a, b):  # type: ignore[no-untyped-def]
    return (lambda a, b: _meet(a, b)) if isinstance(a, Vector) else None


@overload(operator.or_)
def _or(a, b):  # type: ignore[no-untyped-def]
    return (lambda a, b: _join(a, b)) if isinstance(a, Vector) else None


@overload(operator.xor)
def _xor(a, b):  # type: ignore[no-untyped-def]
    return (lambda a, b: _differ(a, b)) if isinstance(a, Vector) else None


@overload(operator.invert)
def _invert(a):  # type: ignore[no-untyped-def]
    return (lambda a: _turn(a)) if isinstance(a, Vector) else None


def _place(context: Any, builder: Any, signature: Any, arguments: Any, words: int) -> Any:
    """Return where the mask at the place, the third argument, of the array, the second, begins."""
    at = signature.args[2]
    is_tuple = isinstance(at, types.BaseTuple)
    numbers = cgutils.unpack_tuple(builder, arguments[2]) if is_tuple else [arguments[2]]
    kinds = at.types if is_tuple else [at]
    place = [context.cast(builder, number, of, types.intp) for number, of in zip(numbers, kinds, strict=True)]
    return address(context, builder, signature.args[1], arguments[1], place, _shape(Vector(words)))


@intrinsic
def _read(_typing, lanes, array, place):  # type: ignore[no-untyped-def]
    kind = Vector(len(lanes))

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        mask = builder.load(_place(context, builder, signature, arguments, kind.words))
        mask.align = 8
        return mask

    return kind(lanes, array, place), generate


@intrinsic
def _write(_typing, mask, array, place):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        builder.store(arguments[0], _place(context, builder, signature, arguments, mask.words)).align = 8
        return context.get_dummy_value()

    return types.void(mask, array, place), generate


@intrinsic
def _fill(_typing, lanes, word):  # type: ignore[no-untyped-def]
    kind = Vector(len(lanes))

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return spread(builder, arguments[1], _shape(kind))

    return kind(lanes, word), generate


@intrinsic
def _is_any(_typing, mask):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        held = builder.icmp_unsigned("!=", arguments[0], ir.Constant(_shape(mask), None))
        bits = builder.bitcast(held, ir.IntType(mask.words))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(mask), generate


def _instruction(name: str, arity: int) -> Callable[..., Any]:
    """Return the intrinsic of an instruction that takes so many masks."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return getattr(builder, name)(*arguments)

    if arity == 1:
        return intrinsic(lambda _typing, a: (a(a), generate))
    return intrinsic(lambda _typing, a, b: (a(a, b), generate))


_meet, _join, _differ, _turn = (
    _instruction(name, arity) for name, arity in (("and_", 2), ("or_", 2), ("xor", 2), ("not_", 1))
)
