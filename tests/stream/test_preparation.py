"""`stream.preparation`: what a run begins with, by what the broker and the folders hold; Spark is not started yet."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Producer

from stream import clients
from stream.index_place import IndexPlace
from stream.output import TransactionalOutput
from stream.preparation import Preparation
from stream.topics import ensure_topics
from tests.conftest import BrokerAddress
from tests.stream.own_topics import settings_of_its_own


def test_a_group_that_is_ahead_of_a_topic_that_was_cut_off_passes_no_dead_letter_over(
    broker: BrokerAddress, tmp_path: Path
) -> None:
    """The index, which the job refuses then, was removed; what was committed is of records that are gone."""
    settings = settings_of_its_own(broker, "topics.partitions=2")
    ensure_topics(settings)
    topic = settings.topics.subscriptions
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for partition in range(2):
        producer.produce(topic, key="refused", value="no subscription", partition=partition)
    assert producer.flush(30) == 0
    before = TransactionalOutput(settings, "subscriptions", topic, 2)
    before.begin_at({0: 9, 1: 1})
    before.close()

    place = IndexPlace.of(str(tmp_path / "index"), tmp_path / "checkpoint")
    place.folder.mkdir()
    (tmp_path / "checkpoint").mkdir()
    with clients.TopicEnds(settings) as ends:
        prepared = Preparation(settings, place, tmp_path / "checkpoint", ends, lambda _: None).prepare()
        prepared.subscriptions_output.close()
        prepared.events_output.close()
        assert prepared.subscriptions_output.committed == {0: 0, 1: 1}
