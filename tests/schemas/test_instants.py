"""RFC 3339 texts as instants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.instants import EPOCH, instant, utc

OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def since_epoch(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=OFFSETS), st.sampled_from("Tt "))
def test_an_instant_is_what_datetime_says(time: datetime, between: str) -> None:
    assert instant(time.isoformat(between)) == since_epoch(time)


@given(st.datetimes(timezones=st.just(UTC)))
def test_utc_gives_the_instant_back(time: datetime) -> None:
    assert utc(since_epoch(time)) == time
    assert instant(time.isoformat().replace("+00:00", "z")) == since_epoch(time)


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01", 0),
        ("1970-01-02", 86_400_000_000),
        ("1970-01-01 00:00:00.1z", 100_000),
        ("1970-01-01t00:00:00.000001999-00:00", 1),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("1970-01-01T00:00:00.0000019999999999999999Z", 1),
        ("1970-01-01T00:00:60Z", 60_000_000),
        ("2016-12-31T23:59:60Z", since_epoch(datetime(2017, 1, 1, tzinfo=UTC))),
        ("0001-01-01T00:00:00+23:59", since_epoch(datetime(1, 1, 1, tzinfo=UTC)) - 1439 * 60_000_000),
        ("1970-01-01T02:00:00+02:00", 0),
    ],
)
def test_forms_that_are_instants(text: str, microseconds: int) -> None:
    assert instant(text) == microseconds


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "1970", "1970-01", "1970-1-1", "1970-01-01T00:00:00", "1970-01-01T00:00Z", "1970-01-01Z"),
        *("1970-02-30", "1970-13-01", "0000-01-01", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z"),
        *("1970-01-01T00:00:61Z", "1970-01-01T00:00:00+24:00", "1970-01-01T00:00:00+00:60", "1970-01-01T00:00:00.Z"),
        *("1970-01-01T00:00:00Z\n", " 1970-01-01", "1970-01-01\n", "١٩٧٠-01-01"),
        *("1970-01-01T00:00:00+0000", "1970-01-01  00:00:00Z", "-1970-01-01", "19700101"),
    ],
)
def test_forms_that_are_none(text: str) -> None:
    assert instant(text) is None


def test_an_instant_outside_the_calendar_has_no_calendar_time() -> None:
    before = instant("0001-01-01T00:00:00+00:01")
    assert before is not None
    assert utc(before) is None
