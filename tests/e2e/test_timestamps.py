"""Records whose timestamps are no milliseconds, which some topics take: they stop nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from tests.e2e.harness import Client, JobUnderTest, Topics

ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1)}
COMPACTED = {"cleanup.policy": "compact"}
NANOSECONDS = 1_767_225_600_000_000_000


def test_an_event_with_nanoseconds_is_a_dead_letter_and_a_subscription_with_them_counts(
    broker: Any, tmp_path: Path
) -> None:
    """Spark's own source fails with both. What stands beside them is matched, and each once."""
    topics = Topics()
    _create(broker.bootstrap_servers, {topics.events: ANY_TIME, topics.subscriptions: ANY_TIME | COMPACTED})
    job = JobUnderTest(broker.bootstrap_servers, topics, tmp_path)
    client = None
    try:
        job.start()
        client = Client(broker.bootstrap_servers, job)
        client.subscribe({"early": {"filter": "a = 1"}})
        _send(client, topics.subscriptions, "late", b'{"filter":"a = 1"}')
        places = client.publish([{"a": 1}] * 3)
        _send(client, topics.events, "k", b'{"a":1}')
        places += client.publish([{"a": 1}] * 3)
        client.await_committed(job.events_group, topics.events)
        for place in places:
            assert [n["subscription"] for n in client.matches_of(place)] == ["early", "late"]
        assert len(client.found) == 2 * len(places)
        assert [(letter["key"], letter["tocsin.reason"]) for letter in client.letters] == [(b"k", "event.time")]
        assert job.stop() == 0
    finally:
        if client is not None:
            client.close()
        job.clean_up()


def _create(bootstrap: str, topics: dict[str, dict[str, str]]) -> None:
    new = [NewTopic(name, 2, 1, config=config) for name, config in topics.items()]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for created in admin.create_topics(new).values():
        created.result(30)


def _send(client: Client, topic: str, key: str, value: bytes) -> None:
    client.producer.produce(topic, value, key, timestamp=NANOSECONDS)
    assert client.producer.flush(30) == 0
