"""The transactions of an output, with a producer that fails as it is told: what is in each, in order and once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from schemas.errors import TocsinError
from schemas.records import DeadLetter
from stream import output as module
from stream import parts, rows
from stream.output import ATTEMPTS, TransactionalOutput
from stream.settings import load_settings

Failure = BaseException | None


def error(code: int, retriable: bool = False, abort: bool = False) -> KafkaException:
    return KafkaException(KafkaError(code, "told by the test", False, retriable, abort))


PASSES = error(KafkaError.REQUEST_TIMED_OUT, retriable=True)
ABORTED = error(KafkaError.INVALID_PRODUCER_ID_MAPPING, abort=True)
REFUSED = error(KafkaError.INVALID_TXN_STATE)
FENCED = error(KafkaError._FENCED)


class Broker:
    """Takes the calls of the producer, each as a line, and of those that are committed the records and offsets."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.failures: dict[str, list[Failure]] = {}
        self.records: list[tuple[str, bytes | None, bytes | None]] = []
        self.offsets: dict[int, int] = {}
        self.group: dict[int, int] = {}
        self.looks = 0
        self._open: list[tuple[str, bytes | None, bytes | None]] = []
        self._sent: dict[int, int] = {}

    def fail(self, call: str, *failures: Failure) -> None:
        """Let the next calls of this name fail; None lets one succeed."""
        self.failures[call] = list(failures)

    def _call(self, line: str) -> None:
        self.calls.append(line)
        failures = self.failures.get(line.split()[0], [])
        failure = failures.pop(0) if failures else None
        if failure is not None:
            raise failure

    def init_transactions(self, seconds: float) -> None:
        self._call("init")

    def begin_transaction(self) -> None:
        self._open, self._sent = [], {}
        self._call("begin")

    def produce(self, topic: str, value: bytes | None, key: bytes | None, headers: Any) -> None:
        self._call(f"produce {topic} {(key or b'').decode()}")
        self._open.append((topic, key, value))

    def send_offsets_to_transaction(self, positions: Sequence[TopicPartition], group: object, seconds: float) -> None:
        assert group == "group"
        self._call("offsets " + " ".join(f"{p.topic}:{p.partition}:{p.offset}" for p in positions))
        self._sent = {p.partition: p.offset for p in positions}

    def commit_transaction(self, seconds: float) -> None:
        self._call("commit")
        self.records += self._open
        self.offsets |= self._sent

    def abort_transaction(self, seconds: float) -> None:
        self._call("abort")

    def poll(self, seconds: float) -> None:
        if seconds:
            self._call("poll")
        else:
            self.looks += 1

    def close(self) -> None:
        self._call("close")

    def committed(self, asked: Sequence[TopicPartition], seconds: float) -> list[TopicPartition]:
        self._call("committed")
        return [TopicPartition(p.topic, p.partition, self.group.get(p.partition, -1001)) for p in asked]

    def consumer_group_metadata(self) -> str:
        return "group"


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker()
    monkeypatch.setattr(module, "Producer", lambda configuration: broker)
    monkeypatch.setattr(module, "Consumer", lambda configuration: broker)
    return broker


def output(broker: Broker, *settings: str) -> TransactionalOutput:
    """Return one of two partitions, and forget the calls so far."""
    given = ["topics.events=e", "topics.notifications=n", "topics.dead_letters=d", "job.name=job", *settings]
    made = TransactionalOutput(load_settings(None, given, {}), "events", "e", 2)
    assert broker.calls == ["init", "committed"], "whoever had the name is fenced off before the offsets are read"
    broker.calls.clear()
    return made


def notification(key: str) -> pa.RecordBatch:
    return rows.record_batch(rows.NOTIFICATION, [key.encode()], [b"{}"])


def letter(key: str) -> pa.RecordBatch:
    return rows.dead_letter_rows([DeadLetter(key.encode(), b"?", "event.json", "no JSON", "e", 0, 1)])


