"""Runs in Spark's Python workers: events in, notifications and dead letters out, as Arrow record batches.

The function is importable, so Spark pickles it by reference, and the reader it uses is one per process: segments stay
mapped, and kernels compiled, from batch to batch. Any worker can serve any partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from time import perf_counter_ns
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from index.engine import TooManyMatches
from index.engines import engine_named
from index.event_block import EventBlock
from index.observer import Observer
from index.reader import Found, IndexReader, Snapshot
from index.shards import Shard
from schemas.errors import Refused, TocsinError
from schemas.json_event import encode_event
from schemas.notification_codec import encode_event_notification, encode_event_ref, encode_notification, event_ref
from schemas.records import DeadLetter, Event
from schemas.texts import set_analyser
from stream import rows, spool
from stream.decoding import Decoding, event_decoder
from stream.offsets import Offsets
from stream.pieces import pieces

EVENTS_PER_BLOCK = 2048
"""Events matched at a time, unless they have too many matches: they fill the longest masks."""

ROW_BYTES = 64
"""About how many bytes a match has in a notification beside its id, its labels and what it says of the event."""

MARKS_AT_ONCE = 4
"""Marks among so many matches as are held at once: where a transaction may end."""


GREGORIAN_MILLIS = -12_219_292_800_000
"""1582-10-15: Spark takes timestamps of Kafka before it for dates of the Julian calendar, and tells other ones."""


class MatchTask(msgspec.Struct, frozen=True):
    """What a worker needs to know for one micro-batch; the same values give the same rows.

    Events below the offsets ``committed`` were answered by an earlier run and are passed over.
    """

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
    matches_at_once: int = 500_000
    shards: int = 1
    committed: Offsets = {}


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
        Rows of `stream.rows`: notifications in offset order, dead letters, and at the end one row of counts and
        one of the times of publication; a row that postpones the micro-batch or ends the job when the registry or the
        index does not allow an answer.
    """
    set_analyser(task.analyser)
    run = Run(task)
    try:
        yield from spool.bounded(task.spool, answer_batches(run, batches))
    except TocsinError as error:
        yield from rows.instead(error, batches)
    else:
        yield from rows.summary(run.counts, run.millis)


