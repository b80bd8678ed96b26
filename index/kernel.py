"""The decorators of kernels: compiled, cached on disk, without the interpreter's lock and without counted references.

Compiled functions count references to every array that they are given, by atomic additions, on entry and on return; for
a function that runs once a record this costs several times what it does. A kernel allocates nothing and keeps nothing,
and its caller holds the arrays, so it need not count. What runs once a record is compiled into its caller besides.
Indices are compiled as they are, see `plain_indices.py`.
"""

from numba import njit

from index.plain_indices import KernelCompiler

kernel = njit(cache=True, nogil=True, _nrt=False, pipeline_class=KernelCompiler)  # type: ignore[call-overload]
inlined = njit(cache=True, nogil=True, _nrt=False, forceinline=True, pipeline_class=KernelCompiler)  # type: ignore[call-overload]
