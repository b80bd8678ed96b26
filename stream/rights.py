"""The rights that the job needs on topics and groups, looked at first, so that the first batch does not end it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient  # type: ignore[attr-defined]

from stream import clients
from stream.instruments import EVENTS, SUBSCRIPTIONS
from stream.refusals import DENIALS, denied
from stream.settings import Settings

NAMES: Final = {AclOperation.READ: "Read", AclOperation.WRITE: "Write"}


def check_rights(settings: Settings, ends: clients.TopicEnds) -> None:
    """See that the job may read and write its four topics, and use its consumer groups.

    The right on its transactional ids shows when the first producer starts, before Spark does.

    Raises
    ------
    TocsinError
        A right is missing; the sentence names it and the topic or the group.
    """
    for topic, operation in _needed(settings):
        held = ends.ask(partial(_held, topic))
        if held is not None and operation not in held:
            raise denied(settings, NAMES[operation], "topic", topic)
    for query in (EVENTS, SUBSCRIPTIONS):
        group = f"{settings.job.name}-{query}"
        if not ends.ask(partial(_may_read, group)):
            raise denied(settings, "Read", "group", group)


def _needed(settings: Settings) -> Iterator[tuple[str, AclOperation]]:
    topics = settings.topics
    yield topics.events, AclOperation.READ
    yield topics.subscriptions, AclOperation.READ
    yield topics.notifications, AclOperation.WRITE
    yield topics.dead_letters, AclOperation.WRITE


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
    asked = admin.describe_consumer_groups(
        [group], include_authorized_operations=True, request_timeout=clients.REQUEST_SECONDS
    )
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