def answer_batches(run: Run, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Match the events that no earlier run has answered, and yield what ``run`` makes of it."""
    snapshot = index_reader(run.task.index, run.task.engine).at(run.task.version, run.shard)
    for batch in batches:
        left = _not_committed(run.task, batch)
        run.millis.append(left.column("millis").to_numpy())
        yield from _match_slices(run, snapshot, left)
        yield from run.marks(left, always=True)


@cache
def index_reader(directory: str, engine: str = "block") -> IndexReader:
    """Return this process's reader of an index directory: which outlives the micro-batch."""
    return IndexReader(directory, [engine_named(engine)])


@cache
def observer(index: str, shard: Shard | None = None) -> Observer:
    """Return what counts this process's events for the index's statistics; each shard's derived attributes apart."""
    return Observer(index)


Record = tuple[bytes | None, bytes, int, int, int]
"""key, value, partition, offset, timestamp in milliseconds of an event's record."""

Told = tuple[msgspec.Raw, msgspec.Raw | None]
"""What notifications say of an event, encoded: its reference and, when asked for, its body."""


class Matched(NamedTuple):
    """Events of a block and their matches; `found` names events by their place in the other lists."""

    snapshot: Snapshot
    found: Found
    block: EventBlock
    records: list[Record]
    events: list[Event]
    letters: list[DeadLetter]


@dataclass
class Run:
    """A task under way: what it answers, what it has counted, and how many events it matches at a time."""

    task: MatchTask
    shard: Shard | None = None
    counts: rows.Counts = field(default_factory=rows.Counts)
    millis: list[npt.NDArray[np.int64]] = field(default_factory=list)
    marked: int = 0
    events_at_once: int = EVENTS_PER_BLOCK

    def answer(self, matched: Matched) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some events, and count them."""
        if len(matched.found.event):
            emit = _match_notifications if self.task.emit == "match" else _event_notifications
            yield from emit(self.task, matched)
        if matched.letters:
            yield rows.dead_letter_rows(matched.letters)
        self.counts.matches += len(matched.found.event)
        self.counts.dead_letters += len(matched.letters)

    def marks(self, batch: pa.RecordBatch, always: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield that a batch was answered: always, or when there are many matches since the last mark."""
        if batch.num_rows and (always or self.counts.matches - self.marked > self.task.matches_at_once / MARKS_AT_ONCE):
            self.marked = self.counts.matches
            places = zip(batch.column("partition").to_pylist(), batch.column("offset").to_pylist(), strict=True)
            yield rows.mark({partition: offset + 1 for partition, offset in places})


def _not_committed(task: MatchTask, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the events that no earlier run has answered, in nearly every batch all."""
    begins = [task.committed.get(partition, 0) for partition in batch.column("partition").to_pylist()]
    left = batch.column("offset").to_numpy() >= np.array(begins, np.int64)
    return batch if left.all() else batch.filter(pa.array(left))


def _match_slices(run: Run, snapshot: Snapshot, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Match some events; when their matches are too many to be held at once, fewer at a time from there on."""
    start = 0
    while start < batch.num_rows:
        some = batch.slice(start, run.events_at_once)
        try:
            yield from _match_block(run, snapshot, some)
        except TooManyMatches:  # before anything was yielded
            run.events_at_once = some.num_rows // 2
        else:
            start += some.num_rows


def _match_block(run: Run, snapshot: Snapshot, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    task, counts = run.task, run.counts
    started = perf_counter_ns()
    records, events, letters = _decode(task, batch)
    block = EventBlock.from_events(events, task.top)
    decoded = perf_counter_ns()
    found = snapshot.match(block, task.matches_at_once)
    if snapshot.segments:
        observer(task.index, run.shard).see(block)
    matched = perf_counter_ns()
    yield from run.answer(Matched(snapshot, found, block, records, events, letters))
    counts.records += batch.num_rows
    counts.decode_ns += decoded - started
    counts.match_ns += matched - decoded
    counts.encode_ns += perf_counter_ns() - matched
    yield from run.marks(batch)


def _decode(task: MatchTask, batch: pa.RecordBatch) -> tuple[list[Record], list[Event], list[DeadLetter]]:
    """Decode a batch; a record that is refused becomes a dead letter, and one without a value is no event."""
    decode = event_decoder(task.decoding)
    records: list[Record] = []
    events: list[Event] = []
    letters: list[DeadLetter] = []
    columns = [batch.column(name).to_pylist() for name in ("key", "value", "partition", "offset", "millis")]
    for key, value, partition, offset, millis in zip(*columns, strict=True):
        if value is None:
            continue
        try:
            events.append(decode(value, _event_time(millis)))
            records.append((key, value, partition, offset, millis))
        except Refused as refused:
            letters.append(DeadLetter(key, value, refused.code, str(refused), task.topic, partition, offset))
    return records, events, letters


def _event_time(millis: int) -> int:
    """Return a record's timestamp in microseconds, or refuse one that Spark has told wrong."""
    if millis < GREGORIAN_MILLIS:
        raise Refused(
            "event.time",
            f"the record's timestamp is {-millis:,} milliseconds before 1970, in the years before 1582-10-15; the "
            "producer must give milliseconds after 1970, as Kafka's clients do by themselves",
        )
    return millis * 1000


def _match_notifications(task: MatchTask, matched: Matched) -> Iterator[pa.RecordBatch]:
    """One record a match, keyed by the subscription."""
    snapshot, found = matched.snapshot, matched.found
    told, told_bytes = _told(task, matched, _firsts(found))
    for start, stop in pieces(snapshot.text_bytes(found) + told_bytes[found.event] + ROW_BYTES):
        part = found.part(start, stop)
        ids = snapshot.ids(part)
        labels = snapshot.labels(part)
        values: list[bytes] = []
        current, ref, body = -1, msgspec.Raw(), None
        for row, points, rank, id_, label in zip(
            part.event.tolist(), part.score.tolist(), part.rank.tolist(), ids, labels, strict=True
        ):
            if row != current:
                current = row
                ref, body = told[row]
            values.append(encode_notification(id_, points, rank, ref, label, body))
        yield rows.record_batch(rows.NOTIFICATION, ids, values)


def _event_notifications(task: MatchTask, matched: Matched) -> Iterator[pa.RecordBatch]:
    """One record an event that has matches, keyed like the event."""
    snapshot, found = matched.snapshot, matched.found
    firsts = _firsts(found)
    told, told_bytes = _told(task, matched, firsts)
    bounds = [*firsts.tolist(), len(found.event)]
    sizes = np.add.reduceat(snapshot.text_bytes(found) + ROW_BYTES, firsts) + told_bytes[found.event[firsts]]
    for start, stop in pieces(sizes):
        part = found.part(bounds[start], bounds[stop])
        of_match = list(zip(snapshot.ids(part), part.score.tolist(), snapshot.labels(part), strict=True))
        events = found.event[firsts[start:stop]].tolist()
        values = []
        for event, (first, end) in zip(events, pairwise(bounds[start : stop + 1]), strict=True):
            ref, body = told[event]
            values.append(encode_event_notification(ref, of_match[first - bounds[start] : end - bounds[start]], body))
        yield rows.record_batch(rows.NOTIFICATION, [matched.records[event][0] for event in events], values)


def _firsts(found: Found) -> npt.NDArray[np.int64]:
    """Return the row of each event's first match."""
    return np.flatnonzero(np.diff(found.event, prepend=-1))


def _told(
    task: MatchTask, matched: Matched, firsts: npt.NDArray[np.int64]
) -> tuple[dict[int, Told], npt.NDArray[np.int64]]:
    """Return what is said of the events whose first matches these are, and how many bytes that has, by event."""
    told: dict[int, Told] = {}
    sizes = np.zeros(len(matched.events), np.int64)
    for event in matched.found.event[firsts].tolist():
        ref, body = told[event] = event_parts(task, matched.records[event], matched.events[event])
        sizes[event] = memoryview(ref).nbytes + (0 if body is None else memoryview(body).nbytes)
    return told, sizes


def event_parts(task: MatchTask, record: Record, event: Event) -> Told:
    """Return the event's reference and, when asked for, its body, encoded once for all of its notifications."""
    key, value, partition, offset, millis = record
    ref = encode_event_ref(event_ref(task.topic, partition, offset, key, millis))
    if not task.include_event:
        return ref, None
    return ref, msgspec.Raw(_on_one_line(value) if task.decoding.format == "json" else encode_event(event))


def _on_one_line(value: bytes) -> bytes:
    """Return an event's JSON as it came, without the blanks between its tokens if there are line breaks among them.

    A notification is one line for whoever reads the topic by lines, `tocsin listen` too; in strings JSON has none.
    """
    return msgspec.json.format(value, indent=-1) if b"\n" in value or b"\r" in value else value
