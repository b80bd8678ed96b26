"""The four topics: created once, whoever comes first, and checked; where they end; on a real broker."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from schemas.errors import TocsinError
from stream import clients, topics
from stream.settings import Settings, load_settings
from tests.waiting import wait_for


@pytest.fixture
def settings(broker: Any) -> Settings:
    """Settings with topic names of the test's own."""
    prefix = f"t{uuid.uuid4().hex[:8]}"
    names = [f"topics.{name}={prefix}.{name}" for name in ("events", "subscriptions", "notifications", "dead_letters")]
    return load_settings(
        None, [*names, "topics.partitions=3", f"kafka.bootstrap_servers={broker.bootstrap_servers}"], {}
    )


def _policy(client: AdminClient, topic: str) -> str:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    return str(client.describe_configs([resource])[resource].result()["cleanup.policy"].value)


def test_missing_topics_are_created_once_by_jobs_that_start_together(settings: Settings) -> None:
    with ThreadPoolExecutor(4) as jobs:
        for done in [jobs.submit(topics.ensure_topics, settings) for _ in range(4)]:
            done.result()
    client = clients.admin(settings)
    known = client.list_topics(timeout=30).topics
    names = settings.topics
    for name in (names.events, names.subscriptions, names.notifications, names.dead_letters):
        assert len(known[name].partitions) == 3
    assert _policy(client, names.subscriptions) == "compact"
    assert _policy(client, names.events) == "delete"
    assert topics.removals_kept_seconds(settings) == topics.WEEK_MS / 1000


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_subscriptions_topic_that_forgets_is_refused_with_the_command_that_cures_it(
    settings: Settings, policy: str
) -> None:
    name = settings.topics.subscriptions
    client = clients.admin(settings)
    client.create_topics([NewTopic(name, 1, 1, config={"cleanup.policy": policy})])[name].result()
    with pytest.raises(TocsinError) as caught:
        topics.ensure_topics(settings)
    assert f"cleanup.policy={policy}" in str(caught.value)
    assert f"--entity-name {name} --add-config cleanup.policy=compact" in str(caught.value)


def test_a_topic_that_kafka_will_not_create_is_named_with_the_reason(settings: Settings) -> None:
    wrong = load_settings(
        None, [f"kafka.bootstrap_servers={settings.kafka.bootstrap_servers}", "topics.replication_factor=7"], {}
    )
    with pytest.raises(
        TocsinError, match=r"would not create the topic tocsin\..* 7 copies.*topics\.replication_factor"
    ):
        topics.ensure_topics(wrong)


def test_brokers_that_do_not_answer_are_named_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "REACH_SECONDS", 0.5)
    nobody = load_settings(None, ["kafka.bootstrap_servers=127.0.0.1:1"], {})
    with pytest.raises(TocsinError, match=r"does not answer at 127\.0\.0\.1:1 .*tocsin broker"):
        topics.ensure_topics(nobody)


def test_an_unknown_client_property_is_refused_in_a_sentence() -> None:
    with pytest.raises(TocsinError, match=r"kafka\.client is refused.*no\.such\.property"):
        topics.ensure_topics(load_settings(None, ["kafka.client.no.such.property=1"], {}))


def test_the_end_of_a_topic_comes_after_what_was_acknowledged_and_before_what_is_not_committed(
    settings: Settings,
) -> None:
    topics.ensure_topics(settings)
    topic = settings.topics.subscriptions
    with clients.TopicEnds(settings) as ends:
        assert ends.of(topic) == {0: 0, 1: 0, 2: 0}
        producer = Producer(clients.producer(settings))
        producer.produce(topic, b"value", b"key", partition=1)
        assert producer.flush(30) == 0
        assert ends.of(topic) == {0: 0, 1: 1, 2: 0}
        in_transaction = Producer(clients.transactional_producer(settings, topic))
        in_transaction.init_transactions(30)
        in_transaction.begin_transaction()
        in_transaction.produce(topic, b"value", b"key", partition=2)
        in_transaction.flush(30)
        assert ends.of(topic) == {0: 0, 1: 1, 2: 0}
        in_transaction.commit_transaction(30)
        wait_for(lambda: ends.of(topic) == {0: 0, 1: 1, 2: 2}, 30, "the record and the mark that it is committed")
