"""Every Kafka client's configuration, each setting with its reason, and the topics' end offsets."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from schemas.errors import TocsinError
from stream.java_properties import java_properties
from stream.offsets import Offsets
from stream.refusals import DENIALS, Contact, denial, unreachable
from stream.secrets import hide, resolved_table
from stream.settings import Settings

Configuration = dict[str, Any]
Answer = TypeVar("Answer")

REQUEST_SECONDS = 30.0
REACH_SECONDS = 10.0
"""Brokers that are there answer within moments; who has mistyped an address should not wait long to be told."""

FIRST_ANSWER_SECONDS = 1.0
"""After that time without an answer it is looked whether the brokers have refused the client."""

PASSING = (
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError._WAIT_COORD,
    KafkaError._TIMED_OUT_QUEUE,
)
"""Errors that pass: right after a topic was made, or a broker came back, leaders and coordinators are not known yet.

A new leader does not tell where a partition ends before its followers have come so far, and one whose disk fails has a
successor soon. All are errors after which librdkafka itself looks for leaders anew, or tries again, where it does so.
"""

LOG = logging.getLogger("tocsin.kafka")
"""Takes the clients' own log lines, which would else go to the terminal; the job sends it to its log file."""
LOG.addHandler(logging.NullHandler())


def common(settings: Settings) -> Configuration:
    """Return what every client is configured with."""
    return {
        # The second of two close transactions waits 90 ms with the default, 100; with 3 it waits as long as it must.
        "retry.backoff.ms": 3,
        "retry.backoff.max.ms": 20,
        # Find a broker that was restarted within a second; the default goes up to 10 s.
        "reconnect.backoff.max.ms": 1000,
        # A broker that was just restarted is missing from its cluster's list for a moment. With the default a client
        # drops it then, and a transaction may wait in vain for the coordinator that it was: after one kill in five, and
        # after none of five with this.
        "metadata.recovery.strategy": "none",
        "client.id": "tocsin",
        "logger": LOG,
        **resolved_table("kafka.client", settings.kafka.client),
        "bootstrap.servers": settings.kafka.bootstrap_servers,
    }


def producer(settings: Settings) -> Configuration:
    """Return the configuration of a producer of subscriptions and events."""
    return {
        # No doubles and no reordering when the producer tries again; implies acks=all.
        "enable.idempotence": True,
        # Filter text, events and notifications repeat themselves: a fifth of the bytes on the wire and on disk.
        "compression.type": "lz4",
        # The broker's own default limit of a record batch; the client's, 1,000,000, is lower. Where a topic's is lower
        # still, kafka.client gives that: larger notifications then become dead letters, and dead letters are cut.
        "message.max.bytes": 1_048_588,
        # Bounds the memory of a producer that is faster than its brokers; the default is 1 GB.
        "queue.buffering.max.kbytes": 262_144,
        "queue.buffering.max.messages": 500_000,
        # Where the job looks for a subscription's records; librdkafka's own default is the first.
        "partitioner": {"murmur2": "murmur2_random"}.get(settings.subscriptions.partitioner, "consistent_random"),
        **common(settings),
    }


def transactional_producer(settings: Settings, name: str) -> Configuration:
    """Return the configuration of the job's producer; its transactional id ``name`` fences its predecessors."""
    return producer(settings) | {
        "transactional.id": name,
        "transaction.timeout.ms": settings.job.transaction_timeout_ms,
        # A failed record fails the commit; without a callback for each delivered one the client spends no time on them.
        "delivery.report.only.error": True,
    }


def group_reader(settings: Settings, name: str) -> Configuration:
    """Return the configuration of a consumer that stands for a group: its committed offsets and its metadata."""
    return common(settings) | {
        "group.id": name,
        "isolation.level": "read_committed",
        # Offsets are committed in the transactions, by nothing else.
        "enable.auto.commit": False,
    }


