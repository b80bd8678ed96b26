"""What kernels make of numbers is exactly what `schemas.derived` makes of them, one by one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.derived_numbers import CODES, NONE, OPEN, WHOLE, numeric_results
from index.exact_numbers import ExactNumbers
from schemas.derived import FUNCTIONS, derived_values
from schemas.values import INT64_MAX, INT64_MIN, Number
from tests.strategies import NOT_FINITE, NUMBERS, numbers

BINARY = ("mod", "add", "subtract", "multiply", "divide")
CLOSE: tuple[Number, ...] = (
    *(7, -7, 7.25, -0.5, 0.49999999999999994, 2.5, -2.5, 1 / 3, 1e15 + 0.5, 2.0**52 + 0.5, 2.0**63 - 1024),
    *(2**31, -(2**31), 2**62, -(2**62), 2**53 - 0.5, 1e19, -1e19, 2.0**64, 2.0**1023, 2.2250738585072014e-308),
    *(INT64_MAX // 2 + 1, INT64_MIN // 2 - 1, INT64_MIN // 3, 1_700_000_000_123_456_789),
)
"""Beside the numbers of `tests.strategies`: halves, what is just rounded, and operands whose results just overflow."""

operands = st.one_of(numbers(), st.sampled_from(CLOSE), st.integers(-99, 99), st.floats(-99, 99))


def assert_exact(function: str, args: list[Number], values: list[Number]) -> None:
    kinds, contents = numeric_results(function, ExactNumbers.of(args), ExactNumbers.of(values))
    for arg, kind, content in zip(args, kinds, contents, strict=True):
        assert OPEN not in kind.tolist()
        found = ExactNumbers(kind == WHOLE, content)
        spelled = zip(values, kind.tolist(), content.tolist(), found.to_list(), strict=True)
        for value, of, bits, result in spelled:
            expected = derived_values(function, (arg,) if function in BINARY else (), value)
            shown = (function, arg, value, result)
            if of == NONE:
                assert expected == (), shown
                continue
            assert expected[0] == result or (expected[0] != expected[0] and result != result), shown
            assert bits == ExactNumbers.of([result]).content[0], shown


def allowed(function: str, args: list[Number]) -> list[Number]:
    return [arg for arg in args if arg or function not in ("mod", "divide")] or [1]


@given(
    st.sampled_from(sorted(CODES)),
    st.lists(operands, min_size=1, max_size=5),
    st.lists(operands | st.sampled_from(NOT_FINITE), max_size=6),
)
def test_every_function_is_exact_with_every_argument(function: str, args: list[Number], values: list[Number]) -> None:
    assert_exact(function, allowed(function, args) if function in BINARY else [0], values)


@pytest.mark.parametrize("function", sorted(CODES))
def test_every_pair_of_numbers_where_arithmetic_is_delicate(function: str) -> None:
    everything: list[Number] = [*NUMBERS, *CLOSE]
    args: list[Number] = allowed(function, everything) if function in BINARY else [0]
    assert_exact(function, args, [*everything, *NOT_FINITE, -math.nan])


def test_kernels_know_all_functions_of_numbers() -> None:
    assert set(CODES) == {name for name, function in FUNCTIONS.items() if function.takes is float}
