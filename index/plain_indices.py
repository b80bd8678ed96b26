"""Compiles indices of arrays as they are: in a kernel none counts from an array's end.

Python's ``a[-1]`` is the last element, so for each index that may be negative Numba compiles a comparison, an addition
and a choice. Kernels have no such index but constants, and read and write arrays more than they do anything else. With
NUMBA_BOUNDSCHECK=1 a negative index is an error, which the tests look at.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonRewrites


@register_pass(mutates_CFG=False, analysis_only=False)
class PlainIndices(FunctionPass):
    """Types the integers by which arrays are read and written as unsigned ones, which are no negative numbers."""

    _name = "plain_indices"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def run_pass(self, state):  # type: ignore[no-untyped-def]
        """Change the signatures of reads and writes; say whether there are any."""
        changed = {}
        for node, signature in state.calltypes.items():
            if isinstance(node, ir.SetItem) or (isinstance(node, ir.Expr) and node.op == "getitem"):
                array, index, *value = signature.args
                plain = _unsigned(index)
                if isinstance(array, types.Array) and index != plain:
                    changed[node] = signature.replace(args=(array, plain, *value))
        for node, signature in changed.items():
            del state.calltypes[node]  # what is there may not be replaced
            state.calltypes[node] = signature
        return bool(changed)


class KernelCompiler(CompilerBase):
    """Numba's compiler with that pass."""

    def define_pipelines(self):  # type: ignore[no-untyped-def]
        """Return the passes."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(PlainIndices, NopythonRewrites)
        manager.finalize()
        return [manager]


def _unsigned(index: Any) -> Any:
    """Return the type of an index, or of a tuple of them, with unsigned integers of 64 bits for signed ones."""
    if isinstance(index, types.Tuple | types.UniTuple):
        return types.Tuple([_unsigned(kind) for kind in index.types])
    return types.uint64 if index in types.signed_domain else index