def reader(settings: Settings, from_beginning: bool = False) -> Configuration:
    """Return the configuration of a consumer that reads a topic for a person or a check, leaving nothing behind."""
    return common(settings) | {
        # librdkafka wants a group; this one commits nothing and joins nobody.
        "group.id": f"{settings.job.name}-reader-{uuid.uuid4().hex[:12]}",
        "auto.offset.reset": "earliest" if from_beginning else "latest",
        # What an aborted transaction wrote was never said.
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        # Tells when the end of a partition is reached.
        "enable.partition.eof": True,
    }


def spark_options(settings: Settings) -> dict[str, str]:
    """Return the options of Spark's Kafka source that are the same for every topic."""
    client = resolved_table("kafka.client", settings.kafka.client)
    consumer = {
        # The source asks where the partition ends after each poll, on the connection that the next fetch has taken:
        # the answer would come when that fetch has waited for records, 500 ms by default. Those of a batch are there.
        "fetch.max.wait.ms": "1",
        **java_properties(client, resolved_table("kafka.java", settings.kafka.java)),
        "bootstrap.servers": settings.kafka.bootstrap_servers,
        # A subscription or event of an aborted transaction must not match.
        "isolation.level": "read_committed",
    }
    # Names Spark's own consumer groups, so that brokers with access rules can allow them.
    return {f"kafka.{name}": value for name, value in consumer.items()} | {
        "groupIdPrefix": f"{settings.job.name}-spark"
    }


def admin(settings: Settings, contact: Contact | None = None) -> AdminClient:
    """Return a client for topics and groups; ``contact`` is told of its errors when the client is polled.

    Raises
    ------
    TocsinError
        A property of ``kafka.client`` is unknown or has a value that does not fit.
    """
    try:
        return AdminClient(common(settings) | ({} if contact is None else {"error_cb": contact}))
    except KafkaException as error:
        said = hide(error.args[0].str())
        raise TocsinError(f"kafka.client is refused by the Kafka client library: {said}") from error


def reach(settings: Settings, seconds: float | None = None) -> set[str]:
    """Return the names of the brokers' topics that this client may see.

    Raises
    ------
    TocsinError
        No broker answers in that time, `REACH_SECONDS` if not given, or one refuses the client's credentials or
        certificate, which is said at once.
    """
    contact = Contact()
    client = admin(settings, contact)
    seconds = REACH_SECONDS if seconds is None else seconds
    deadline = time.monotonic() + seconds
    while True:
        try:
            return set(client.list_topics(timeout=min(FIRST_ANSWER_SECONDS, seconds)).topics)
        except KafkaException as error:
            client.poll(0)
            contact.check(settings)
            if time.monotonic() >= deadline:
                raise unreachable(settings, error) from error


