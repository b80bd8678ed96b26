"""Which topic a job reads or writes: a topic that was created again, or is on another cluster, is another one."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import msgspec
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from schemas.errors import TocsinError
from stream import clients

GONE_SECONDS = 5.0
"""How long a topic has to be unknown to the brokers until it counts as deleted: one that was restarted knows few."""


class Source(msgspec.Struct, frozen=True):
    """A topic for good: its name may be given again, its id never is.

    ``partitions`` is how many it has now; `topic_text` leaves it out.
    """

    cluster: str
    topic: str
    id: str
    partitions: int

    @property
    def topic_text(self) -> str:
        """The topic in words."""
        return f"topic {self.topic} (id {self.id}) of cluster {self.cluster}"

    def __str__(self) -> str:
        return f"{self.topic_text} with {self.partitions} partitions"

    def differs_in_partitions_only(self, other: str) -> bool:
        """Return whether ``other``, another source in words, is this topic with another number of partitions."""
        return other != str(self) and other.rpartition(" with ")[0] == self.topic_text


def source_of(ends: clients.TopicEnds, topic: str) -> Source:
    """Ask the brokers what a topic is.

    Raises
    ------
    TocsinError
        They do not answer.
    """
    return ends.ask(lambda admin: _ask(admin, topic), topic)


def source_now(ends: clients.TopicEnds, before: Source) -> Source:
    """Ask the brokers what a topic is that was there when the job began.

    Raises
    ------
    TocsinError
        It was deleted, or they do not answer.
    """

    def ask(admin: AdminClient) -> Source | None:
        try:
            return clients.while_passing(lambda: _ask(admin, before.topic), GONE_SECONDS)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise

    if (now := ends.ask(ask, before.topic)) is None:
        raise TocsinError(
            f"the job began with {before}, which was deleted since; start the job again, which creates the topic anew"
        )
    return now


def _ask(admin: AdminClient, topic: str) -> Source:
    cluster = admin.list_topics(topic, clients.REQUEST_SECONDS).cluster_id
    asked = admin.describe_topics(TopicCollection([topic]), request_timeout=clients.REQUEST_SECONDS)
    described = asked[topic].result()
    return Source(str(cluster), topic, _text(described.topic_id), len(described.partitions))


def _text(id_: Any) -> str:
    """Return an id, a ``Uuid`` of the client (whose stubs lack it), as Kafka's own tools print it."""
    halves = (id_.get_most_significant_bits(), id_.get_least_significant_bits())
    return urlsafe_b64encode(b"".join(half.to_bytes(8, "big", signed=True) for half in halves)).decode().rstrip("=")