BATCH = [notification("a"), letter("b"), notification("c")]
WHOLE = ["produce n a", "produce d b", "produce n c", "offsets e:0:5 e:1:7"]


def test_offsets_go_into_the_transaction_of_the_records_and_are_known_once_it_is_committed(broker: Broker) -> None:
    broker.group = {1: 3}
    made = output(broker)
    assert made.committed == {1: 3}
    assert not made.covers({0: 5, 1: 7})
    done = made.commit(BATCH, {1: 7, 0: 5})
    assert broker.calls == ["begin", *WHOLE, "commit"]
    assert done.dead_letters == Counter({("e", "event.json"): 1})
    assert made.covers({0: 5, 1: 7})
    assert not made.covers({0: 6, 1: 7})


def test_where_a_query_begins_is_committed_without_records(broker: Broker) -> None:
    made = output(broker)
    made.begin_at({0: 0, 1: 4})
    assert broker.calls == ["begin", "offsets e:0:0 e:1:4", "commit"]
    assert made.committed == {0: 0, 1: 4}


@pytest.mark.parametrize("call", ["produce", "offsets", "commit"])
def test_a_transaction_that_kafka_asks_to_abort_is_written_again_from_its_first_row(broker: Broker, call: str) -> None:
    made = output(broker)
    broker.fail(call, ABORTED, None)
    done = made.commit(BATCH, {0: 5, 1: 7})
    assert broker.calls.count("abort") == 1
    assert broker.calls[broker.calls.index("abort") + 1 :] == ["begin", *WHOLE, "commit"]
    assert [key for _, key, _ in broker.records] == [b"a", b"b", b"c"]
    assert done.dead_letters == Counter({("e", "event.json"): 1}), "of one try"


def test_one_that_is_aborted_again_and_again_ends_the_job_and_commits_nothing(broker: Broker) -> None:
    made = output(broker)
    broker.fail("commit", *[ABORTED] * ATTEMPTS)
    with pytest.raises(TocsinError, match="Kafka refused the transaction of job-events: told by the test"):
        made.commit(BATCH, {0: 5, 1: 7})
    assert broker.calls.count("begin") == broker.calls.count("commit") == ATTEMPTS
    assert made.committed == {}


@pytest.mark.parametrize("call", ["offsets", "commit", "abort"])
def test_a_call_that_may_be_tried_again_is_but_not_for_ever(broker: Broker, call: str) -> None:
    made = output(broker)
    aborts: Failure = ABORTED if call == "abort" else None
    broker.fail("produce", aborts)
    broker.fail(call, *[PASSES] * (ATTEMPTS - 1))
    made.commit(BATCH, {0: 5, 1: 7})
    assert sum(line.startswith(call) for line in broker.calls) == ATTEMPTS
    assert broker.offsets == made.committed == {0: 5, 1: 7}
    broker.fail("produce", aborts)
    broker.fail(call, *[PASSES] * ATTEMPTS)
    with pytest.raises(TocsinError, match=r"Kafka refused the transaction .* \(REQUEST_TIMED_OUT\)"):
        made.commit(BATCH, {0: 6, 1: 7})
    assert made.committed == {0: 5, 1: 7}


@pytest.mark.parametrize("call", ["begin", "produce", "offsets", "commit"])
@pytest.mark.parametrize(("failure", "said"), [(REFUSED, "refused the transaction"), (FENCED, "another job named job")])
def test_any_other_failure_ends_the_job_at_once(broker: Broker, call: str, failure: KafkaException, said: str) -> None:
    made = output(broker)
    broker.fail(call, failure)
    with pytest.raises(TocsinError, match=said):
        made.commit(BATCH, {0: 5, 1: 7})
    assert "abort" not in broker.calls
    assert broker.calls.count("begin") == 1
    assert made.committed == broker.offsets == {}


