"""The mark of compiled kernels: Numba keeps them on disk, where Spark's workers load them, and the mark beside them.

It says for which code, processor and versions the warm-up has been through; so a start need not compile, nor try, to
know.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
from importlib.metadata import version
from pathlib import Path

import index
from index import byte_rows


def is_marked(engine: str) -> bool:
    """Return whether the warm-up has been through with this code, on this processor."""
    with contextlib.suppress(OSError):
        return _file(engine).read_text() == _state()
    return False


def mark(engine: str) -> None:
    """Note that the warm-up has been through."""
    _file(engine).write_text(_state())


def _file(engine: str) -> Path:
    """Return the mark's file: in the folder where Numba keeps what is compiled, which it could write to."""
    return Path(str(byte_rows.compare.stats.cache_path)) / f"tocsin-{engine}.compiled"


def _state() -> str:
    """Return what compiled kernels depend on: their sources as Numba looks at them, versions, and the processor."""
    from llvmlite import binding

    package = Path(index.__file__).parent
    parts = [platform.python_version(), version("numba"), version("llvmlite"), binding.get_host_cpu_name()]
    parts.append(binding.get_host_cpu_features().flatten())
    for file in sorted(package.rglob("*.py")):
        found = file.stat()
        parts.append(f"{file.relative_to(package)} {found.st_mtime_ns} {found.st_size}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
