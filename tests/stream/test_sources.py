"""What a topic is, asked of a real broker: the same until it is created again, whatever its number of partitions."""

from __future__ import annotations

import time
import uuid
from typing import Any

from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from stream.clients import TopicEnds
from stream.settings import load_settings
from stream.sources import Source, source_of
from tests.waiting import wait_for


def test_a_topic_that_is_created_again_is_another_one_and_one_with_more_partitions_is_not(broker: Any) -> None:
    settings = load_settings(None, [f"kafka.bootstrap_servers={broker.bootstrap_servers}"], {})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    topic = f"source-{uuid.uuid4().hex[:8]}"

    ends = TopicEnds(settings)

    def create() -> Source:
        admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)
        return source_of(ends, topic)

    first = create()
    assert (first.topic, first.partitions) == (topic, 2)
    assert source_of(ends, topic) == first
    assert ends.of(topic) == ends.beginnings(topic) == {0: 0, 1: 0}
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
    deadline = time.monotonic() + 30
    while (wider := source_of(ends, topic)) == first:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert wider.topic_text == first.topic_text
    assert wider.differs_in_partitions_only(str(first))
    assert ends.partitions(topic) == 2, "as it was when first asked"
    ends.look_again()
    assert ends.of(topic) == {0: 0, 1: 0, 2: 0}
    admin.delete_topics([topic])[topic].result(30)
    wait_for(lambda: topic not in admin.list_topics(timeout=10).topics, 30)
    again = create()
    assert again.topic_text != first.topic_text
    assert not again.differs_in_partitions_only(str(first))
    assert not first.differs_in_partitions_only(str(first))
    assert str(first) == f"topic {topic} (id {first.id}) of cluster {first.cluster} with 2 partitions"
