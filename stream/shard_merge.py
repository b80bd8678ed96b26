"""Runs in Spark's Python workers: the sorted matches of all shards in, notifications and dead letters out."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter_ns

import msgspec
import pyarrow as pa

from schemas.notification_codec import encode_event_notification, encode_notification
from stream import pieces, rows, spool
from stream.matcher import MARKS_AT_ONCE, MatchTask
from stream.parts import Row
from stream.shard_candidates import CANDIDATE, HEAD, LAST, Head

_head_decoder = msgspec.msgpack.Decoder(Head)


def merge_batches(task: MatchTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make of the shards' rows what `stream.matcher.match_batches` makes of the events, byte by byte.

    Parameters
    ----------
    task
        The micro-batch's constants.
    batches
        Rows of `stream.shard_candidates.SCHEMA`: all of a partition, in ``ORDER``.

    Yields
    ------
    pyarrow.RecordBatch
        Rows of `stream.rows`: notifications, dead letters and marks by offset, then what belongs to no event.
    """
    merge = Merge(task)
    yield from spool.bounded(task.spool, merge.answers(batches))
    yield from merge.eventless
    yield rows.struct_row(rows.COUNTS, merge.counts)


class Merge:
    """A task under way.

    Attributes
    ----------
    counts
        Of the matches and the dead letters.
    eventless
        Rows for the driver that belong to no event; it looks for them outside of spooled files.
    """

    def __init__(self, task: MatchTask) -> None:
        self.counts = rows.Counts()
        self.eventless: list[pa.RecordBatch] = []
        self._task = task
        self._place: tuple[int, int] | None = None
        self._key: bytes | None = None
        self._head: Head | None = None
        self._refused = False
        self._matches = 0
        self._of_event: list[tuple[bytes, int, bytes]] = []
        self._marked = 0
        self._mark_due = False
        self._rows: list[Row] = []
        self._bytes = 0

    def answers(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all events."""
        for batch in batches:
            started = perf_counter_ns()
            self._mark_due = True
            columns = [column.to_pylist() for column in batch.columns]
            for place, offset, kind, score, key, value in zip(*columns, strict=True):
                if (place, offset) != self._place:
                    self._mark_due |= offset == LAST  # a part that has the last event ends at a mark of another task
                    yield from self._leave_event()
                    self._place = place, offset
                self._take(kind, score, key, value)
                if self._bytes > pieces.BYTES_AT_ONCE:
                    yield from self._flush()
            self.counts.encode_ns += perf_counter_ns() - started
        self._mark_due = True
        yield from self._leave_event()
        yield from self._flush()

    def _take(self, kind: int, score: int, key: bytes | None, value: bytes) -> None:
        """Take a row of the event under way, or of none.

        Of an event that some shards could not decode one dead letter is left, the first: what the others have matched
        is a part of the answer, and would come again when who reads the letter publishes the event once more.
        """
        if self._refused:
            return
        if kind == CANDIDATE:
            self._take_match(score, key or b"", value)
        elif kind == HEAD:
            if self._head is None:  # the other shards' heads of this event are the same
                self._key, self._head = key, _head_decoder.decode(value)
        elif kind == rows.DEAD_LETTER:
            self._refused = True
            self.counts.dead_letters += 1
            self._add(kind, key, value)
        else:
            self.eventless.append(rows.record_batch(kind, [key], [value]))

    def _take_match(self, score: int, id_: bytes, labels: bytes) -> None:
        """Count and answer a match, unless the event has all that it wants: the better ones have come before."""
        head = self._head
        assert head is not None, "an event's head comes first"
        if self._matches == head.top > 0:
            return
        self._matches += 1
        self.counts.matches += 1
        if self._task.emit == "event":
            self._of_event.append((id_, score, labels))
            return
        ref, body = _parts(head)
        self._add(rows.NOTIFICATION, id_, encode_notification(id_, score, self._matches, ref, labels, body))

    def _leave_event(self) -> Iterator[pa.RecordBatch]:
        """End the event under way; where a transaction may end is said about as often as `stream.matcher` does."""
        if self._place is None or self._place[1] == LAST:
            return
        if self._of_event and self._head is not None:
            ref, body = _parts(self._head)
            self._add(rows.NOTIFICATION, self._key, encode_event_notification(ref, self._of_event, body))
        if self._mark_due or self.counts.matches - self._marked > self._task.matches_at_once / MARKS_AT_ONCE:
            self._mark_due, self._marked = False, self.counts.matches
            yield from self._flush()
            yield rows.mark({self._place[0]: self._place[1] + 1})
        self._head, self._refused, self._matches, self._of_event = None, False, 0, []

    def _add(self, kind: int, key: bytes | None, value: bytes) -> None:
        self._rows.append((kind, key, value))
        self._bytes += len(value)

    def _flush(self) -> Iterator[pa.RecordBatch]:
        if self._rows:
            kinds, keys, values = zip(*self._rows, strict=True)
            columns = [pa.array(kinds, pa.int8()), pa.array(keys, pa.binary()), pa.array(values, pa.binary())]
            yield pa.record_batch(columns, schema=rows.SCHEMA)
        self._rows, self._bytes = [], 0


def _parts(head: Head) -> tuple[msgspec.Raw, msgspec.Raw | None]:
    return msgspec.Raw(head.ref), None if head.body is None else msgspec.Raw(head.body)
