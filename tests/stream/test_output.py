"""What a producer that is refused, or has been fenced off, learns while it writes is the sentence that says so."""

from __future__ import annotations

import random
import time

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from schemas.errors import TocsinError
from stream import rows
from stream.output import TransactionalOutput
from stream.topics import ensure_topics
from tests.conftest import BrokerAddress
from tests.stream.own_topics import settings_of_its_own

PATIENCE = 60


def test_a_record_that_is_not_taken_since_another_job_took_over_says_who_did(broker: BrokerAddress) -> None:
    """The broker refuses what was sent before, in the background, and the next record meets merely a fatal error."""
    settings = settings_of_its_own(broker)
    ensure_topics(settings)
    output = TransactionalOutput(settings, "events", settings.topics.events, 1)
    try:
        output._producer.begin_transaction()
        output._send(settings.topics.notifications, b"key", b"before", [])
        assert output._producer.flush(PATIENCE) == 0
        other = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": output.name})
        other.init_transactions(PATIENCE)
        with pytest.raises(KafkaException) as refused:
            _send_for_long(output, settings.topics.notifications)
        assert refused.value.args[0].code() == KafkaError._FATAL
        said = str(output._fatal(refused.value.args[0], 0.0))
        assert f"another job named {output.name} has taken over and this one was fenced off" in said
        assert "lasted longer than" in str(output._fatal(refused.value.args[0], 1e6))
    finally:
        output.close()


def test_a_record_too_large_for_its_topic_is_told_with_the_cure(broker: BrokerAddress) -> None:
    settings = settings_of_its_own(broker)
    narrow = NewTopic(settings.topics.notifications, 1, 1, config={"max.message.bytes": "2000"})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([narrow])[narrow.topic].result(PATIENCE)
    ensure_topics(settings)
    output = TransactionalOutput(settings, "events", settings.topics.events, 1)
    large = rows.record_batch(rows.NOTIFICATION, [b"key"], [random.Random(1).randbytes(5_000)])
    try:
        with pytest.raises(TocsinError, match=r'MSG_SIZE.*raise it, or give the lowest as "message\.max\.bytes" in'):
            output.commit([large], {0: 1})
    finally:
        output.close()


def _send_for_long(output: TransactionalOutput, topic: str) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        output._send(topic, b"key", b"after", [])
        time.sleep(0.01)
