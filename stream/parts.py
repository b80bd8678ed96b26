"""A micro-batch's rows, cut into parts that are one transaction each: most batches are one part."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec
import pyarrow as pa

from stream import rows, spool
from stream.offsets import Offsets

Row = tuple[int, bytes | None, bytes]
"""kind, key and value of a row of `stream.rows`."""

_offsets_decoder = msgspec.msgpack.Decoder(Offsets)


class Parts:
    """Takes the rows part by part; a part that was not accepted is taken again.

    A part ends at a `rows.MARK` once it has enough rows or has taken long enough: no transaction grows with what the
    events match, and each event's rows are in one part.

    Parameters
    ----------
    batches
        The rows, of one task after the other.
    end
        End offsets of the micro-batch.
    most, seconds
        From how many rows on, or after what time, a part ends at the next mark.

    Attributes
    ----------
    offsets
        After all `rows` of a part were taken: next offset of each source partition of which a part has rows.
    done
        Whether the last part was accepted.
    """

    def __init__(self, batches: Sequence[pa.RecordBatch], end: Offsets, most: int, seconds: float) -> None:
        self.offsets: Offsets = {}
        self.done = False
        self._batches = batches
        self._end = end
        self._most = most
        self._seconds = seconds
        self._rest = _rows(batches)
        self._accepted = self._taken = 0
        self._last = False

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the part under way, from its first on."""
        if self._taken:
            self._rest = islice(_rows(self._batches), self._accepted, None)
        self._taken, until = 0, time.monotonic() + self._seconds
        self.offsets, self._last = {}, False  # a try before this one may have reached the end
        for row in self._rest:
            self._taken += 1
            if row[0] != rows.MARK:
                yield row
                continue
            self.offsets |= _offsets_decoder.decode(row[2])
            if self._taken >= self._most or time.monotonic() > until:
                return
        self.offsets, self._last = self._end, True

    def accept(self) -> None:
        """Go on to the next part."""
        self._accepted += self._taken
        self._taken = 0
        self.done = self._last


def _rows(batches: Sequence[pa.RecordBatch]) -> Iterator[Row]:
    for batch in spool.expand(iter(batches)):
        yield from zip(*(batch.column(i).to_pylist() for i in range(3)), strict=True)
