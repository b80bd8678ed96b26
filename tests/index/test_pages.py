"""Arrays that begin with a line of the cache, and pages that are used again."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from index.block import pages

MEGABYTE = 1 << 20


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    gc.collect()
    monkeypatch.setattr(pages, "_free", [])
    yield
    gc.collect()


def _address(array: npt.NDArray[Any]) -> int:
    return array.ctypes.data


@pytest.mark.parametrize("shape", [0, 1, 100, (7, 8), (200_000, 8), (3, 0, 8)])
@pytest.mark.parametrize("kind", [np.int32, np.uint64])
def test_arrays_begin_with_a_line_and_are_as_asked_for(shape: int | tuple[int, ...], kind: type[Any]) -> None:
    for found in (pages.empty(shape, kind), pages.zeros(shape, kind)):
        assert _address(found) % pages.LINE_BYTES == 0 or not found.size
        assert found.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert found.dtype == kind
        assert found.flags.c_contiguous
        assert found.flags.writeable
    assert not found.any()


def test_pages_are_used_again_when_no_array_or_view_has_them() -> None:
    first = pages.empty(4 * MEGABYTE, np.uint8)
    place, view = _address(first), first[100:]
    first[:] = 7
    del first
    second = pages.empty(4 * MEGABYTE, np.uint8)
    assert _address(second) != place, "a view has them"
    assert (view == 7).all()
    del view
    third = pages.zeros(3 * MEGABYTE, np.uint8)
    assert _address(third) == place
    assert not third.any()


def test_an_array_many_times_shorter_does_not_take_long_pages() -> None:
    long = pages.empty(64 * MEGABYTE, np.uint8)
    place = _address(long)
    del long
    assert _address(pages.empty(2 * MEGABYTE, np.uint8)) != place
    assert _address(pages.empty(60 * MEGABYTE, np.uint8)) == place


def test_what_nobody_takes_is_given_back_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_PATIENCE", 5)
    pages.empty(64 * MEGABYTE, np.uint8)
    kept = weakref.ref(pages._free[0][1])
    for _ in range(4):
        pages.empty(10, np.uint8)
    assert kept() is not None
    for _ in range(2):
        pages.empty(10, np.uint8)
    assert kept() is None


def test_threads_never_share_pages() -> None:
    def work(mark: int) -> bool:
        right = True
        for i in range(200):
            mine = pages.empty((1 + i % 3) * MEGABYTE, np.uint8)
            mine[:: MEGABYTE // 8] = mark
            right = right and bool((mine[:: MEGABYTE // 8] == mark).all())
        return right

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_a_forked_process_has_pages_of_its_own() -> None:
    pages.empty(2 * MEGABYTE, np.uint8)[:] = 1
    child = os.fork()
    if not child:
        pages.empty(2 * MEGABYTE, np.uint8)[:] = 2
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (pages.empty(2 * MEGABYTE, np.uint8) == 1).all()
