"""`stream.clients`: which of the brokers' errors pass, so that the job asks again instead of ending."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException

from stream.clients import while_passing


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
