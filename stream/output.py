"""The output: one Kafka transaction a micro-batch, with notifications, dead letters and the source's offsets.

The part of the commit protocol that is here, for the micro-batch that ends at the offsets E:

1. At start, ``init_transactions`` under the query's transactional id: Kafka fences every earlier producer of that id
   and ends the transaction it left open. Only then the group's committed offsets C are read; of a group that has none,
   the offsets where the query begins are committed first.
2. The batch's rows are made; nothing is visible yet.
3. If C covers E, an earlier run has committed this batch: skip it.
4. ``begin_transaction``; notifications and dead letters are produced, in order.
5. ``send_offsets_to_transaction`` with E for the query's consumer group. A batch with very many notifications repeats 4
   to 6 for parts of whole events (`stream.parts`), each with the offsets it has come to; run again, it begins there.
6. ``commit_transaction``: records and offsets become visible together, or not at all.
7. Only now Spark records the batch as done.

A death before 6 leaves an open transaction that the next start's step 1 aborts, and Spark runs the batch again; a death
between 6 and 7 makes Spark run it again and step 3 skips it. In both cases a ``read_committed`` consumer sees each
notification once. The package's README has the whole protocol, every failure, and the tests that show them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from schemas.errors import TocsinError
from schemas.records import DeadLetter
from stream import clients, failpoints, rows
from stream.dead_letter_record import Headers, dead_letter_record, record_bytes
from stream.offsets import Offsets, covers
from stream.parts import Parts, Row
from stream.query_names import group_of
from stream.refusals import denial
from stream.settings import Settings

ATTEMPTS = 4
"""How often a transaction that Kafka asked to abort is tried before the job gives up."""

REQUEST_SECONDS = 60.0

ROWS_A_POLL = 10_000

PART_OF_TIMEOUT = 0.25
"""After which part of its timeout a transaction is committed at the next mark, with room for slow brokers."""

FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
"""What a producer meets whose transactional id has gone to another one, or whose transaction Kafka has aborted."""

TOO_LARGE = (
    "; max.message.bytes of the notifications or the dead-letter topic is lower than what records are made for: raise "
    'it, or give the lowest as "message.max.bytes" in [kafka.client]'
)

_letter_decoder = msgspec.msgpack.Decoder(DeadLetter)


class Committed(NamedTuple):
    """What a committed transaction was: its seconds, and its dead letters by topic and reason."""

    seconds: float
    dead_letters: Counter[tuple[str, str]]


class TransactionalOutput:
    """The one producer of a query; used by the thread that runs the query's batches.

    Parameters
    ----------
    settings
        The brokers, the topics written to, the job's name, and the transaction's timeout.
    query
        ``events`` or ``subscriptions``; with the job's name the transactional id and consumer group.
    source
        The topic the query reads, whose offsets are committed.
    partitions
        Its number of partitions.
    """

    def __init__(self, settings: Settings, query: str, source: str, partitions: int) -> None:
        self.name = name = group_of(settings, query)
        self._query = query
        self._source = source
        self._timeout = settings.job.transaction_timeout_ms / 1000
        self._most = settings.job.max_matches_at_once
        self._notifications = settings.topics.notifications
        self._dead_letters = settings.topics.dead_letters
        configuration = clients.transactional_producer(settings, name)
        self._record_bytes = record_bytes(int(configuration["message.max.bytes"]))
        self._producer = Producer(configuration)
        self._group = Consumer(clients.group_reader(settings, name))
        self._letters: Counter[tuple[str, str]] = Counter()
        self._settings = settings
        try:
            self._call(lambda: self._producer.init_transactions(REQUEST_SECONDS))
            self.committed = self._read_committed(partitions)
        except KafkaException as exception:
            raise self._fatal(exception.args[0], 0.0) from exception

    def covers(self, end: Offsets) -> bool:
        """Return whether a batch that ends at ``end`` has been committed already (step 3)."""
        return covers(self.committed, end)

    def begin_at(self, offsets: Offsets) -> None:
        """Commit where the query begins before the first micro-batch: a group that has no offsets yet, or wrong ones.

        From then on a group without offsets is one that has lost them, and never one that had none: whether a batch
        that was under way has been committed can be told, the first one's too.

        Raises
        ------
        TocsinError
            As `commit`.
        """
        self._transact(lambda: self._call(self._send_offsets, offsets))
        self.committed.update(offsets)

    def commit(self, batches: Sequence[pa.RecordBatch], end: Offsets) -> Committed:
        """Write the rows and the offsets ``end`` (steps 4 to 6), in one transaction unless there are very many rows.

        Raises
        ------
        TocsinError
            Another job with this name has taken over, or Kafka refused the transaction for good.
        """
        began, letters = time.monotonic(), Counter[tuple[str, str]]()
        parts = Parts(batches, end, self._most, self._timeout * PART_OF_TIMEOUT)
        while not parts.done:
            self._commit_part(parts)
            self.committed.update(parts.offsets)
            letters += self._letters
            parts.accept()
        return Committed(time.monotonic() - began, letters)

    def _commit_part(self, parts: Parts) -> None:
        """Write a part in a transaction of its own."""

        def fill() -> None:
            self._letters = Counter()
            self._produce(parts.rows())
            self._reach("produced")
            self._call(self._send_offsets, parts.offsets)
            self._reach("offsets-sent")

        self._transact(fill)
        self._reach("committed")

    def _transact(self, fill: Callable[[], None]) -> None:
        """Commit what ``fill`` puts into a transaction, again when Kafka aborts it."""
        for attempt in range(1, ATTEMPTS + 1):
            began = time.monotonic()
            try:
                self._producer.begin_transaction()
                fill()
                self._call(lambda: self._producer.commit_transaction(REQUEST_SECONDS))
            except KafkaException as exception:
                error: KafkaError = exception.args[0]
                if not error.txn_requires_abort() or attempt == ATTEMPTS:
                    raise self._fatal(error, time.monotonic() - began) from exception
                self._abort(began)
            else:
                return

    def _abort(self, began: float) -> None:
        """Abort the transaction that began then; a producer that was fenced off is often told so only here."""
        try:
            self._call(lambda: self._producer.abort_transaction(REQUEST_SECONDS))
        except KafkaException as exception:
            raise self._fatal(exception.args[0], time.monotonic() - began) from exception

    def close(self) -> None:
        """Release the group's consumer; an open transaction is left to the next start, which aborts it."""
        self._group.close()

    def _reach(self, place: str) -> None:
        failpoints.reach(f"{self._query}.{place}")

    def _produce(self, part: Iterable[Row]) -> None:
        for number, (kind, key, value) in enumerate(part):
            if kind == rows.NOTIFICATION:
                self._produce_notification(key, value)
            elif kind == rows.DEAD_LETTER:
                self._produce_dead_letter(_letter_decoder.decode(value))
            if number % ROWS_A_POLL == 0:
                self._producer.poll(0)

    def _produce_notification(self, key: bytes | None, value: bytes) -> None:
        if len(value) + len(key or b"") > self._record_bytes:
            message = (
                f"a notification of {len(value)} bytes exceeds the {self._record_bytes} bytes of one record; ask for "
                f"fewer matches an event (job.top, or $top in the event) or leave its body out (job.include_event)"
            )
            letter = DeadLetter(key, value, "notification.too_large", message, self._notifications, -1, -1)
            self._produce_dead_letter(letter)
        else:
            self._send(self._notifications, key, value, [])

    def _produce_dead_letter(self, letter: DeadLetter) -> None:
        """Send key and value as they came; what a record can't hold is cut off, and a header says how long it was."""
        key, value, headers = dead_letter_record(letter, self._record_bytes)
        self._send(self._dead_letters, key, value, headers)
        self._letters[letter.topic, letter.reason] += 1

    def _send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        while True:
            try:
                self._producer.produce(topic, value=value, key=key, headers=headers)
            except BufferError:
                self._producer.poll(0.1)  # the local queue is full: let deliveries drain it
            else:
                return

    def _send_offsets(self, end: Offsets) -> None:
        positions = [TopicPartition(self._source, partition, offset) for partition, offset in sorted(end.items())]
        self._producer.send_offsets_to_transaction(positions, self._group.consumer_group_metadata(), REQUEST_SECONDS)

    def _read_committed(self, partitions: int) -> Offsets:
        return clients.while_passing(lambda: clients.committed_offsets(self._group, self._source, range(partitions)))

    def _call(self, function: Callable[..., None], *args: Any) -> None:
        """Call a transactional function, again while Kafka says that trying again will do."""
        for _ in range(ATTEMPTS - 1):
            try:
                function(*args)
            except KafkaException as exception:
                if not exception.args[0].retriable():
                    raise
            else:
                return
        function(*args)

    def _denied(self, error: KafkaError) -> TocsinError | None:
        """Return the sentence for a right that is missing; None for any other error."""
        if error.code() in (KafkaError._STATE, KafkaError.TOPIC_AUTHORIZATION_FAILED):
            # Of a record that was not taken the producer says merely that the transaction has failed.
            from stream.rights import check_rights  # which counts on this module

            try:
                with clients.TopicEnds(self._settings) as ends:
                    check_rights(self._settings, ends)
            except TocsinError as missing:
                return missing
        right = "Read" if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED else "Write"
        return denial(self._settings, error, right, self.name)

    def _cause(self, error: KafkaError) -> KafkaError:
        """Return what a fatal error stands for: of a record not taken one learns merely that there was one before."""
        if error.code() == KafkaError._FATAL:
            try:
                self._producer.abort_transaction(REQUEST_SECONDS)
            except KafkaException as exception:
                cause: KafkaError = exception.args[0]
                return cause
        return error

    def _fatal(self, error: KafkaError, seconds: float) -> TocsinError:
        """Return the sentence for a transaction that failed for good after so many seconds."""
        error = self._cause(error)
        if error.code() not in FENCED:
            if (missing := self._denied(error)) is not None:
                return missing
            cure = TOO_LARGE if error.code() == KafkaError.MSG_SIZE_TOO_LARGE else ""
            return TocsinError(f"Kafka refused the transaction of {self.name}: {error.str()} ({error.name()}){cure}")
        if seconds > self._timeout:
            return TocsinError(
                f"Kafka aborted the last batch of {self.name}: its transaction lasted longer than "
                f"job.transaction_timeout_ms, {seconds:.0f} s; start the job again, which runs the batch again, and if "
                f"that happens often raise the setting"
            )
        return TocsinError(
            f"another job named {self.name} has taken over and this one was fenced off; give each job its own name "
            f"(job.name), or leave the other one running"
        )
