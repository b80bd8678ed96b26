"""Dictionaries find what they hold and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import terms
from index.byte_rows import ByteRows
from index.numbers import NumberPairs
from index.terms import Dictionary, bytes_value, text_bytes, value_bytes
from schemas.values import Number, Value, same_value
from tests.strategies import numbers, strings, values

Key = tuple[int, bytes]


def dictionary(keys: list[Key]) -> Dictionary:
    return Dictionary.build(np.array([tag for tag, _ in keys], np.int32), ByteRows.of([key for _, key in keys]))


def find(held: Dictionary, keys: list[Key]) -> list[int]:
    tags, contents = np.array([tag for tag, _ in keys], np.int32), ByteRows.of([key for _, key in keys])
    return [int(term) for term in held.find(tags, contents)]


@given(values(), values())
def test_values_have_the_same_bytes_exactly_when_they_are_equal(a: Value, b: Value) -> None:
    assert (value_bytes(a) == value_bytes(b)) == same_value(a, b)


@given(values())
def test_bytes_lead_back_to_an_equal_value(value: Value) -> None:
    assert same_value(bytes_value(value_bytes(value)), value)


@given(strings(), strings())
def test_text_bytes_are_ordered_as_code_points(a: str, b: str) -> None:
    assert (text_bytes(a) < text_bytes(b)) == (a < b)


def test_a_lone_surrogate_keeps_its_place_between_its_neighbours() -> None:
    assert text_bytes("\ud7ff") < text_bytes("\ud800") < text_bytes("\ue000")


@given(st.lists(numbers(), max_size=20))
def test_number_pairs_are_ordered_as_numbers(listed: list[Number]) -> None:
    pairs = NumberPairs.of(listed)
    columns = list(zip(pairs.double.tolist(), pairs.remainder.tolist(), strict=True))
    for a, x in zip(listed, columns, strict=True):
        for b, y in zip(listed, columns, strict=True):
            assert ((x < y), (x == y)) == ((a < b), (a == b))


_keys = st.lists(st.tuples(st.integers(0, 3), st.binary(min_size=1, max_size=3)), unique=True, max_size=60)


@given(_keys, _keys)
def test_a_dictionary_finds_its_keys_and_no_others(held: list[Key], asked: list[Key]) -> None:
    place = {key: i for i, key in enumerate(held)}
    assert find(dictionary(held), held + asked) == [place.get(key, -1) for key in held + asked]


def test_no_bytes_and_no_tag_are_never_found() -> None:
    held = dictionary([(0, b"x"), (1, b"x")])
    assert find(held, [(0, b""), (-1, b"x"), (1, b"x"), (2, b"x")]) == [-1, -1, 1, -1]


def test_keys_that_crowd_together_get_another_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [(i % 5, value_bytes(i)) for i in range(40)]
    first = dictionary(held)
    distance = terms._fill(first.tags, first.keys.data, first.keys.offsets, np.uint64(0), first.slots.copy())
    assert first.seed[0] == 0
    for limit in (distance - 1, -1):  # the last one suits no seed, which costs time and nothing else
        monkeypatch.setattr(terms, "PROBE_LIMIT", limit)
        crowded = dictionary(held)
        assert 0 < crowded.seed[0] <= 31
        assert find(Dictionary.of(crowded.parts("p"), "p"), held) == list(range(40))
