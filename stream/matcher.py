"""Runs in Spark's Python workers: events in, notifications and dead letters out, as Arrow record batches.

The function is importable, so Spark pickles it by reference, and the reader it uses is one per process: segments stay
mapped, and kernels compiled, from batch to batch. Any worker can serve any partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from time import perf_counter_ns
from typing import Literal

import msgspec
import pyarrow as pa

from index.engines import engine_named
from index.event_block import EventBlock
from index.observed.observer import Observer
from index.reader import Found, IndexReader, Snapshot
from schemas.errors import Refused, TocsinError
from schemas.json_event import encode_event
from schemas.notification_codec import encode_event_notification, encode_event_ref, encode_notification, event_ref
from schemas.records import DeadLetter, Event
from schemas.texts import set_analyser
from stream import rows, spool
from stream.decoding import Decoding, event_decoder

EVENTS_PER_BLOCK = 1024
"""Events matched at a time: they fill the widest kernel block, and all of their matches fit in memory."""


class MatchTask(msgspec.Struct, frozen=True):
    """What a worker needs to know for one micro-batch; the same values give the same rows."""

    index: str
    version: int
    topic: str
    decoding: Decoding
    top: int
    emit: Literal["match", "event"]
    include_event: bool
    spool: spool.SpoolPlan
    engine: str = "block"
    analyser: str = "words"


def match_batches(task: MatchTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Match one partition of a micro-batch.

    Parameters
    ----------
    task
        The micro-batch's constants.
    batches
        Columns ``key, value`` (binary), ``partition`` (int32), ``offset`` (int64), ``millis`` (int64, timestamp).

    Yields
    ------
    pyarrow.RecordBatch
        Rows of `stream.rows`: notifications in offset order, dead letters, and one row of counts at the end; a row
        that postpones the micro-batch or ends the job when the registry or the index does not allow an answer.
    """
    set_analyser(task.analyser)
    counts = rows.Counts()

    def answers() -> Iterator[pa.RecordBatch]:
        snapshot = index_reader(task.index, task.engine).at(task.version)
        for batch in batches:
            for start in range(0, batch.num_rows, EVENTS_PER_BLOCK):
                yield from _match_block(task, snapshot, batch.slice(start, EVENTS_PER_BLOCK), counts)

    try:
        yield from spool.bounded(task.spool, answers())
    except TocsinError as error:
        yield from rows.instead(error, batches)
    else:
        yield rows.struct_row(rows.COUNTS, counts)


@cache
def index_reader(directory: str, engine: str = "block") -> IndexReader:
    """Return this process's reader of an index directory: which outlives the micro-batch."""
    return IndexReader(directory, [engine_named(engine)])


@cache
def observer(index: str) -> Observer:
    """Return what counts this process's events for the index's statistics."""
    return Observer(index)


def _match_block(
    task: MatchTask, snapshot: Snapshot, batch: pa.RecordBatch, counts: rows.Counts
) -> Iterator[pa.RecordBatch]:
    started = perf_counter_ns()
    records, events, letters = _decode(task, batch)
    block = EventBlock.from_events(events, task.top)
    decoded = perf_counter_ns()
    found = snapshot.match(block)
    if snapshot.segments:
        observer(task.index).see(block)
    matched = perf_counter_ns()
    if len(found.event):
        emit = _match_notifications if task.emit == "match" else _event_notifications
        yield emit(task, snapshot, found, records, events)
    if letters:
        yield rows.dead_letter_rows(letters)
    counts.records += batch.num_rows
    counts.matches += len(found.event)
    counts.dead_letters += len(letters)
    counts.decode_ns += decoded - started
    counts.match_ns += matched - decoded
    counts.encode_ns += perf_counter_ns() - matched


Record = tuple[bytes | None, bytes, int, int, int]
"""key, value, partition, offset, timestamp in milliseconds of an event's record."""


def _decode(task: MatchTask, batch: pa.RecordBatch) -> tuple[list[Record], list[Event], list[DeadLetter]]:
    """Decode a batch; a null value is no event and is passed over, a record that is refused becomes a dead letter."""
    decode = event_decoder(task.decoding)
    records: list[Record] = []
    events: list[Event] = []
    letters: list[DeadLetter] = []
    columns = [batch.column(name).to_pylist() for name in ("key", "value", "partition", "offset", "millis")]
    for key, value, partition, offset, millis in zip(*columns, strict=True):
        if value is None:
            continue
        try:
            events.append(decode(value, millis * 1000))
            records.append((key, value, partition, offset, millis))
        except Refused as refused:
            letters.append(DeadLetter(key, value, refused.code, str(refused), task.topic, partition, offset))
    return records, events, letters


def _match_notifications(
    task: MatchTask, snapshot: Snapshot, found: Found, records: list[Record], events: list[Event]
) -> pa.RecordBatch:
    """One record a match, keyed by the subscription."""
    ids = snapshot.ids(found)
    labels = snapshot.labels(found)
    values: list[bytes] = []
    current, ref, body = -1, msgspec.Raw(), None
    for row, points, rank, id_, label in zip(
        found.event.tolist(), found.score.tolist(), found.rank.tolist(), ids, labels, strict=True
    ):
        if row != current:
            current = row
            ref, body = _event_parts(task, records[row], events[row])
        values.append(encode_notification(id_, points, rank, ref, label, body))
    return rows.record_batch(rows.NOTIFICATION, ids, values)


def _event_notifications(
    task: MatchTask, snapshot: Snapshot, found: Found, records: list[Record], events: list[Event]
) -> pa.RecordBatch:
    """One record an event that has matches, keyed like the event."""
    ids = snapshot.ids(found)
    labels = snapshot.labels(found)
    matches: dict[int, list[tuple[bytes, int, bytes]]] = {}
    for row, points, id_, label in zip(found.event.tolist(), found.score.tolist(), ids, labels, strict=True):
        matches.setdefault(row, []).append((id_, points, label))
    values = []
    for row, of_event in matches.items():
        ref, body = _event_parts(task, records[row], events[row])
        values.append(encode_event_notification(ref, of_event, body))
    return rows.record_batch(rows.NOTIFICATION, [records[row][0] for row in matches], values)


def _event_parts(task: MatchTask, record: Record, event: Event) -> tuple[msgspec.Raw, msgspec.Raw | None]:
    """Return the event's reference and, when asked for, its body, encoded once for all of its notifications."""
    key, value, partition, offset, millis = record
    ref = encode_event_ref(event_ref(task.topic, partition, offset, key, millis))
    if not task.include_event:
        return ref, None
    return ref, msgspec.Raw(value if task.decoding.format == "json" else encode_event(event))
