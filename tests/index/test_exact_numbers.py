"""A number has one spelling in columns, the one that dictionaries know, and comes back as the same number."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from index.exact_numbers import ExactNumbers
from index.numbers import NumberPairs
from index.terms import value_bytes
from index.value_rows import number_rows
from schemas.values import INT64_MAX, INT64_MIN, Number
from tests.strategies import NOT_FINITE, numbers

ANY_NUMBERS = st.lists(st.one_of(numbers(), st.sampled_from((*NOT_FINITE, -math.nan, 2.0**63 - 1024))), max_size=8)


@given(ANY_NUMBERS)
def test_numbers_come_back(values: list[Number]) -> None:
    column = ExactNumbers.of(values)
    for value, found in zip(values, column.to_list(), strict=True):
        assert found == value or (found != found and value != value)
        assert isinstance(found, int) == (INT64_MIN <= value <= INT64_MAX and math.floor(value) == value)


@given(ANY_NUMBERS)
def test_equal_numbers_are_equal_bits(values: list[Number]) -> None:
    column = ExactNumbers.of(values)
    spelled = list(zip(column.whole.tolist(), column.content.tolist(), strict=True))
    for value, mine in zip(values, spelled, strict=True):
        alone = ExactNumbers.of([value])
        assert mine == (alone.whole[0], alone.content[0])
        for other, its in zip(values, spelled, strict=True):
            assert (mine == its) == (value == other or (value != value and other != other))


@given(ANY_NUMBERS)
def test_they_compare_and_are_written_as_values_are(values: list[Number]) -> None:
    column, pairs = ExactNumbers.of(values), NumberPairs.of(values)
    assert np.array_equal(column.pairs().double, pairs.double, equal_nan=True)
    assert column.pairs().remainder.tolist() == pairs.remainder.tolist()
    assert number_rows(column).to_list() == [value_bytes(value) for value in values]
