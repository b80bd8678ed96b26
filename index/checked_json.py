"""Small JSON files that know when they are damaged: a struct inside an envelope with its checksum."""

from __future__ import annotations

import threading
import zlib
from typing import Any, TypeVar

import msgspec

from index.files import DamagedFile, Location

T = TypeVar("T")


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    crc32: int
    content: msgspec.Raw


_envelope_decoder = msgspec.json.Decoder(_Envelope)
_first = threading.Lock()
"""Held while a decoder is looked up or made: two threads that make the first of a type at once crash the process."""


_made: dict[type[Any], msgspec.json.Decoder[Any]] = {}


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    with _first:
        if kind not in _made:
            _made[kind] = msgspec.json.Decoder(kind)
        return _made[kind]


def encode(content: msgspec.Struct) -> bytes:
    """Return a struct as a checked JSON file's bytes."""
    raw = msgspec.json.encode(content)
    return msgspec.json.encode(_Envelope(zlib.crc32(raw), msgspec.Raw(raw)))


def decode(data: bytes, kind: type[T], file: Location) -> T:
    """Return the struct inside a checked JSON file's bytes; ``file`` is for the message only.

    Raises
    ------
    DamagedFile
        The checksum differs, or the content is no ``kind``.
    """
    try:
        envelope = _envelope_decoder.decode(data)
        found = zlib.crc32(envelope.content)
        if found != envelope.crc32:
            raise DamagedFile(file, f"checksum {found:08x}", f"{envelope.crc32:08x}")
        return _decoder(kind).decode(envelope.content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedFile(file, f"text that does not decode ({error})", "what Tocsin writes there") from None
