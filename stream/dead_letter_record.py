"""The Kafka record of a dead letter: key and value as they came, or what of them a record can hold, and headers."""

from __future__ import annotations

from typing import Final

import msgspec

from schemas.records import DeadLetter

Headers = list[tuple[str, str | bytes | None]]

FRAMING_PART: Final = 20
"""One part in so many of a record batch's limit is left for the framing of the batch and of the record."""

HEADER_BYTES: Final = 16
"""For a header's framing, beside its name and value."""

MESSAGE_BYTES: Final = 8_000
"""What a message may take; one that quotes a record is far shorter, as a rule."""

TRUNCATED: Final = "tocsin.truncated"


class Origin(msgspec.Struct, frozen=True, rename=lambda name: f"tocsin.{name}"):
    """What the headers of a dead letter say, those of `schemas.records.DeadLetter`; read where they are text."""

    reason: str
    message: str
    topic: str
    partition: int
    offset: int


def record_bytes(batch_bytes: int) -> int:
    """Return how large the key, value and headers of a record may be together, by the limit of a record batch."""
    return batch_bytes - batch_bytes // FRAMING_PART


def dead_letter_record(letter: DeadLetter, limit: int) -> tuple[bytes | None, bytes | None, Headers]:
    """Return key, value and headers, together at most ``limit`` bytes.

    What a record can't hold is cut off at the end, of the value first. The header ``tocsin.truncated`` then says how
    much of each is there and how long it was: ``key 3 of 3, value 990000 of 1048576 bytes``.
    """
    headers: Headers = [(name, value[: min(MESSAGE_BYTES, limit // 4)]) for name, value in letter.headers()]
    room = limit - sum(len(name) + len(value or "") + HEADER_BYTES for name, value in headers)
    key, value = letter.key, letter.value
    whole = len(key or b""), len(value or b"")
    if sum(whole) <= room:
        return key, value, headers
    room = max(0, room - len(TRUNCATED) - HEADER_BYTES - 64)
    key = None if key is None else key[: max(room // 4, room - whole[1])]
    value = None if value is None else value[: room - len(key or b"")]
    told = f"key {len(key or b'')} of {whole[0]}, value {len(value or b'')} of {whole[1]} bytes"
    return key, value, [*headers, (TRUNCATED, told.encode())]