class TopicEnds:
    """Asks where topics end; a context manager, used by any thread.

    Parameters
    ----------
    settings
        How to reach the brokers.
    rights
        What whoever asks needs of each topic, by its name: Kafka denies to see a topic, which every right includes, and
        the sentence then names the right that is needed and not merely that to see it.
    """

    def __init__(self, settings: Settings, rights: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self._rights = {} if rights is None else rights
        self._admin = admin(settings)
        self._partitions: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self._admin

    def ask(self, question: Callable[[AdminClient], Answer], about: str) -> Answer:
        """Put a question about the topic or the group of this name to the brokers, again while the error passes.

        Raises
        ------
        TocsinError
            They do not answer, or let this client not see it.
        """
        return answered(self._settings, lambda: question(self._admin), self._rights.get(about, "Describe"), about)

    def partitions(self, topic: str) -> int:
        """Return the number of partitions, as it was when first asked or asked again by `look_again`."""
        known = self._partitions  # another thread may put an empty one in its place meanwhile
        if topic not in known:
            known[topic] = self.partitions_now(topic)
        return known[topic]

    def partitions_now(self, topic: str) -> int:
        """Ask how many partitions there are; 0 when there is no such topic."""

        def count(admin: AdminClient) -> int:
            found = admin.list_topics(topic, REQUEST_SECONDS).topics[topic]
            if found.error is not None and found.error.code() in DENIALS:
                raise KafkaException(found.error)
            return len(found.partitions)

        return self.ask(count, topic)

    def look_again(self) -> None:
        """Forget the numbers of partitions: somebody may have added some."""
        self._partitions = {}

    def of(self, topic: str) -> Offsets:
        """Return the next offset of each partition for who reads what is committed.

        That is where the first open transaction begins, whatever lies behind it; `stream.acknowledged` waits for those.
        """
        return self._offsets(topic, OffsetSpec.latest())

    def of_all_records(self, topic: str) -> Offsets:
        """Return the next offset of each partition, of open transactions too: all that was acknowledged lies below."""
        return self._offsets(topic, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)

    def beginnings(self, topic: str) -> Offsets:
        """Return the first offset of each partition that is still there."""
        return self._offsets(topic, OffsetSpec.earliest())

    def _offsets(
        self, topic: str, spec: OffsetSpec, isolation: IsolationLevel = IsolationLevel.READ_COMMITTED
    ) -> Offsets:
        asked = [(topic, partition) for partition in range(self.partitions(topic))]
        answers = self.ask(lambda admin: list_offsets(admin, asked, spec, isolation), topic)
        return {partition: offset for (_, partition), offset in answers.items()}


def records_at_hand(consumer: Consumer, seconds: float, most: int = 5_000) -> list[Message]:
    """Wait that long for a record and return it with those behind it that have come, about ``most``, errors included.

    Asked for many, the client waits for them until the time is over: so only the first one is waited for.
    """
    first = consumer.poll(seconds)
    return [] if first is None else [first, *consumer.consume(most, 0)]


Place = tuple[str, int]
"""Topic and partition."""


def list_offsets(
    admin: AdminClient, places: Iterable[Place], spec: OffsetSpec, isolation: IsolationLevel
) -> dict[Place, int]:
    """Ask once for the first or the next offset of each partition; for `while_passing`."""
    asked = {TopicPartition(*place): spec for place in places}
    answers = admin.list_offsets(asked, isolation_level=isolation, request_timeout=REQUEST_SECONDS)
    try:
        return {(place.topic, place.partition): answer.result().offset for place, answer in answers.items()}
    except KafkaException as error:
        if error.args[0].code() == KafkaError.FENCED_LEADER_EPOCH:
            admin.list_topics(timeout=REQUEST_SECONDS)  # the client would ask again with the epoch it knows
        raise


def while_passing(ask: Callable[[], Answer], seconds: float = REQUEST_SECONDS) -> Answer:
    """Ask the brokers, and again while the error is one that passes.

    Raises
    ------
    KafkaException
        Another error, or one of those for longer than ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in PASSING or time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def committed_offsets(group: Consumer, topic: str, partitions: Iterable[int]) -> Offsets:
    """Return the offsets that a consumer's group has committed; a partition for which it has none is not named.

    Raises
    ------
    KafkaException
        The brokers did not answer, or refused one of the partitions: it may have an offset all the same.
    """
    found: Offsets = {}
    for place in group.committed([TopicPartition(topic, partition) for partition in partitions], REQUEST_SECONDS):
        if place.error is not None:
            raise KafkaException(place.error)
        if place.offset >= 0:
            found[place.partition] = place.offset
    return found


def answered(settings: Settings, ask: Callable[[], Answer], right: str, name: str) -> Answer:
    """Ask the brokers, as `while_passing` does, about the resource of this name, on which this right is needed.

    Raises
    ------
    TocsinError
        They do not answer, or miss the right.
    """
    try:
        return while_passing(ask)
    except KafkaException as error:
        missing = denial(settings, error.args[0], right, name)
        raise missing or unreachable(settings, error) from error