def test_who_learns_only_by_the_abort_that_another_took_over_is_told_so(broker: Broker) -> None:
    made = output(broker)
    broker.fail("commit", ABORTED)
    broker.fail("abort", FENCED)
    with pytest.raises(TocsinError, match="another job named job-events has taken over"):
        made.commit(BATCH, {0: 5, 1: 7})


def test_a_large_batch_is_committed_part_by_part_and_a_part_alone_is_written_again(broker: Broker) -> None:
    made = output(broker, "job.max_matches_at_once=1")
    broker.fail("commit", None, ABORTED, None)
    batches = [notification("a"), letter("b"), rows.mark({0: 2}), letter("c"), rows.mark({1: 3}), notification("d")]
    done = made.commit(batches, {0: 5, 1: 7})
    second = ["begin", "produce d c", "offsets e:1:3"]
    assert broker.calls == [
        *("begin", "produce n a", "produce d b", "offsets e:0:2", "commit"),
        *second,
        *("commit", "abort"),
        *second,
        "commit",
        *("begin", "produce n d", "offsets e:0:5 e:1:7", "commit"),
    ]
    assert done.dead_letters == Counter({("e", "event.json"): 2})
    assert made.committed == {0: 5, 1: 7}


def test_what_was_committed_of_a_batch_that_failed_is_known(broker: Broker) -> None:
    made = output(broker, "job.max_matches_at_once=1")
    broker.fail("commit", None, REFUSED)
    with pytest.raises(TocsinError, match="refused"):
        made.commit([notification("a"), rows.mark({0: 2}), notification("b")], {0: 5, 1: 7})
    assert made.committed == {0: 2}


def test_a_transaction_ends_at_the_mark_after_a_quarter_of_its_timeout(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = output(broker, "job.transaction_timeout_ms=100000")
    ticks = count(0, 15)
    monkeypatch.setattr(parts, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    marked = [batch for offset in range(1, 6) for batch in (notification("a"), rows.mark({0: offset}))]
    made.commit(marked, {0: 9})
    assert [line for line in broker.calls if line.startswith("offsets")] == [
        *("offsets e:0:2", "offsets e:0:4", "offsets e:0:9"),
    ]


def test_deliveries_are_heeded_while_a_large_part_is_written(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_A_POLL", 2)
    output(broker).commit([notification("a")] * 5, {0: 5})
    assert broker.looks == 3


def test_the_end_leaves_an_open_transaction_to_the_next_start(broker: Broker) -> None:
    output(broker).close()
    assert broker.calls == ["close"]


def test_a_full_queue_is_waited_for(broker: Broker) -> None:
    made = output(broker)
    broker.fail("produce", BufferError(), BufferError(), None)
    made.commit([notification("a")], {0: 5})
    assert broker.calls == ["begin", *["produce n a", "poll"] * 2, "produce n a", "offsets e:0:5", "commit"]
    assert len(broker.records) == 1


def test_a_notification_larger_than_a_record_is_a_dead_letter_and_one_that_just_fits_is_not(broker: Broker) -> None:
    made = output(broker)
    limit = made._record_bytes
    batch = rows.record_batch(rows.NOTIFICATION, [b"key", b"key"], [bytes(limit - 3), bytes(limit - 2)])
    done = made.commit([batch], {0: 5})
    assert [topic for topic, _, _ in broker.records] == ["n", "d"]
    assert done.dead_letters == Counter({("n", "notification.too_large"): 1})


def test_a_dead_letter_is_written_as_it_came(broker: Broker) -> None:
    made = output(broker)
    made.commit([letter("b")], {0: 5})
    assert broker.records == [("d", b"b", b"?")]


def test_a_start_that_kafka_refuses_is_told(broker: Broker) -> None:
    broker.fail("init", PASSES, REFUSED)
    with pytest.raises(TocsinError, match="Kafka refused the transaction of job-events"):
        output(broker)
    assert broker.calls == ["init", "init"]
