"""Kernels' indices are compiled as they are: nothing is asked of them, and the check of bounds finds negative ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

from index.plain_indices import KernelCompiler

ROW = np.arange(5)
TABLE = np.arange(15, dtype=np.int32).reshape(5, 3)


def _read(array, i):  # type: ignore[no-untyped-def]
    return array[i]


def _read_of_row(array, i):  # type: ignore[no-untyped-def]
    return array[i, i >> 1]


def _written(array, i):  # type: ignore[no-untyped-def]
    array[i] += 1
    return array[i]


def _written_of_row(array, i):  # type: ignore[no-untyped-def]
    array[i, 2] = i
    return array[i, 2]


CASES = ((_read, ROW), (_read_of_row, TABLE), (_written, ROW), (_written_of_row, TABLE))


@pytest.mark.parametrize(("function", "array"), CASES)
def test_nothing_is_asked_of_an_index(function: Callable[..., Any], array: np.ndarray) -> None:
    usual, plain = njit(function), njit(function, pipeline_class=KernelCompiler)
    for i in range(len(array)):
        assert plain(array.copy(), i) == function(array.copy(), i) == usual(array.copy(), i)
    asked = [sum(text.count("select") for text in f.inspect_llvm().values()) for f in (usual, plain)]
    assert asked[0] > 0
    assert asked[1] == 0


@pytest.mark.parametrize(("function", "array"), CASES)
@pytest.mark.parametrize("i", [-1, -7, 5])
def test_an_index_outside_is_an_error_where_bounds_are_checked(
    function: Callable[..., Any], array: np.ndarray, i: int
) -> None:
    checked = njit(function, pipeline_class=KernelCompiler, boundscheck=True)
    with pytest.raises(IndexError, match="out of bounds"):
        checked(array.copy(), i)
