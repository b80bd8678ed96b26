r"""The format of segments and dead sets: one immutable file of named flat arrays, opened with one memory map.

::

    head     64 bytes: "tocsin" and zeros
    arrays   each starts at a multiple of 64 bytes
    contents JSON: kind, notes, and for each array its name, dtype, shape, offset and CRC-32
    trailer  32 bytes: "TOCSARR\n", format (u32), CRC-32 (u32), length of the contents (u64), length of the file (u64)

An array's CRC covers its bytes and the zeros up to the next multiple of 64. The trailer's covers the contents and the
rest of the trailer, and with the arrays' CRCs it stands for the whole file. Opening checks everything but the arrays'
bytes; `ArrayFile.verify` reads those too. The trailer is the same in every format, so that another format can be told
from damage.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from index import files
from index.files import DamagedFile, Location
from schemas.errors import TocsinError

FORMAT = 5
"""Of all files of an index directory. Raised with each change of what is written, an engine's arrays included; every
format from 1 on stays readable, and ``tests/data`` holds a directory of each."""

ALIGNMENT = 64
"""A cache line, and the widest vector register."""

WHOLE = 2**63
"""A limit of bytes that no file exceeds."""

_HEAD = b"tocsin".ljust(ALIGNMENT, b"\0")
_MAGIC = b"TOCSARR\n"
_TRAILER = struct.Struct("<8sIIQQ")

Array = npt.NDArray[Any]


class ArrayEntry(msgspec.Struct, frozen=True):
    """Where an array stands in its file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    crc32: int


class Contents(msgspec.Struct, frozen=True):
    """What a file holds; ``kind`` and ``notes`` are the writer's."""

    kind: str
    notes: dict[str, str]
    arrays: tuple[ArrayEntry, ...]


_contents_decoder = msgspec.json.Decoder(Contents)


@dataclass(frozen=True, eq=False)
class ArrayFile:
    """An open file; ``arrays`` are read-only views of its map.

    Attributes
    ----------
    path
        The file.
    bytes
        Its length.
    checksum
        The trailer's CRC-32, which stands for the whole content.
    notes
        The writer's notes.
    arrays
        Name to array.
    contents
        The table of contents.
    raw
        The whole map.
    """

    path: Location
    bytes: int
    checksum: int
    notes: Mapping[str, str]
    arrays: Mapping[str, Array]
    contents: Contents
    raw: npt.NDArray[np.uint8] = field(repr=False)

    def verify(self) -> None:
        """Read every array and compare its checksum.

        Raises
        ------
        DamagedFile
            Some array's bytes are not those that were written.
        """
        for entry in self.contents.arrays:
            stop = entry.offset + _padded(self.arrays[entry.name].nbytes)
            found = zlib.crc32(self.raw[entry.offset : stop].data)
            if found != entry.crc32:
                raise DamagedFile(self.path, f"checksum {found:08x} of array {entry.name}", f"{entry.crc32:08x}")


