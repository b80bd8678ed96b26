"""The four topics: created when missing, checked when present."""

from __future__ import annotations

import time

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from schemas.errors import TocsinError
from stream.clients import REQUEST_SECONDS, admin, answered, reach
from stream.refusals import denial, unreachable
from stream.settings import Settings

WEEK_MS = 7 * 24 * 3_600_000

COMPACTED = {"cleanup.policy": "compact", "delete.retention.ms": str(WEEK_MS)}
"""The subscriptions topic is the record of all subscriptions: the last record of each id is kept for ever. A removal is
kept as long as Kafka keeps events unless told otherwise; `stream.removals` says what follows from it."""


def ensure_topics(settings: Settings) -> None:
    """Create the topics that are missing and check the one whose settings matter.

    Several jobs may do it at the same time; a topic that another one made meanwhile is as good.

    Raises
    ------
    TocsinError
        The brokers don't answer or refuse, or the subscriptions topic is not compacted.
    """
    present = reach(settings)
    client = admin(settings)
    try:
        _create(client, settings, present)
    except KafkaException as error:
        raise unreachable(settings, error) from error
    _check_compaction(client, settings)


def _create(client: AdminClient, settings: Settings, present: set[str]) -> None:
    topics = settings.topics
    wanted = {
        topics.events: {},
        topics.subscriptions: COMPACTED,
        topics.notifications: {},
        topics.dead_letters: {},
    }
    missing = [
        NewTopic(name, topics.partitions, topics.replication_factor, config=config)
        for name, config in wanted.items()
        if name not in present
    ]
    if not missing:
        return
    for name, answer in client.create_topics(missing, request_timeout=REQUEST_SECONDS).items():
        try:
            answer.result()
        except KafkaException as error:
            # To whom Describe is denied, a topic that is there seems to be missing.
            denied = denial(settings, error.args[0], "Create", name)
            if denied is not None:
                raise TocsinError(
                    f"the topic {name} is missing, or not shown to this client: {denied}; if the topic is there, give "
                    f"the right Describe"
                ) from error
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise TocsinError(
                    f"Kafka would not create the topic {name} with {topics.partitions} partitions and "
                    f"{topics.replication_factor} copies: {error.args[0].str()}; change topics.partitions or "
                    f"topics.replication_factor, or create the topic yourself"
                ) from error
    _await_leaders(client, [topic.topic for topic in missing])


def _await_leaders(client: AdminClient, names: list[str]) -> None:
    """Wait until each partition has a leader, so that whoever comes next meets a topic that works."""
    deadline = time.monotonic() + REQUEST_SECONDS
    while time.monotonic() < deadline:
        known = client.list_topics(timeout=REQUEST_SECONDS).topics
        if all(
            name in known and known[name].partitions and all(p.leader >= 0 for p in known[name].partitions.values())
            for name in names
        ):
            return
        time.sleep(0.02)
    raise TocsinError(f"the new topics {', '.join(names)} got no leaders within {REQUEST_SECONDS:g} s; try again")


def _check_compaction(client: AdminClient, settings: Settings) -> None:
    name = settings.topics.subscriptions
    policy = _setting(client, settings, "cleanup.policy")
    if "delete" in policy.split(",") or "compact" not in policy.split(","):
        raise TocsinError(
            f"the topic {name} has cleanup.policy={policy}, so Kafka would forget subscriptions; keep the last one "
            f"of each id with: kafka-configs.sh --bootstrap-server {settings.kafka.bootstrap_servers} --alter "
            f"--entity-type topics --entity-name {name} --add-config cleanup.policy=compact"
        )


def removals_kept_seconds(settings: Settings) -> float:
    """Return how long the subscriptions topic keeps removals, at least.

    Raises
    ------
    TocsinError
        The brokers don't answer or refuse.
    """
    return int(_setting(admin(settings), settings, "delete.retention.ms")) / 1000


def _setting(client: AdminClient, settings: Settings, setting: str) -> str:
    """Return a setting of the subscriptions topic."""
    name = settings.topics.subscriptions
    resource = ConfigResource(ResourceType.TOPIC, name)

    def ask() -> str:
        answer = client.describe_configs([resource], request_timeout=REQUEST_SECONDS)[resource]
        return str(answer.result()[setting].value)

    return answered(settings, ask, "DescribeConfigs", name)
