"""Columns of byte strings in compressed blocks, for rows that are seldom read: the bodies of subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from index.byte_rows import ByteRows, Int64s, UInt8s
from index.damaged_file import DamagedFile
from index.slices import starts_of

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 2**16
"""A block gathers rows up to this many bytes, their lengths included; a row that is longer has a block of its own."""

LARGEST = 2**20
"""No compressed block unpacks to more, so that a forged length can't fill the memory; larger ones stand as they are."""

LEVEL = 1
"""zstd's: on bodies level 3 wins 2 % more and takes 8 % longer."""

_LENGTH = np.dtype("<u4")
_PIECE = 1024
"""So many rows are gathered or packed at a time."""


class PackedRows:
    """Rows in blocks, each compressed by itself unless that does not make it smaller.

    A block unpacks to the lengths of its rows (u32 each) and then the rows.

    Parameters
    ----------
    data
        uint8, all blocks one after the other.
    blocks
        int64 [blocks + 1, 3]: for each block its first row, where it begins in ``data``, and its length when unpacked;
        then the number of rows, the length of ``data``, and 0.
    file
        Where the rows come from; an error names it.
    """

    def __init__(self, data: UInt8s, blocks: Int64s, file: Any = "a column in memory") -> None:
        self.data = data
        self.blocks = blocks
        self._file = file
        self._recent: dict[int, ByteRows] = {}

    @classmethod
    def of(cls, rows: Sequence[bytes]) -> PackedRows:
        """Return the rows in blocks."""
        return cls._packed(ByteRows.of(rows[i : i + _PIECE]) for i in range(0, len(rows), _PIECE))

    @classmethod
    def packed(cls, table: PackedRows | ByteRows) -> PackedRows:
        """Return the rows of a table in blocks; the table itself if they are."""
        if isinstance(table, PackedRows):
            return table
        count = len(table)
        return cls._packed(table.part(i, min(i + _PIECE, count)) for i in range(0, count, _PIECE))

    @classmethod
    def concatenate(cls, tables: Sequence[PackedRows | ByteRows]) -> PackedRows:
        """Return the rows of all tables, in their order; blocks stay as they are."""
        blocks = [np.zeros((1, 3), np.int64)]
        data = [np.zeros(0, np.uint8)]
        for table in map(cls.packed, tables):
            end = blocks[-1][-1]
            blocks[-1] = blocks[-1][:-1]
            blocks.append(table.blocks + end)  # the third number of an end is 0
            data.append(table.data)
        return cls(np.concatenate(data), np.concatenate(blocks))

    def __len__(self) -> int:
        return int(self.blocks[-1, 0])

    def __getitem__(self, row: int) -> bytes:
        block = int(np.searchsorted(self.blocks[:, 0], row, side="right")) - 1
        self._recent = {block: self._unpacked(block)}
        return self._recent[block][row - int(self.blocks[block, 0])]

    def __iter__(self) -> Iterator[bytes]:
        for block in range(len(self.blocks) - 1):
            yield from self._unpacked(block)

    def to_list(self) -> list[bytes]:
        """Return the rows as bytes objects."""
        return list(iter(self))  # of the table itself list() would ask the length, which may be forged

    def take(self, rows: npt.NDArray[np.integer]) -> PackedRows:
        """Return the named rows, in the order named; a block that near places of it name is unpacked once."""
        return self._packed(self._gathered(rows[i : i + _PIECE]) for i in range(0, len(rows), _PIECE))

    @classmethod
    def _packed(cls, tables: Iterable[ByteRows]) -> PackedRows:
        data: list[bytes] = []
        blocks = [(0, 0, 0)]
        for table in _cut(tables):
            unpacked = np.diff(table.offsets).astype(_LENGTH).tobytes() + table.data.tobytes()
            packed = _codec().compress(unpacked, asbytes=True) if len(unpacked) <= LARGEST else unpacked
            data.append(packed if len(packed) < len(unpacked) else unpacked)
            row, start, _ = blocks.pop()
            blocks += [(row, start, len(unpacked)), (row + len(table), start + len(data[-1]), 0)]
        return cls(np.frombuffer(b"".join(data), np.uint8), np.array(blocks, np.int64))

    def _gathered(self, rows: npt.NDArray[np.integer]) -> ByteRows:
        """Gather rows from the blocks they are in, which are remembered: the next rows often are in the same ones."""
        block = np.searchsorted(self.blocks[:, 0], rows, side="right") - 1
        wanted, place = np.unique(block, return_inverse=True)
        self._recent = {number: self._unpacked(number) for number in wanted.tolist()}
        tables = list(self._recent.values())
        starts = np.cumsum([0, *map(len, tables[:-1])])
        return ByteRows.concatenate(tables).take(rows - self.blocks[block, 0] + starts[place])

    def _unpacked(self, block: int) -> ByteRows:
        recent = self._recent.get(block)
        if recent is not None:
            return recent
        first, start, length = self.blocks[block].tolist()
        after, stop, _ = self.blocks[block + 1].tolist()
        unpacked = self._bytes(start, stop, length)
        count = after - first
        if not 0 <= count * _LENGTH.itemsize <= len(unpacked):
            raise DamagedFile(self._file, f"a block of {len(unpacked)} bytes", f"{count} rows in it")
        offsets = starts_of(np.frombuffer(unpacked, _LENGTH, count), count)
        data = np.frombuffer(unpacked, np.uint8, offset=count * _LENGTH.itemsize)
        if offsets[-1] != len(data):
            raise DamagedFile(self._file, f"{len(data)} bytes of rows in a block", f"{offsets[-1]}")
        return ByteRows(data, offsets)

    def _bytes(self, start: int, stop: int, length: int) -> bytes:
        packed = self.data[start:stop].tobytes()
        if len(packed) == length:
            return packed
        if not 0 <= length <= LARGEST:
            raise DamagedFile(self._file, f"a block that unpacks to {length} bytes", f"at most {LARGEST}")
        try:
            return bytes(_codec().decompress(packed, length, asbytes=True))
        except OSError as error:
            raise DamagedFile(self._file, f"a block that does not unpack ({error})", f"{length} bytes") from error


def _cut(tables: Iterable[ByteRows]) -> Iterator[ByteRows]:
    """Yield the rows of all tables, one after the other, as tables that fill a block each."""
    rest = ByteRows.of([])
    for table in tables:
        rows = ByteRows.concatenate([rest, table]) if len(rest) else table
        filled = np.arange(len(rows) + 1) * _LENGTH.itemsize + rows.offsets
        bounds = [0]
        while filled[-1] - filled[bounds[-1]] > BLOCK and bounds[-1] < len(rows) - 1:
            fitting = int(np.searchsorted(filled, filled[bounds[-1]] + BLOCK, side="right")) - 1
            bounds.append(max(bounds[-1] + 1, fitting))
        yield from (rows.part(start, stop) for start, stop in pairwise(bounds))
        rest = rows.part(bounds[-1], len(rows))
    if len(rest):
        yield rest


@cache
def _codec() -> pa.Codec:
    import pyarrow as pa  # a quarter of a second, which those who read no body don't wait for

    return pa.Codec("zstd", compression_level=LEVEL)
