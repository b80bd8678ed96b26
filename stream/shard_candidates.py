"""Runs in Spark's Python workers: events in, one shard's matches out, as rows that a shuffle brings together.

Each shard sees every event. A row stands in the partition of its event, and the order by `ORDER` brings an event's head
first and then the matches of all shards, best first: by falling score, then by rising id, bytes of UTF-8. So sorting
them is merging them, exactly, and what Spark sorts need not fit the memory. A dead letter stands before the heads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from index.shards import Shard
from schemas.errors import TocsinError
from schemas.records import DeadLetter
from schemas.texts import set_analyser
from stream import rows
from stream.matcher import Matched, MatchTask, Run, answer_batches, event_parts
from stream.pieces import pieces

HEAD = 100
"""key: an event's key; value: a `Head` in MessagePack. Each shard that has matches of the event writes one."""
CANDIDATE = 101
"""score, key and value: points, id and labels of a match. Kinds below these are rows of `stream.rows`."""

LAST = 2**63 - 1
"""The offset of rows that belong to no event."""

SCHEMA = pa.schema(
    [
        ("place", pa.int32()),
        ("offset", pa.int64()),
        ("kind", pa.int8()),
        ("score", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
"""``place`` is the event's partition."""

SPARK_SCHEMA = "place int, offset long, kind byte, score long, key binary, value binary"

ORDER = (("offset", True), ("kind", True), ("score", False), ("key", True))
"""The columns that rows of one partition are sorted by, and whether they rise."""


class Head(msgspec.Struct, frozen=True, array_like=True):
    """What notifications need of an event: how many it gets at most (0: all), its reference, its body if wanted."""

    top: int
    ref: bytes
    body: bytes | None


def shard_candidates(task: MatchTask, shard: Shard, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Match one partition of a micro-batch with one shard.

    Parameters
    ----------
    task
        The micro-batch's constants.
    shard
        Which one; the first also reports what all of them count: records and times of publication.
    batches
        As for `stream.matcher.match_batches`.

    Yields
    ------
    pyarrow.RecordBatch
        Rows of `SCHEMA`.
    """
    set_analyser(task.analyser)
    run = ShardRun(task, shard)
    try:
        yield from answer_batches(run, batches)
    except TocsinError as error:
        yield from map(_of_no_event, rows.instead(error, batches))
    else:
        run.finish()
        yield from map(_of_no_event, rows.summary(run.counts, run.millis))


@dataclass
class ShardRun(Run):
    """A task under way with one shard."""

    def answer(self, matched: Matched) -> Iterator[pa.RecordBatch]:
        """Yield the matches of some events, unranked, and the dead letters, both uncounted.

        Every shard tells its letters: each decodes for itself, and a registry may refuse one what it gives another.
        """
        if len(matched.found.event):
            yield _heads(self.task, matched)
            yield from _candidates(matched)
        if matched.letters:
            yield _dead_letters(matched.letters)

    def marks(self, batch: pa.RecordBatch, always: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield nothing: how far the events are answered is known when they are merged."""
        yield from ()

    def finish(self) -> None:
        """Leave to the first shard what all of them have counted."""
        if self.shard is not None and self.shard.number > 0:
            self.counts.records = 0
            self.millis = []


def _heads(task: MatchTask, matched: Matched) -> pa.RecordBatch:
    """Return the heads of the events that have matches."""
    events = np.unique(matched.found.event).tolist()
    records = [matched.records[event] for event in events]
    values = []
    for event, record in zip(events, records, strict=True):
        ref, body = event_parts(task, record, matched.events[event])
        head = Head(int(matched.block.top[event]), bytes(ref), None if body is None else bytes(body))
        values.append(msgspec.msgpack.encode(head))
    return pa.record_batch(
        [
            pa.array([record[2] for record in records], pa.int32()),
            pa.array([record[3] for record in records], pa.int64()),
            pa.repeat(pa.scalar(HEAD, pa.int8()), len(records)),
            pa.repeat(pa.scalar(0, pa.int64()), len(records)),
            pa.array([record[0] for record in records], pa.binary()),
            pa.array(values, pa.binary()),
        ],
        schema=SCHEMA,
    )


def _candidates(matched: Matched) -> Iterator[pa.RecordBatch]:
    partition = np.array([record[2] for record in matched.records], np.int32)
    offset = np.array([record[3] for record in matched.records], np.int64)
    for start, stop in pieces(matched.snapshot.text_bytes(matched.found)):
        part = matched.found.part(start, stop)
        yield pa.record_batch(
            [
                pa.array(partition[part.event]),
                pa.array(offset[part.event]),
                pa.repeat(pa.scalar(CANDIDATE, pa.int8()), len(part.event)),
                pa.array(part.score),
                pa.array(matched.snapshot.ids(part), pa.binary()),
                pa.array(matched.snapshot.labels(part), pa.binary()),
            ],
            schema=SCHEMA,
        )


def _dead_letters(letters: list[DeadLetter]) -> pa.RecordBatch:
    places = np.array([letter.partition for letter in letters], np.int32)
    offsets = np.array([letter.offset for letter in letters], np.int64)
    return _carried(rows.dead_letter_rows(letters), places, offsets)


def _of_no_event(batch: pa.RecordBatch) -> pa.RecordBatch:
    count = batch.num_rows
    return _carried(batch, np.zeros(count, np.int32), np.full(count, LAST, np.int64))


def _carried(batch: pa.RecordBatch, places: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """Return rows of `stream.rows` as they travel through the shuffle."""
    kind, key, value = batch.columns
    score = pa.array(np.zeros(batch.num_rows, np.int64))
    return pa.record_batch([pa.array(places), pa.array(offsets), kind, score, key, value], schema=SCHEMA)
