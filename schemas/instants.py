"""RFC 3339 texts as instants: microseconds since 1970-01-01T00:00:00Z, which order as the times do."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_FORM = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2})))?"
)
_DAY = 86_400_000_000
_EPOCH_DAY = EPOCH.toordinal()


def instant(text: str) -> int | None:
    """Return the instant that a text names, in microseconds since the epoch, or None when it names none.

    Parameters
    ----------
    text
        An RFC 3339 date-time with its offset, between date and time ``T``, ``t`` or one blank; or a date alone, which
        is its midnight in UTC. Digits of the second after the sixth are cut off. Second 60 is the next second. Years
        go from 1 to 9999.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, sign, off_hour, off_minute = found.groups()
    try:
        days = datetime(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    if hour is None:
        return days * _DAY
    seconds = _seconds(int(hour), int(minute), int(second))
    shift = 0 if sign is None else _offset(sign, int(off_hour), int(off_minute))
    if seconds is None or shift is None:
        return None
    return days * _DAY + (seconds - shift) * 1_000_000 + int((fraction or "")[:6].ljust(6, "0"))


def utc(microseconds: int) -> datetime | None:
    """Return an instant as a calendar time in UTC, None when it lies outside the years 1 to 9999."""
    try:
        return EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None


def _seconds(hour: int, minute: int, second: int) -> int | None:
    return None if hour > 23 or minute > 59 or second > 60 else (hour * 60 + minute) * 60 + second


def _offset(sign: str, hour: int, minute: int) -> int | None:
    if hour > 23 or minute > 59:
        return None
    seconds = (hour * 60 + minute) * 60
    return -seconds if sign == "-" else seconds
