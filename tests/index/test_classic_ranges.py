"""Ranges as sets of keys: every cover holds exactly what the plain range does, and hierarchies keep covers short."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.block.vocabulary import Vocabulary
from index.classic import dates
from index.classic.keys import KeyReader, KeyTable, number_keys
from index.classic.ranges import Method
from index.event_block import TIME_ATTRIBUTE, EventBlock
from index.oracle import matches
from schemas.expression import Derive, Range
from schemas.records import Event
from schemas.values import Value
from tests.strategies import NOT_FINITE, NUMBERS, event_values, ranges

METHODS: tuple[Method, ...] = ("hierarchy", "enumeration")
HOUR = 3_600_000_000
DAY = 24 * HOUR


def micros(*parts: int) -> int:
    return (datetime(*parts, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)  # type: ignore[misc, arg-type]


def covers(tests: list[Range], method: Method) -> tuple[KeyTable, list[list[int]]]:
    vocabulary = Vocabulary()
    literals = [vocabulary.literal(test) for test in tests]
    table = number_keys(vocabulary, method)
    return table, [table.keys(literal >> 1).tolist() for literal in literals]


def held(table: KeyTable, happened: list[Event]) -> list[set[int]]:
    view = KeyReader(table.arrays).view(EventBlock.from_events(happened))
    return [set(view.key[a:b].tolist()) for a, b in zip(view.start[:-1], view.start[1:], strict=True)]


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=60)
@given(
    tests=st.lists(ranges(), min_size=1, max_size=8),
    values=st.lists(st.lists(event_values(), min_size=1, max_size=3), min_size=1, max_size=6),
)
def test_an_event_has_a_key_of_the_cover_exactly_when_a_value_lies_in_the_range(
    method: Method, tests: list[Range], values: list[list[Value]]
) -> None:
    """Several values of an attribute among them, numbers beyond 2**53, NaN, texts and booleans."""
    happened = [Event({"a": tuple(v), "b": tuple(v)}) for v in values]
    table, keys = covers(tests, method)
    for own, event in zip(held(table, happened), happened, strict=True):
        for test, cover in zip(tests, keys, strict=True):
            assert bool(own & set(cover)) == matches(test, event)


@pytest.mark.parametrize("method", METHODS)
def test_covers_are_exact_for_every_pair_of_bounds_that_is_easily_confused(method: Method) -> None:
    bounds = sorted({*NUMBERS, math.inf, -math.inf})
    tests = [Range("x", ge=low, lt=high) for low in bounds for high in bounds if low < high]
    tests += [Range("x", gt=b) for b in bounds] + [Range("x", le=b) for b in bounds]
    happened = [Event({"x": (v,)}) for v in (*NUMBERS, *NOT_FINITE, "1", True)]
    table, keys = covers(tests, method)
    for own, event in zip(held(table, happened), happened, strict=True):
        assert [bool(own & set(cover)) for cover in keys] == [matches(test, event) for test in tests]


def test_a_hierarchy_covers_with_a_logarithm_of_what_an_enumeration_needs() -> None:
    tests = [Range("x", ge=low, lt=low + 500) for low in range(500)]
    _, few = covers(tests, "hierarchy")
    table, many = covers(tests, "enumeration")
    assert max(map(len, many)) > 900
    assert max(map(len, few)) <= 2 * math.log2(2 * 1000 + 1)
    assert max(map(len, held(table, [Event({"x": (250,)})]))) == 1


def test_the_range_of_the_paper_is_two_months_and_a_pair_of_years() -> None:
    """2006/12 to 2009/01: December, the pair of 2007 and 2008, January."""
    found = dates.cover(micros(2006, 12, 1), micros(2009, 2, 1))
    levels = sorted(node.level for node in found)
    assert levels == [dates.MONTH_LEVEL, dates.MONTH_LEVEL, dates.YEAR_LEVEL + 1]


instants = st.one_of(
    st.integers(micros(1, 1, 1), micros(9999, 12, 31)),
    st.builds(lambda y, m, d: micros(y, m, d), st.integers(1, 9999), st.integers(1, 12), st.integers(1, 28)),
    st.builds(lambda h: micros(2024, 2, 28) + h * HOUR, st.integers(0, 80)),
)


@settings(max_examples=150)
@given(bounds=st.tuples(instants, instants), others=st.lists(instants, max_size=4))
def test_a_cover_of_dates_is_disjoint_and_holds_exactly_its_instants(
    bounds: tuple[int, int], others: list[int]
) -> None:
    low, high = sorted(bounds)
    nodes = dates.cover(low, high)
    asked = np.array(
        [low - 1, low, low + 1, (low + high) // 2, high - 1, high, high + 1, low - DAY, high + DAY, *others]
    )
    hits = sum(
        ((dates.numbers(asked, node.level) == node.number).astype(int) for node in nodes), np.zeros(len(asked), int)
    )
    assert hits.tolist() == [int(low <= instant < high) for instant in asked.tolist()]
    assert len(nodes) <= 2 * (37 + 30 + 11) + 28


def test_ranges_of_instants_go_by_the_calendar_and_mean_what_they_say() -> None:
    """Validity and derived instants alike; an open range ends at the calendar's ends and holds all beyond."""
    days = [micros(2024, 1, 1) + i * 3 * DAY + 7 for i in range(12)]
    of = Derive("~instant", "at")
    tests = [Range(of, ge=days[2], lt=days[9]), Range(of, gt=days[5]), Range(of, le=days[3])]
    tests += [Range(TIME_ATTRIBUTE, ge=days[4]), Range(TIME_ATTRIBUTE, le=days[4])]
    table, keys = covers(tests, "hierarchy")
    assert len(table.arrays["date_attribute"]) == 2
    stamps = [day + step for day in days for step in (-1, 0, 1)]
    stamps += [micros(1, 1, 1), micros(9999, 12, 31), 2**62, -(2**62)]
    for stamp in stamps:
        texts: dict[str, tuple[Value, ...]] = {}
        if abs(stamp) < 2**60:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=stamp)
            texts = {"at": (moment.isoformat(timespec="microseconds"),)}
        [own] = held(table, [Event(texts, time=stamp)])
        wanted = [days[2] <= stamp < days[9], stamp > days[5], stamp <= days[3]] if texts else [False] * 3
        assert [bool(own & set(cover)) for cover in keys] == [*wanted, stamp >= days[4], stamp <= days[4]]


def test_bounds_outside_the_calendar_go_by_rank() -> None:
    tests = [Range(TIME_ATTRIBUTE, ge=2**61), Range(TIME_ATTRIBUTE, le=5)]
    table, keys = covers(tests, "hierarchy")
    assert len(table.arrays["date_attribute"]) == 0
    for stamp, wanted in ((2**61 - 1, [False, False]), (2**61, [True, False]), (5, [False, True]), (6, [False, False])):
        [own] = held(table, [Event({}, time=stamp)])
        assert [bool(own & set(cover)) for cover in keys] == wanted


def test_a_range_in_which_nothing_can_lie_has_no_keys() -> None:
    for method in METHODS:
        _, [cover] = covers([Range("x", gt=1, lt=1)], method)
        assert cover == []
