"""The decorators of kernels: compiled, cached on disk, without the interpreter's lock and without counted references.

Compiled functions count references to every array that they are given, by atomic additions, on entry and on return; for
a function that runs once a record this costs several times what it does. A kernel allocates nothing and keeps nothing,
and its caller holds the arrays, so it need not count. What runs once a record is compiled into its caller besides.
Indices are compiled as they are, see `plain_indices.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.caching import IndexDataCacheFile

from index.plain_indices import KernelCompiler


class KernelFiles(IndexDataCacheFile):
    """A kernel's files on disk, of which those that name modules or types of another version of the code are none."""

    def _load_index(self):  # type: ignore[no-untyped-def]
        try:
            return super()._load_index()  # type: ignore[no-untyped-call]
        except (ImportError, AttributeError):  # Numba reads what types they are for before it looks at the code's age
            return {}


def _decorator(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    compiled = njit(cache=True, nogil=True, _nrt=False, pipeline_class=KernelCompiler, **options)  # type: ignore[call-overload]

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = compiled(function)
        if kernel is not function:  # as it is where nothing is compiled
            kernel._cache._cache_file.__class__ = KernelFiles
        return kernel

    return decorate


kernel = _decorator()
inlined = _decorator(forceinline=True)
