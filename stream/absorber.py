"""Runs in Spark's Python workers: subscription records in, a delta segment a partition and shard, dead letters out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec
import pyarrow as pa

from index.byte_rows import ByteRows
from index.engine import Engine, SelectiveEngine
from index.engines import engine_named
from index.shards import shard_numbers
from index.uncollected import no_garbage_collection
from index.writer import SegmentInfo, write_segment
from schemas.errors import Refused, TocsinError
from schemas.json_codec import decode_id
from schemas.records import DeadLetter, Subscription
from schemas.texts import set_analyser
from stream import rows, spool
from stream.decoding import Decoding, subscription_decoder
from stream.offsets import Offsets
from stream.partitioners import Placing


class AbsorbTask(msgspec.Struct, frozen=True):
    """What a worker needs to know to absorb one partition of a micro-batch.

    What was refused below the ``committed`` offsets is a dead letter already: a rebuild of the index reads it again.
    What is refused is spooled: a topic may hold hundreds of thousands of such records.
    """

    index: str
    topic: str
    decoding: Decoding
    spool: spool.SpoolPlan
    engine: str = "block"
    analyser: str = "words"
    placing: Placing = Placing()
    shards: int = 1
    committed: Offsets = {}


class AbsorbedPartition(msgspec.Struct, frozen=True):
    """What one task made of its records of one shard: at most one unpublished segment, and the ids that are gone.

    ``partition`` orders the segments of a batch, so that a replay publishes them in the same order.
    """

    partition: int
    segment: SegmentInfo | None
    removed: list[str]


partition_decoder = msgspec.msgpack.Decoder(AbsorbedPartition)


def absorb_batches(task: AbsorbTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Keep the last valid record of each id by offset, write the live ones as a segment a shard, report the rest.

    A record that is refused leaves the id's earlier version in force, whether that came in this batch or before it.

    Parameters
    ----------
    task
        The micro-batch's constants.
    batches
        Columns ``key, value`` (binary), ``partition`` (int32), ``offset`` (int64), in any order.

    Yields
    ------
    pyarrow.RecordBatch
        Rows of `stream.rows`: dead letters, one `AbsorbedPartition` a shard and one row of counts; nothing for no
        records. Or one row that postpones the micro-batch, when the schema registry does not answer, or ends the job.
    """
    set_analyser(task.analyser)
    try:
        with no_garbage_collection():
            yield from _absorb(task, batches)
    except TocsinError as error:
        yield from rows.instead(error, batches)


@dataclass
class _Taken:
    """What a task has read: of each id the last record's offset and body, which is None for a tombstone."""

    last: dict[str, tuple[int, Subscription | None]] = field(default_factory=dict)
    counts: rows.Counts = field(default_factory=rows.Counts)
    partition: int = -1


def _absorb(task: AbsorbTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    taken, engine = _Taken(), engine_named(task.engine)
    yield from spool.bounded(task.spool, _take_all(task, engine, batches, taken))
    if not taken.counts.records:
        return
    last = taken.last
    for shard, ids in enumerate(_ids_by_shard(last, task.shards)):
        live = [subscription for id_ in ids if (subscription := last[id_][1]) is not None]
        segment = write_segment(task.index, engine, live, shard) if live else None
        removed = [id_ for id_ in ids if last[id_][1] is None]
        yield rows.struct_row(rows.SEGMENT, AbsorbedPartition(taken.partition, segment, removed))
    yield rows.struct_row(rows.COUNTS, taken.counts)


def _take_all(
    task: AbsorbTask, engine: Engine, batches: Iterator[pa.RecordBatch], taken: _Taken
) -> Iterator[pa.RecordBatch]:
    """Read all records, and yield what of each batch was refused."""
    for batch in batches:
        letters = _take(task, engine, batch, taken.last)
        taken.counts.records += batch.num_rows
        taken.counts.dead_letters += len(letters)
        taken.partition = max(taken.partition, *batch.column("partition").to_pylist(), -1)
        if letters:
            yield rows.dead_letter_rows(letters)


def _ids_by_shard(ids: Iterable[str], shards: int) -> list[list[str]]:
    """Return each shard's ids, ascending."""
    ordered = sorted(ids)
    if shards == 1:
        return [ordered]
    found: list[list[str]] = [[] for _ in range(shards)]
    numbers = shard_numbers(ByteRows.of([id_.encode() for id_ in ordered]), shards)
    for id_, shard in zip(ordered, numbers.tolist(), strict=True):
        found[shard].append(id_)
    return found


def _take(
    task: AbsorbTask, engine: Engine, batch: pa.RecordBatch, last: dict[str, tuple[int, Subscription | None]]
) -> list[DeadLetter]:
    """Decode a batch into ``last``, as `_Taken` has it, and return what was refused."""
    decode = subscription_decoder(task.decoding)
    selective = engine if isinstance(engine, SelectiveEngine) else None
    letters: list[DeadLetter] = []
    columns = [batch.column(name).to_pylist() for name in ("key", "value", "partition", "offset")]
    for key, value, partition, offset in zip(*columns, strict=True):
        try:
            id_ = decode_id(key)
            task.placing.check(key, partition)
            subscription = None if value is None else decode(id_, value)
            if subscription is not None and selective is not None:
                selective.check(subscription)
        except Refused as refused:
            if offset >= task.committed.get(partition, 0):
                letters.append(DeadLetter(key, value, refused.code, str(refused), task.topic, partition, offset))
            continue
        if id_ not in last or last[id_][0] < offset:
            last[id_] = (offset, subscription)
    return letters
