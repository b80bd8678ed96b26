"""Reads topics from their beginning, only what was committed, and knows when it has read to an end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from stream import clients
from stream.settings import Settings


class CommittedReader:
    """A consumer that is told its partitions; its group has a name of its own, joins nobody and commits nothing.

    Parameters
    ----------
    settings
        How to reach the brokers.
    topics
        What is read.
    take
        Called with each record and the time, of `time.monotonic`, at which it came.
    """

    def __init__(
        self,
        settings: Settings,
        topics: Iterable[str],
        take: Callable[[Message, float], None],
    ) -> None:
        self._topics = tuple(topics)
        self._known = clients.TopicEnds(settings, dict.fromkeys(self._topics, "Read"))
        self._take = take
        self._at: dict[clients.Place, int] = {}
        self._next = {(topic, p): 0 for topic in self._topics for p in range(self._known.partitions(topic))}
        self._settings = settings
        self._consumer = self._open()

    def poll(self, seconds: float) -> None:
        """Wait that long for a record and take in what has come by then; less when there is much."""
        messages = clients.records_at_hand(self._consumer, seconds)
        arrived = time.monotonic()
        for message in messages:
            error = message.error()
            if error is None:
                self._next[message.topic() or "", message.partition() or 0] = (message.offset() or 0) + 1
                self._take(message, arrived)
            elif error.code() == KafkaError._PARTITION_EOF:
                # its offset lies behind the markers of the transactions, which are never delivered
                self._at[message.topic() or "", message.partition() or 0] = message.offset() or 0
            elif error.fatal():  # any other the client overcomes by itself, or the broker has ended, which ticks notice
                raise KafkaException(error)

    def reopen(self) -> None:
        """Go on with a new consumer: one whose broker was away again and again may stand still for good."""
        self._consumer.close()
        self._consumer = self._open()

    def _open(self) -> Consumer:
        consumer = Consumer(clients.reader(self._settings, from_beginning=True))
        consumer.assign([TopicPartition(*place, offset) for place, offset in self._next.items()])
        return consumer

    def ends(self) -> dict[clients.Place, int]:
        """Return where the topics end now, records of transactions that are not marked as committed yet included.

        Kafka answers a commit before it has marked every partition, so the end of what consumers of committed records
        see may still lie before the last transaction.
        """
        ends = ((topic, self._known.of_all_records(topic)) for topic in self._topics)
        return {(topic, partition): offset for topic, found in ends for partition, offset in found.items()}

    def reached(self, goal: Mapping[clients.Place, int]) -> bool:
        """Return whether everything before the goal has been taken in."""
        return all(self._at.get(place, 0) >= offset for place, offset in goal.items())

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()
