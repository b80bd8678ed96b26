"""What the modules of machine instructions share in writing LLVM's code: where an item lies, a vector of one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils


def address(context: Any, builder: Any, kind: types.Array, array: Any, place: Sequence[Any], item: ir.Type) -> Any:
    """Return where an item of an array lies, as a pointer to ``item``.

    Parameters
    ----------
    kind, array
        The array's type and value.
    place
        Its indices, intp, none of them below 0; those that are missing are 0.
    item
        What is to be read or written there.
    """
    struct = context.make_array(kind)(context, builder, array)
    full = [*place, *[context.get_constant(types.intp, 0)] * (kind.ndim - len(place))]
    found = cgutils.get_item_pointer(context, builder, kind, struct, full, wraparound=False)
    return builder.bitcast(found, item.as_pointer())


def spread(builder: Any, value: Any, vector: ir.VectorType) -> Any:
    """Return the vector whose elements are all this value."""
    number = ir.IntType(32)
    nothing = ir.Constant(vector, ir.Undefined)
    once = builder.insert_element(nothing, value, ir.Constant(number, 0))
    return builder.shuffle_vector(once, nothing, ir.Constant(ir.VectorType(number, vector.count), [0] * vector.count))
