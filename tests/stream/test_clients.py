"""`stream.clients`: which of the brokers' errors pass, so that the job asks again instead of ending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from stream.clients import committed_offsets, while_passing


def question(code: int) -> Callable[[], str]:
    """Return one that is answered when it is put for the third time."""
    errors = [KafkaException(KafkaError(code))] * 2

    def ask() -> str:
        if errors:
            raise errors.pop()
        return "answer"

    return ask


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError._WAIT_COORD,
        KafkaError._TIMED_OUT_QUEUE,
    ],
)
def test_what_brokers_say_while_a_leader_or_a_coordinator_changes_passes(code: int) -> None:
    assert while_passing(question(code)) == "answer"


def test_an_error_that_passes_is_told_when_it_has_not_passed_in_time() -> None:
    with pytest.raises(KafkaException) as caught:
        while_passing(question(KafkaError.OFFSET_NOT_AVAILABLE), seconds=-1.0)
    assert caught.value.args[0].code() == KafkaError.OFFSET_NOT_AVAILABLE


@pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNSUPPORTED_VERSION])
def test_an_error_that_stays_is_told_at_once(code: int) -> None:
    with pytest.raises(KafkaException) as caught:
        while_passing(question(code))
    assert caught.value.args[0].code() == code


class Group:
    """A consumer that answers for partition 0 with an offset, for 1 with none, for 2 with an error."""

    def committed(self, asked: list[TopicPartition], _: float) -> list[TopicPartition]:
        places = [TopicPartition(place.topic, place.partition, (7, -1001, -1001)[place.partition]) for place in asked]
        return [place if place.partition < 2 else Refusing(place) for place in places]


class Refusing(TopicPartition):
    """What the brokers say of a partition that they do not tell about."""

    error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)

    def __init__(self, place: TopicPartition) -> None:
        super().__init__(place.topic, place.partition, place.offset)


def test_a_partition_that_is_refused_has_not_lost_its_offset() -> None:
    """A group without offsets would have the job begin anew."""
    group: Any = Group()
    assert committed_offsets(group, "events", range(2)) == {0: 7}
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        committed_offsets(group, "events", range(3))
