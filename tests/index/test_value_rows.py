"""Values written in columns have the bytes of values written one by one, whatever stands beside them."""

from __future__ import annotations

import enum
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import value_rows as columns
from index.byte_rows import ByteRows
from index.numbers import NumberPairs
from index.terms import value_bytes
from index.value_rows import value_rows
from schemas.values import INT64_MAX, INT64_MIN, Value
from tests.strategies import NOT_FINITE, NUMBERS, STRINGS, event_values

ODD_TEXTS = (*STRINGS, "\x7f", "\x80", "\xff", "\ud800", "\udc00\ud800", "\ud83d", "\ude00", "\0", "s", "i", "s\x80s")
ODD_NUMBERS = (*NUMBERS, *NOT_FINITE, 2.0**63, math.nextafter(2.0**63, 0), math.nextafter(-(2.0**63), -math.inf))

texts = st.one_of(st.sampled_from(ODD_TEXTS), st.text(st.characters(), max_size=4))
ascii_texts = st.text(st.characters(max_codepoint=127), max_size=4)
latin_texts = st.text(st.characters(max_codepoint=255), max_size=4)
integers = st.one_of(st.sampled_from([n for n in ODD_NUMBERS if isinstance(n, int)]), st.integers(INT64_MIN, INT64_MAX))
doubles = st.one_of(st.sampled_from([float(n) for n in ODD_NUMBERS]), st.floats())
kinds = (texts, ascii_texts, latin_texts, integers, doubles, st.booleans())


class Word(str):
    """A text of another type."""


class Colour(enum.IntEnum):
    RED = 7


@pytest.fixture(params=["few", "many"], autouse=True)
def however_many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few values be written as many are, too."""
    if request.param == "many":
        monkeypatch.setattr(columns, "_FEW", 0)
        monkeypatch.setattr(columns, "_FEW_TEXTS", 0)


def same(values: list[Value]) -> None:
    made, expected = value_rows(values), ByteRows.of([value_bytes(value) for value in values])
    assert made.to_list() == expected.to_list()
    assert made.data.tobytes() == expected.data.tobytes()
    assert made.offsets.tolist() == expected.offsets.tolist()
    for own, other in ((made.data, expected.data), (made.offsets, expected.offsets)):
        assert (own.dtype, own.ndim, own.flags.c_contiguous, own.flags.writeable) == (other.dtype, 1, True, False)


@given(st.one_of(*map(st.lists, (*kinds, event_values(), st.one_of(*kinds)))))
def test_columns_have_the_bytes_of_single_values(values: list[Value]) -> None:
    same(values)


@pytest.mark.parametrize("values", [ODD_TEXTS, ODD_NUMBERS, (True, False), (*ODD_TEXTS, *ODD_NUMBERS, True, False)])
def test_odd_values_have_their_bytes(values: tuple[Value, ...]) -> None:
    same(list(values))
    for value in values:
        same([value])
        same([value, value])
        same(["a", value, 1])


def test_values_of_other_types_are_written_as_those_they_derive_from() -> None:
    same([Word("é"), "a", Colour.RED, np.float64(7.0), np.float64(0.5), True, 3])
    same([Word("a"), Word("")])


def test_thousands_of_values_are_written_in_their_order() -> None:
    mixed: list[Value] = [(f"v{i}", i, i / 4, i % 2 == 0, math.nan, f"é{i}")[i % 6] for i in range(3000)]
    same(mixed)
    for kind in range(6):
        same(mixed[kind::6])


def test_an_integer_beyond_64_bits_is_refused_beside_whatever_values() -> None:
    beside: list[list[Value]] = [[], [1], ["a"], [0.5, True]]
    for values in beside:
        with pytest.raises(OverflowError):
            value_rows([*values, INT64_MAX + 1])


@given(st.lists(st.one_of(*kinds)))
def test_numbers_in_columns_are_the_nearest_doubles_and_what_they_lack(values: list[Value]) -> None:
    pairs = NumberPairs.of(values)
    for value, double, remainder in zip(values, pairs.double.tolist(), pairs.remainder.tolist(), strict=True):
        if isinstance(value, str | bool) or value != value:
            assert (math.isnan(double), remainder) == (True, 0)
        else:
            assert (double, remainder) == (float(value), value - int(double) if isinstance(value, int) else 0)
