"""What the commands do with Kafka: reach the brokers, send with acknowledgement, read a topic's committed records."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from schemas.errors import TocsinError
from stream import clients
from stream.commands.shared import say
from stream.settings import Settings
from stream.topics import ensure_topics

ACKNOWLEDGE_SECONDS = 30.0
READ_AT_ONCE = 500


def need_topic(settings: Settings, topic: str) -> None:
    """See that the topic exists; when it does not, create what is missing, with Tocsin's settings for each.

    A producer's own request would create it with the brokers' settings, and a subscriptions topic without compaction
    loses subscriptions. Where the topic is there nothing else is asked, so the right to write to it is enough.
    """
    if topic not in clients.reach(settings):
        ensure_topics(settings)
        say(f"created the topics that were missing at {settings.kafka.bootstrap_servers}")


class Sender:
    """Sends records to one topic; a context manager that waits for every acknowledgement.

    Attributes
    ----------
    acknowledged
        How many records the brokers have.
    last
        The record acknowledged last.
    """

    def __init__(self, settings: Settings, topic: str) -> None:
        need_topic(settings, topic)
        self._topic = topic
        self._error: KafkaError | None = None
        self._producer = Producer(
            clients.producer(settings) | {"message.timeout.ms": int(ACKNOWLEDGE_SECONDS * 1000), "linger.ms": 5}
        )
        self.acknowledged = 0
        self.last: Message | None = None

    def send(self, key: bytes | None, value: bytes | None) -> None:
        """Queue one record, waiting for room; None as value deletes the key.

        Raises
        ------
        TocsinError
            An earlier record, or this one, was not taken.
        """
        while True:
            self.serve(0)
            try:
                self._producer.produce(self._topic, value, key, on_delivery=self._delivered)
                return
            except BufferError:
                self.serve(0.1)
            except KafkaException as error:
                raise self._not_taken(error.args[0]) from error

    def serve(self, seconds: float) -> None:
        """Handle acknowledgements for at most that long."""
        self._producer.poll(seconds)
        if self._error is not None:
            raise self._not_taken(self._error)

    def flush(self) -> None:
        """Wait for the acknowledgement of all that was sent."""
        left = self._producer.flush(ACKNOWLEDGE_SECONDS + 5)
        if self._error is not None:
            raise self._not_taken(self._error)
        if left:
            raise TocsinError(f"{left} records were not acknowledged; see whether the brokers are well and try again")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.flush()
        else:
            self._producer.flush(2)

    def _delivered(self, error: KafkaError | None, record: Message) -> None:
        if error is None:
            self.acknowledged += 1
            self.last = record
        elif self._error is None:
            self._error = error

    def _not_taken(self, error: KafkaError) -> TocsinError:
        return TocsinError(f"the brokers did not take a record for {self._topic}: {error.str()}")


class TopicReader:
    """Reads the committed records of every partition of a topic; a context manager.

    Parameters
    ----------
    settings
        How to reach the brokers.
    topic
        The topic; created when it is missing, so that a reader may come before the first writer.
    from_beginning
        Whether to begin with the oldest record rather than after the newest.
    """

    def __init__(self, settings: Settings, topic: str, from_beginning: bool) -> None:
        need_topic(settings, topic)
        with clients.TopicEnds(settings, {topic: "Read"}) as ends:
            positions = ends.of(topic)
        self._behind = {partition for partition, end in positions.items() if from_beginning and end > 0}
        # The brokers say that a partition's end is reached after this wait; half a second, the default, is felt.
        self._consumer = Consumer(clients.reader(settings, from_beginning) | {"fetch.wait.max.ms": 50})
        # The ends are asked for before, and named here, so that what comes after this line of code is not missed.
        self._consumer.assign(
            [
                TopicPartition(topic, partition, OFFSET_BEGINNING if from_beginning else end)
                for partition, end in positions.items()
            ]
        )

    @property
    def at_end(self) -> bool:
        """Whether each partition was read to its end once."""
        return not self._behind

    def read(self, seconds: float) -> list[Message]:
        """Return the next records, as soon as there are some; none when there are none in that time.

        Raises
        ------
        TocsinError
            The brokers went away or refuse to be read.
        """
        found = clients.records_at_hand(self._consumer, seconds, READ_AT_ONCE)
        return [record for record in found if self._is_record(record)]

    def _is_record(self, record: Message) -> bool:
        error = record.error()
        if error is None:
            return True
        if error.code() == KafkaError._PARTITION_EOF:
            self._behind.discard(record.partition())
        elif error.fatal() or not error.retriable():
            raise TocsinError(f"{record.topic() or 'the topic'} can't be read: {error.str()}")
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()