def write_arrays(path: Location, kind: str, notes: Mapping[str, str], arrays: Mapping[str, Array]) -> tuple[int, int]:
    """Write a file that becomes visible as a whole; return its length and its checksum."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    entries: list[ArrayEntry] = []
    offset = len(_HEAD)
    for name, array in plain.items():
        if array.dtype.kind not in "biuf":
            raise ValueError(f"array {name} has dtype {array.dtype}; only plain numbers can be stored")
        checksum = zlib.crc32(_padding(array), zlib.crc32(_as_bytes(array)))
        entries.append(ArrayEntry(name, array.dtype.str, array.shape, offset, checksum))
        offset += _padded(array.nbytes)
    contents = msgspec.json.encode(Contents(kind, dict(notes), tuple(entries)))
    length = offset + len(contents) + _TRAILER.size
    checksum = _checksum(contents, FORMAT, length)
    trailer = _TRAILER.pack(_MAGIC, FORMAT, checksum, len(contents), length)

    def chunks() -> Iterator[files.Bytes]:
        yield _HEAD
        for array in plain.values():
            yield _as_bytes(array)
            yield _padding(array)
        yield contents + trailer

    files.write_new(path, chunks())
    return length, checksum


def open_arrays(path: Location, kind: str, limit: int = 0) -> ArrayFile:
    """Map a file and check its trailer and contents, and if it has at most ``limit`` bytes its arrays.

    An object in a store is mapped from a local copy, which is checked whole before it is kept, by whichever process
    fetched it, and is fetched anew when it turns out damaged.

    Raises
    ------
    DamagedFile
        The file is missing, torn, of another kind, or altered: its trailer, its contents or, as far as they are
        checked, its arrays.
    TocsinError
        The file has a format that this version cannot read.
    """
    try:
        return _open(path, kind, limit)
    except DamagedFile:
        if not files.forget(path):
            raise
        return _open(path, kind, limit)


def _open(path: Location, kind: str, limit: int) -> ArrayFile:
    return _checked(path, kind, limit, files.map_readonly(path, partial(_checked, path, kind, WHOLE)))


def _checked(path: Location, kind: str, limit: int, raw: npt.NDArray[np.uint8]) -> ArrayFile:
    """Return the file that a map holds, with its arrays checked if it has at most ``limit`` bytes."""
    checksum, encoded = _checked_contents(path, raw)
    contents = _contents_decoder.decode(encoded)
    if contents.kind != kind:
        raise DamagedFile(path, f"a file of kind {contents.kind}", kind)
    arrays = {entry.name: _view(raw, entry) for entry in contents.arrays}
    file = ArrayFile(path, len(raw), checksum, contents.notes, arrays, contents, raw)
    if file.bytes <= limit:
        file.verify()
    return file


def expect_format(path: Location, found: int) -> None:
    """Raise unless this version reads files of that format.

    Raises
    ------
    TocsinError
        A later version wrote it.
    """
    if not 1 <= found <= FORMAT:
        raise TocsinError(
            f"{path} has format {found}, this version reads 1 to {FORMAT}. Remove the index directory to rebuild the "
            "index from the subscriptions topic, or run the version that wrote it."
        )


def _checked_contents(path: Location, raw: npt.NDArray[np.uint8]) -> tuple[int, bytes]:
    """Return the trailer's checksum and the contents' bytes, after comparing all that the trailer says."""
    if len(raw) < len(_HEAD) + _TRAILER.size:
        raise DamagedFile(path, f"{len(raw)} bytes", f"at least {len(_HEAD) + _TRAILER.size}")
    magic, version, checksum, contents_length, length = _TRAILER.unpack(raw[-_TRAILER.size :].tobytes())
    if magic != _MAGIC:
        raise DamagedFile(path, f"{magic!r} in the trailer", repr(_MAGIC))
    if length != len(raw):
        raise DamagedFile(path, f"{len(raw)} bytes", f"{length}")
    if raw[: len(_HEAD)].tobytes() != _HEAD:
        raise DamagedFile(path, "another head", repr(_HEAD[:6]))
    encoded = raw[: -_TRAILER.size][-contents_length:].tobytes()
    found = _checksum(encoded, version, length)
    if found != checksum:
        raise DamagedFile(path, f"checksum {found:08x} of the contents", f"{checksum:08x}")
    expect_format(path, version)
    return checksum, encoded


def _view(raw: npt.NDArray[np.uint8], entry: ArrayEntry) -> Array:
    dtype = np.dtype(entry.dtype)
    count = int(np.prod(entry.shape, dtype=np.int64))
    return raw[entry.offset : entry.offset + count * dtype.itemsize].view(dtype).reshape(entry.shape)


def _as_bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _checksum(contents: bytes, version: int, length: int) -> int:
    """Return the CRC-32 of the contents and of all of the trailer but the CRC itself."""
    return zlib.crc32(_TRAILER.pack(_MAGIC, version, 0, len(contents), length), zlib.crc32(contents))


def _padding(array: Array) -> bytes:
    return bytes(_padded(array.nbytes) - array.nbytes)


def _padded(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT
