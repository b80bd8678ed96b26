"""Arrays that begin where a line of the cache does, large ones in huge pages, which are kept and used again.

A mask of eight words is as long as a line; where an array of masks begins amid one, each lies in two, and two are
fetched for it. Masks are read here and there in a hundred megabytes: in pages of 4 KB the processor forgets where those
lie, and to turn the masks of 1.5 million hits takes 48 ms instead of 28. NumPy asks for huge pages, too, but cannot get
them where the memory that it is given has been used in small ones before.
"""

from __future__ import annotations

import itertools
import math
import mmap
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

LINE_BYTES = 64
"""Of the cache."""

LARGE = 1 << 20
"""Bytes from which on an array gets pages of its own."""

_HUGE = 1 << 21
"""Bytes of a huge page."""

_PATIENCE = 1000
"""Arrays, large or small, that may be asked for before pages that none of them was given are kept no longer."""

_free: list[tuple[int, mmap.mmap]] = []
"""What is kept, with when it was given back; what is done to it is one step each, so threads may share it."""

_clock = itertools.count()


def empty(shape: int | tuple[int, ...], kind: type[Any]) -> npt.NDArray[Any]:
    """Return an array that holds anything."""
    dtype = np.dtype(kind)
    size = (math.prod(shape) if isinstance(shape, tuple) else shape) * dtype.itemsize
    now = next(_clock)
    if _free:
        _forget(now)
    room = np.empty(size + LINE_BYTES, np.uint8) if size < LARGE else _pages(size + _HUGE)
    first = -room.ctypes.data % (LINE_BYTES if size < LARGE else _HUGE)
    return room[first : first + size].view(dtype).reshape(shape)


def zeros(shape: int | tuple[int, ...], kind: type[Any]) -> npt.NDArray[Any]:
    """Return an array that holds zeros."""
    found = empty(shape, kind)
    found[...] = 0
    return found


def _pages(size: int) -> npt.NDArray[np.uint8]:
    """Return so many bytes or more; when nothing refers to them any more, they can be had again.

    Private: a process that is forked has what is kept as its own, as Spark's workers have it from their daemon.
    """
    pages = _kept(size)
    if pages is None:
        # an eighth more, so that the next array, which is likely somewhat longer or shorter, fits as well
        pages = mmap.mmap(-1, size + size // 8, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            pages.madvise(mmap.MADV_HUGEPAGE)
    room = np.frombuffer(pages, np.uint8)
    weakref.finalize(room, _give_back, pages).atexit = False
    return room


def _kept(size: int) -> mmap.mmap | None:
    """Return the smallest of the kept that is as long as that, and not many times longer."""
    for entry in sorted(_free, key=lambda entry: len(entry[1])):
        if size <= len(entry[1]) <= 4 * size and _remove(entry):
            return entry[1]
    return None


def _give_back(pages: mmap.mmap) -> None:
    _free.append((next(_clock), pages))


def _forget(now: int) -> None:
    for entry in _free[:]:
        if entry[0] < now - _PATIENCE:
            _remove(entry)  # the last that refers to pages gives them back to the system


def _remove(entry: tuple[int, mmap.mmap]) -> bool:
    """Take an entry from the kept; return False if another thread has done so."""
    try:
        _free.remove(entry)
    except ValueError:
        return False
    return True
