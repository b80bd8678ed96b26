"""Small JSON files that know when they are damaged: a struct inside an envelope with its checksum."""

from __future__ import annotations

import zlib
from typing import TypeVar

import msgspec

from index.files import DamagedFile, Location

T = TypeVar("T")


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    crc32: int
    content: msgspec.Raw


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
        envelope = msgspec.json.decode(data, type=_Envelope)
        found = zlib.crc32(envelope.content)
        if found != envelope.crc32:
            raise DamagedFile(file, f"checksum {found:08x}", f"{envelope.crc32:08x}")
        return msgspec.json.decode(envelope.content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedFile(file, f"text that does not decode ({error})", kind.__name__) from None
