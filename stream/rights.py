"""The rights that the job needs on topics and groups, looked at first, so that the first batch does not end it."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient

from stream import clients
from stream.query_names import EVENTS, SUBSCRIPTIONS, group_of
from stream.refusals import DENIALS, denied
from stream.settings import Settings

GROUP_SECONDS = 5.0
"""How long the brokers may need until a group has a coordinator, and how long one question about it may take."""

OPERATIONS: Final = {"Read": AclOperation.READ, "Write": AclOperation.WRITE}


def check_rights(settings: Settings, ends: clients.TopicEnds) -> None:
    """See that the job may read and write its four topics, and use its consumer groups.

    The right on its transactional ids shows when the first producer starts, before Spark does.

    Raises
    ------
    TocsinError
        A right is missing; the sentence names it and the topic or the group.
    """
    for topic, right in needed_rights(settings).items():
        held = ends.ask(partial(_held, topic), topic)
        if held is not None and OPERATIONS[right] not in held:
            raise denied(settings, right, "topic", topic)
    for query in (EVENTS, SUBSCRIPTIONS):
        group = group_of(settings, query)
        _meet_coordinator(settings, group)
        with clients.TopicEnds(settings) as once:
            if not once.ask(partial(_may_read, group), group):
                raise denied(settings, "Read", "group", group)


def needed_rights(settings: Settings) -> dict[str, str]:
    """Return what the job needs of each of its topics, as Kafka's tools name it; a right includes that to see it."""
    topics = settings.topics
    read = dict.fromkeys((topics.events, topics.subscriptions), "Read")
    return read | dict.fromkeys((topics.notifications, topics.dead_letters), "Write")


def _meet_coordinator(settings: Settings, group: str) -> None:
    """Let brokers that never had a group make room for groups, or refuse; what they say is not looked at here.

    An admin client's question about a group that then has no coordinator stays unanswered, and its answer, when it
    comes after all, ends the process (librdkafka issue 4605). So a consumer asks first, whose questions may be late,
    and the admin client that asks then lives no longer than its question.
    """
    consumer = Consumer(clients.group_reader(settings, group))
    try:
        with contextlib.suppress(KafkaException):
            consumer.committed([TopicPartition(settings.topics.events, 0)], GROUP_SECONDS)
    finally:
        consumer.close()


def _held(topic: str, admin: AdminClient) -> set[AclOperation] | None:
    """Return what this client may do with a topic; None when the brokers do not say."""
    asked = TopicCollection([topic])
    try:
        answer = admin.describe_topics(
            asked, include_authorized_operations=True, request_timeout=clients.REQUEST_SECONDS
        )[topic].result()
    except KafkaException as error:
        if error.args[0].code() in DENIALS:
            return set()
        raise
    return None if answer.authorized_operations is None else set(answer.authorized_operations)


def _may_read(group: str, admin: AdminClient) -> bool:
    """Return whether this client may read a group; a client that commits offsets would ask for a minute in vain.

    Of a group that does not exist yet some brokers say nothing; then the first transaction would tell.
    """
    asked = admin.describe_consumer_groups([group], include_authorized_operations=True, request_timeout=GROUP_SECONDS)
    try:
        answer = asked[group].result()
    except KafkaException as error:
        code = error.args[0].code()
        if code in DENIALS:
            return False
        if code == KafkaError.GROUP_ID_NOT_FOUND:
            return True
        raise
    return answer.authorized_operations is None or AclOperation.READ in answer.authorized_operations
