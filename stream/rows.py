"""The rows that workers send to the driver: one Arrow schema for notifications, dead letters, segments and counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas.avro_schemas import RegistryUnavailable
from schemas.errors import TocsinError
from schemas.records import DeadLetter
from stream.offsets import Offsets

NOTIFICATION = 0
"""key and value of a notification record."""
DEAD_LETTER = 1
"""value: a `DeadLetter` in MessagePack."""
SPOOL = 2
"""value: path of an Arrow IPC file of further rows, to be read in this row's place."""
SEGMENT = 3
"""value: an `AbsorbedPartition` in MessagePack."""
COUNTS = 4
"""value: a `Counts` in MessagePack."""
POSTPONED = 5
"""value: why a task can't answer now; the micro-batch is to be run again later, and its other rows are void."""
FAILED = 6
"""value: why a task can't answer at all, a sentence with the cure; the job ends with it."""

PUBLISHED = 7
"""value: when a task's events were published, the pairs of `moments` in MessagePack."""

MARK = 8
"""value: a partition's next offset, by partition, in MessagePack: the task's rows of events below it stand before this
row, and no others."""

MOMENTS = 256
"""The most pairs of one task: more timestamps are taken together, with their neighbours."""

SCHEMA = pa.schema([("kind", pa.int8()), ("key", pa.binary()), ("value", pa.binary())])
SPARK_SCHEMA = "kind byte, key binary, value binary"


class Counts(msgspec.Struct):
    """What a task did, for the metrics line; times are nanoseconds of wall time."""

    records: int = 0
    matches: int = 0
    dead_letters: int = 0
    decode_ns: int = 0
    match_ns: int = 0
    encode_ns: int = 0

    def add(self, other: Counts) -> None:
        """Add another task's counts to these."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


_counts_decoder = msgspec.msgpack.Decoder(Counts)
_moments_decoder = msgspec.msgpack.Decoder(list[tuple[int, int]])


def record_batch(kind: int, keys: Sequence[bytes | None], values: Sequence[bytes]) -> pa.RecordBatch:
    """Return rows of one kind."""
    return pa.record_batch(
        [
            pa.array([kind], pa.int8()).take(pa.array([0] * len(keys))),
            pa.array(keys, pa.binary()),
            pa.array(values, pa.binary()),
        ],
        schema=SCHEMA,
    )


def dead_letter_rows(letters: Sequence[DeadLetter]) -> pa.RecordBatch:
    """Return dead letters as rows."""
    encode = msgspec.msgpack.encode
    return record_batch(DEAD_LETTER, [None] * len(letters), [encode(letter) for letter in letters])


def mark(offsets: Offsets) -> pa.RecordBatch:
    """Return the row that says that a task has come so far."""
    return record_batch(MARK, [None], [msgspec.msgpack.encode(offsets)])


def struct_row(kind: int, struct: msgspec.Struct) -> pa.RecordBatch:
    """Return one row whose value is the struct in MessagePack."""
    return record_batch(kind, [None], [msgspec.msgpack.encode(struct)])


def instead(error: TocsinError, unread: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the row of a task that can't answer: a reason to wait, or to end the job.

    The rest of the input is read first: Spark would end a worker that leaves some of it.
    """
    for _ in unread:
        pass
    kind = POSTPONED if isinstance(error, RegistryUnavailable) else FAILED
    yield record_batch(kind, [None], [str(error).encode()])


def summary(counts: Counts, milliseconds: Sequence[npt.NDArray[np.int64]]) -> Iterator[pa.RecordBatch]:
    """Yield the last rows of a task: what it did, and when its events were published."""
    yield struct_row(COUNTS, counts)
    if milliseconds:
        yield record_batch(PUBLISHED, [None], [msgspec.msgpack.encode(moments(np.concatenate(milliseconds)))])


def moments(milliseconds: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return (timestamp, how many records have it), at most `MOMENTS` of them.

    Timestamps beyond that many lie seconds apart, in a job that lags by more, and neighbours stand for one another.
    """
    found, counts = np.unique(milliseconds, return_counts=True)
    if len(found) > MOMENTS:
        starts = np.linspace(0, len(found), MOMENTS, endpoint=False).astype(np.int64)
        found, counts = found[starts], np.add.reduceat(counts, starts)
    return list(zip(found.tolist(), counts.tolist(), strict=True))


def all_moments(batches: Sequence[pa.RecordBatch]) -> list[tuple[int, int]]:
    """Return the pairs of all rows that say when events were published."""
    return [pair for value in values_of(batches, PUBLISHED) for pair in _moments_decoder.decode(value)]


def total_counts(batches: Sequence[pa.RecordBatch]) -> Counts:
    """Return the sum of all rows of counts."""
    total = Counts()
    for value in values_of(batches, COUNTS):
        total.add(_counts_decoder.decode(value))
    return total


def values_of(batches: Sequence[pa.RecordBatch], kind: int) -> list[bytes]:
    """Return the values of the rows of one kind, in order."""
    found: list[bytes] = []
    for batch in batches:
        chosen = pc.equal(batch.column(0), kind)
        if pc.any(chosen).as_py():
            found += batch.column(2).filter(chosen).to_pylist()
    return found
