"""What a producer that has been fenced off learns while it writes is the sentence that says so."""

from __future__ import annotations

import time
import uuid

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from stream.output import TransactionalOutput
from stream.settings import load_settings
from stream.topics import ensure_topics
from tests.conftest import BrokerAddress

PATIENCE = 60


def test_a_record_that_is_not_taken_since_another_job_took_over_says_who_did(broker: BrokerAddress) -> None:
    """The broker refuses what was sent before, in the background, and the next record meets merely a fatal error."""
    name = f"o{uuid.uuid4().hex[:8]}"
    topics = [
        f"topics.{topic}={name}-{topic}" for topic in ("subscriptions", "events", "notifications", "dead_letters")
    ]
    settings = load_settings(
        None, [f"kafka.bootstrap_servers={broker.bootstrap_servers}", f"job.name={name}", *topics], {}
    )
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


def _send_for_long(output: TransactionalOutput, topic: str) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        output._send(topic, b"key", b"after", [])
        time.sleep(0.01)
