"""Dead letters fit into a record: as they came when they can, else cut, and then they say so."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas.records import DeadLetter
from stream.commands.dead_letters import _letter
from stream.dead_letter_record import dead_letter_record, record_bytes

LIMIT = record_bytes(1_048_588)
sizes = st.integers(0, 3_000) | st.integers(900_000, 1_100_000)


def _size(key: bytes | None, value: bytes | None, headers: list[tuple[str, str | bytes | None]]) -> int:
    """As Kafka counts: a header takes at most ten bytes of lengths beside its name and value."""
    return len(key or b"") + len(value or b"") + sum(len(name) + len(held or "") + 10 for name, held in headers)


@given(
    st.none() | sizes, st.none() | sizes, st.sampled_from([10, 500, 200_000]), st.sampled_from([LIMIT, 100_000, 4_000])
)
@example(1_048_576, 0, 20, LIMIT)
@example(None, 1_048_576, 20, LIMIT)
@example(900_000, 900_000, 20, LIMIT)
def test_a_letter_fits_and_is_whole_or_says_what_was_cut(
    key: int | None, value: int | None, message: int, limit: int
) -> None:
    before = [None if size is None else b"kv"[n : n + 1] * size for n, size in enumerate((key, value))]
    letter = DeadLetter(before[0], before[1], "event.json", "m" * message, "events", 3, 12345)
    *after, headers = dead_letter_record(letter, limit)
    assert _size(after[0], after[1], headers) <= limit
    named: dict[str, Any] = dict(headers)
    assert named["tocsin.reason"] == b"event.json"
    assert (named["tocsin.partition"], named["tocsin.offset"]) == (b"3", b"12345")
    assert (b"m" * message).startswith(named["tocsin.message"])
    for old, new in zip(before, after, strict=True):
        assert (old is None) == (new is None)
        assert (old or b"").startswith(new or b"")
    if "tocsin.truncated" not in named:
        assert after == before
        return
    assert after != before
    told = re.fullmatch(r"key (\d+) of (\d+), value (\d+) of (\d+) bytes", named["tocsin.truncated"].decode())
    assert told is not None
    lengths = [len(part or b"") for part in (after[0], before[0], after[1], before[1])]
    assert [int(number) for number in told.groups()] == lengths


def test_a_long_key_is_cut_only_where_the_value_alone_does_not_do() -> None:
    letter = DeadLetter(b"k" * 1000, b"v" * 2_000_000, "event.json", "m", "events", 0, 0)
    key, value, headers = dead_letter_record(letter, LIMIT)
    assert key == letter.key
    assert len(value or b"") > 0.99 * LIMIT - 2000
    assert dict(headers)["tocsin.truncated"] == f"key 1000 of 1000, value {len(value or b'')} of 2000000 bytes".encode()


@pytest.mark.parametrize(
    ("milliseconds", "time"),
    [
        (1_772_366_400_007, "2026-03-01T12:00:00.007Z"),
        (300_000_000_000_000, "11476-08-15T05:20:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ],
)
def test_any_time_of_a_record_is_shown(milliseconds: int, time: str) -> None:
    """Topics may let producers give times of the far future."""
    letter = DeadLetter(b"k", b"v", "json.syntax", "not JSON", "events", 0, 3)
    record: Any = Record(letter.headers(), milliseconds)
    assert _letter(record) == {
        "reason": "json.syntax",
        "message": "not JSON",
        "topic": "events",
        "partition": 0,
        "offset": 3,
        "time": time,
        "key": "k",
        "value": "v",
    }


class Record:
    """As much of the client's record as the command looks at."""

    def __init__(self, headers: list[tuple[str, bytes]], milliseconds: int) -> None:
        self.headers = lambda: headers
        self.timestamp = lambda: (1, milliseconds)
        self.key = lambda: b"k"
        self.value = lambda: b"v"
