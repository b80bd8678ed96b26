r"""The format of segments and dead sets: one immutable file of named flat arrays, opened with one memory map.

::

    head     64 bytes: "tocsin" and zeros
    arrays   each starts at a multiple of 64 bytes
    contents JSON: kind, notes, and for each array its name, dtype, shape, offset and CRC-32
    trailer  32 bytes: "TOCSARR\n", format (u32), CRC-32 of the contents (u32), length of the contents (u64), length of
             the file (u64)

The trailer's CRC covers the arrays' CRCs, so it stands for the whole file. Opening checks everything but the arrays'
bytes; `ArrayFile.verify` reads those too.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from index import files
from index.files import DamagedFile
from schemas.errors import TocsinError

FORMAT = 1
"""Raised whenever a file of an earlier format can no longer be read."""

ALIGNMENT = 64
"""A cache line, and the widest vector register."""

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
    """

    path: Path
    bytes: int
    checksum: int
    notes: Mapping[str, str]
    arrays: Mapping[str, Array]
    contents: Contents

    def verify(self) -> None:
        """Read every array and compare its checksum.

        Raises
        ------
        DamagedFile
            Some array's bytes are not those that were written.
        """
        for entry in self.contents.arrays:
            found = zlib.crc32(_as_bytes(self.arrays[entry.name]))
            if found != entry.crc32:
                raise DamagedFile(self.path, f"checksum {found:08x} of array {entry.name}", f"{entry.crc32:08x}")


def write_arrays(path: Path, kind: str, notes: Mapping[str, str], arrays: Mapping[str, Array]) -> tuple[int, int]:
    """Write a file that becomes visible as a whole; return its length and its checksum."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    entries: list[ArrayEntry] = []
    offset = len(_HEAD)
    for name, array in plain.items():
        if array.dtype.kind not in "biuf":
            raise ValueError(f"array {name} has dtype {array.dtype}; only plain numbers can be stored")
        entries.append(ArrayEntry(name, array.dtype.str, array.shape, offset, zlib.crc32(_as_bytes(array))))
        offset += _padded(array.nbytes)
    contents = msgspec.json.encode(Contents(kind, dict(notes), tuple(entries)))
    checksum = zlib.crc32(contents)
    length = offset + len(contents) + _TRAILER.size
    trailer = _TRAILER.pack(_MAGIC, FORMAT, checksum, len(contents), length)

    def chunks() -> Iterator[files.Bytes]:
        yield _HEAD
        for array in plain.values():
            yield _as_bytes(array)
            yield bytes(_padded(array.nbytes) - array.nbytes)
        yield contents + trailer

    files.write_new(path, chunks())
    return length, checksum


def open_arrays(path: Path, kind: str) -> ArrayFile:
    """Map a file and check its trailer and contents.

    Raises
    ------
    DamagedFile
        The file is missing, torn, of another kind, or its trailer or contents were altered.
    TocsinError
        The file has a format that this version cannot read.
    """
    raw = files.map_readonly(path)
    checksum, encoded = _checked_contents(path, raw)
    contents = msgspec.json.decode(encoded, type=Contents)
    if contents.kind != kind:
        raise DamagedFile(path, f"a file of kind {contents.kind}", kind)
    arrays = {entry.name: _view(raw, entry) for entry in contents.arrays}
    return ArrayFile(path, len(raw), checksum, contents.notes, arrays, contents)


def _checked_contents(path: Path, raw: npt.NDArray[np.uint8]) -> tuple[int, bytes]:
    """Return the trailer's checksum and the contents' bytes, after comparing all that the trailer says."""
    if len(raw) < len(_HEAD) + _TRAILER.size:
        raise DamagedFile(path, f"{len(raw)} bytes", f"at least {len(_HEAD) + _TRAILER.size}")
    magic, version, checksum, contents_length, length = _TRAILER.unpack(raw[-_TRAILER.size :].tobytes())
    if magic != _MAGIC:
        raise DamagedFile(path, f"{magic!r} in the trailer", repr(_MAGIC))
    if version != FORMAT:
        raise TocsinError(
            f"{path} has format {version}, this version reads {FORMAT}. Remove the index directory and the job's "
            "checkpoint to rebuild the index from the subscriptions topic, or run the version that wrote it."
        )
    if length != len(raw):
        raise DamagedFile(path, f"{len(raw)} bytes", f"{length}")
    if raw[: len(_HEAD)].tobytes() != _HEAD:
        raise DamagedFile(path, "another head", repr(_HEAD[:6]))
    encoded = raw[: -_TRAILER.size][-contents_length:].tobytes()
    if zlib.crc32(encoded) != checksum:
        raise DamagedFile(path, f"checksum {zlib.crc32(encoded):08x} of the contents", f"{checksum:08x}")
    return checksum, encoded


def _view(raw: npt.NDArray[np.uint8], entry: ArrayEntry) -> Array:
    dtype = np.dtype(entry.dtype)
    count = int(np.prod(entry.shape, dtype=np.int64))
    return raw[entry.offset : entry.offset + count * dtype.itemsize].view(dtype).reshape(entry.shape)


def _as_bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _padded(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT
