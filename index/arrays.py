"""Types of flat arrays, and a segment's parts as kernels take them, one by one and in groups."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from index.engine import Parts

Arrays = dict[str, npt.NDArray[Any]]

Bools = npt.NDArray[np.bool_]
Float32s = npt.NDArray[np.float32]
Float64s = npt.NDArray[np.float64]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt8s = npt.NDArray[np.uint8]
UInt16s = npt.NDArray[np.uint16]
UInt64s = npt.NDArray[np.uint64]

Group = TypeVar("Group", bound=NamedTuple)


def group(kind: type[Group], parts: Parts) -> Group:
    """Return a group of parts, a named tuple of arrays whose fields are called as the parts, as kernels take them."""
    return kind._make(read_only(parts, name) for name in kind._fields)


def read_only(parts: Parts, name: str) -> npt.NDArray[Any]:
    """Return a part as a plain read-only array: Numba takes maps, and writeable arrays, for other types."""
    array = np.asarray(parts[name]).view(np.ndarray)
    array.flags.writeable = False
    return array
