"""Columns of byte strings as two flat arrays, with the look-ups, gathers and comparisons that the index needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from numba import njit

from index.slices import starts_of

Int64s = npt.NDArray[np.int64]
UInt8s = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64] | npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class ByteRows:
    """Row ``i`` is ``data[offsets[i]:offsets[i + 1]]``; both arrays are read-only.

    Attributes
    ----------
    data
        uint8, all rows one after the other.
    offsets
        int64 or, in a file, uint32 [rows + 1], ascending from 0.
    """

    data: UInt8s
    offsets: Offsets

    def __post_init__(self) -> None:
        # Mapped arrays are read-only; the same for all keeps one compiled form of each kernel.
        self.data.flags.writeable = False
        self.offsets.flags.writeable = False

    @classmethod
    def of(cls, rows: Sequence[bytes]) -> ByteRows:
        """Return the rows in columns."""
        offsets = starts_of(map(len, rows), len(rows))
        return cls(np.frombuffer(b"".join(rows), np.uint8), offsets)

    @classmethod
    def concatenate(cls, tables: Sequence[ByteRows]) -> ByteRows:
        """Return the rows of all tables, in their order."""
        offsets = np.zeros(sum(map(len, tables)) + 1, np.int64)
        last = 0
        for table in tables:
            np.add(table.offsets[1:], offsets[last], out=offsets[last + 1 : last + 1 + len(table)])
            last += len(table)
        return cls(np.concatenate([np.zeros(0, np.uint8), *(table.data for table in tables)]), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> bytes:
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.to_list())

    def part(self, start: int, stop: int) -> ByteRows:
        """Return a range of rows, whose bytes are not copied."""
        offsets = self.offsets[start : stop + 1].astype(np.int64)
        return ByteRows(self.data[offsets[0] : offsets[-1]], offsets - offsets[0])

    def small(self) -> ByteRows:
        """Return the rows under offsets of four bytes, if these suffice."""
        fits = self.offsets[-1] <= np.iinfo(np.uint32).max
        return ByteRows(self.data, self.offsets.astype(np.uint32)) if fits else self

    def to_list(self) -> list[bytes]:
        """Return the rows as bytes objects."""
        data = self.data.tobytes()
        bounds = self.offsets.tolist()
        return [data[start:stop] for start, stop in pairwise(bounds)]

    def take(self, rows: npt.NDArray[np.integer]) -> ByteRows:
        """Return the named rows, in the order named."""
        rows = rows.astype(np.int64)
        starts = self.offsets[rows].astype(np.int64)
        offsets = starts_of(self.offsets[rows + 1] - starts, len(rows))
        data = np.empty(offsets[-1], np.uint8)
        _gather(self.data, starts, offsets, data)
        return ByteRows(data, offsets)

    def lengths(self, rows: npt.NDArray[np.integer]) -> Int64s:
        """Return how many bytes the named rows have."""
        lengths: Int64s = self.offsets[rows + 1].astype(np.int64) - self.offsets[rows]
        return lengths

    def find(self, needles: ByteRows) -> Int64s:
        """Return for each needle the row that equals it, or -1; the rows of ``self`` must be ascending."""
        found = np.empty(len(needles), np.int64)
        _find(self.data, self.offsets, needles.data, _wide(needles.offsets), found)
        return found

    def ascending(self) -> bool:
        """Return whether every row is greater than the one before it."""
        return bool(_ascending(self.data, _wide(self.offsets)))

    def hashes(self) -> npt.NDArray[np.uint64]:
        """Return a 64-bit hash of each row: equal rows have equal hashes, unequal rows seldom do."""
        out = np.empty(len(self), np.uint64)
        _hash(self.data, _wide(self.offsets), out)
        return out


def _wide(offsets: Offsets) -> Int64s:
    """Return offsets of eight bytes, read-only: one form of most kernels is enough."""
    if offsets.dtype == np.int64:
        return offsets.view(np.int64)
    wide = offsets.astype(np.int64)
    wide.flags.writeable = False
    return wide


@njit(cache=True, nogil=True)
def compare(a, a_start, a_stop, b, b_start, b_stop):  # type: ignore[no-untyped-def]
    """Return -1, 0 or 1 as bytes ``a[a_start:a_stop]`` stand before, equal or stand after ``b[b_start:b_stop]``."""
    common = min(a_stop - a_start, b_stop - b_start)
    for i in range(common):
        x, y = a[a_start + i], b[b_start + i]
        if x != y:
            return -1 if x < y else 1
    excess = (a_stop - a_start) - (b_stop - b_start)
    return 0 if excess == 0 else (-1 if excess < 0 else 1)


@njit(cache=True, nogil=True)
def _gather(data, starts, offsets, out):  # type: ignore[no-untyped-def]
    for row in range(len(starts)):
        source = starts[row] - offsets[row]
        for i in range(offsets[row], offsets[row + 1]):
            out[i] = data[source + i]


@njit(cache=True, nogil=True)
def _find(data, offsets, needles, needle_offsets, found):  # type: ignore[no-untyped-def]
    for n in range(len(found)):
        start, stop = needle_offsets[n], needle_offsets[n + 1]
        # Rows before low are smaller than the needle, rows from high on are not; the gap shrinks every turn.
        low, high = 0, len(offsets) - 1
        while low < high:
            middle = (low + high) // 2
            row, after = np.int64(offsets[middle]), np.int64(offsets[middle + 1])
            if compare(data, row, after, needles, start, stop) < 0:
                low = middle + 1
            else:
                high = middle
        found[n] = -1
        if low < len(offsets) - 1:
            row, after = np.int64(offsets[low]), np.int64(offsets[low + 1])
            if compare(data, row, after, needles, start, stop) == 0:
                found[n] = low


@njit(cache=True, nogil=True)
def _ascending(data, offsets):  # type: ignore[no-untyped-def]
    for row in range(1, len(offsets) - 1):
        if compare(data, offsets[row - 1], offsets[row], data, offsets[row], offsets[row + 1]) >= 0:
            return False
    return True


@njit(cache=True, nogil=True)
def _hash(data, offsets, out):  # type: ignore[no-untyped-def]
    """FNV-1a; a collision costs a comparison, never an answer."""
    for row in range(len(out)):
        h = np.uint64(0xCBF29CE484222325)
        for i in range(offsets[row], offsets[row + 1]):
            h = (h ^ np.uint64(data[i])) * np.uint64(0x100000001B3)
        out[row] = h
