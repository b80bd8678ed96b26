"""Folders and topics that do not fit together: the job does not start, says why in a sentence, and the cure works."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from stream import clients
from stream.job_process import JobProcess
from stream.settings import Settings
from stream.settings_tables import Events, Matching
from tests.e2e.harness import Client, JobUnderTest, running_job
from tests.waiting import wait_for


def _refusal(settings: Settings, folder: Path) -> str:
    """Start the job on these settings, which it must refuse, and return its one sentence."""
    folder.mkdir(exist_ok=True)
    with JobProcess(settings, folder, folder) as second:
        assert second.wait(60) == 1, second.tail()
        assert "starting Spark" not in second.tail()
        return second.tail(1).removeprefix("tocsin: ")


def _with(settings: Settings, **values: Any) -> Settings:
    """Return the settings with some of the table ``job`` changed."""
    return msgspec.structs.replace(settings, job=msgspec.structs.replace(settings.job, **values))


class Admin:
    """What somebody may do to topics and groups behind the job's back."""

    def __init__(self, bootstrap: str) -> None:
        self._client = AdminClient({"bootstrap.servers": bootstrap})

    def recreate(self, topic: str) -> None:
        config = {"cleanup.policy": "compact"} if topic.endswith("subscriptions") else {}
        self._client.delete_topics([topic])[topic].result(30)
        wait_for(lambda: topic not in self._client.list_topics().topics, 30)
        self._client.create_topics([NewTopic(topic, 2, 1, config=config)])[topic].result(30)
        wait_for(lambda: topic in self._client.list_topics().topics, 30)

    def add_partition(self, topic: str) -> None:
        self._client.create_partitions([NewPartitions(topic, 3)])[topic].result(30)

    def partitions(self, topic: str) -> int:
        return len(self._client.list_topics(topic).topics[topic].partitions)

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        place = TopicPartition(topic, partition, offset)
        self._client.delete_records([place])[place].result()

    def forget_group(self, group: str) -> None:
        self._client.delete_consumer_groups([group])[group].result(30)

    def set_group_back(self, group: str, topic: str) -> None:
        wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 0), TopicPartition(topic, 1, 0)])
        self._client.alter_consumer_group_offsets([wanted])[group].result(30)


def _one_of_each(job: JobUnderTest, client: Client) -> None:
    """A subscription and events in each partition, matched."""
    seen = len(client.found)
    client.subscribe({"s": {"filter": "a = 1"}, "t": {"filter": "a = 1"}})
    client.send_all(job.topics.events, [(f"k{n}", '{"a": 1}') for n in range(8)])
    client.await_committed(job.events_group, job.topics.events)
    client.await_committed(job.subscriptions_group, job.topics.subscriptions)
    assert len(client.found) - seen == 16


def test_state_that_does_not_fit_is_refused_before_spark_starts(broker: Any, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    with running_job(broker.bootstrap_servers, tmp_path / "job") as (job, client):
        admin = Admin(broker.bootstrap_servers)
        topics, settings, folder = job.topics, job.settings, tmp_path / "second"
        _one_of_each(job, client)

        # two jobs with one name: the second is told who the first is, which goes on
        told = _refusal(settings, folder)
        assert told.startswith(f"{settings.job.index_dir} is in use by job {job.name}, process {job.process.pid} on ")
        other_index = _with(settings, index_dir=str(tmp_path / "other"))
        told = _refusal(other_index, folder)
        assert told.startswith(f"{settings.job.checkpoint_dir} is in use by job {job.name}, process {job.process.pid}")
        _one_of_each(job, client)

        # one with the name and folders of its own would take over, but not with settings that it can't run with
        own = _with(settings, index_dir=str(tmp_path / "own"), checkpoint_dir=str(tmp_path / "own-checkpoint"))
        avro = Events(format="avro", schema_file=str(tmp_path / "none.avsc"))
        assert "none.avsc can't be read" in _refusal(msgspec.structs.replace(own, events=avro), folder)
        _one_of_each(job, client)
        assert job.stop() == 0

        # an index whose words were made in another way
        told = _refusal(msgspec.structs.replace(settings, matching=Matching(analyser="whole")), folder)
        assert "was built by the analyser 'words', and matching.analyser is 'whole'" in told

        # an index of another number of shards
        told = _refusal(_with(settings, shards=2), folder)
        assert "was built with shards = 1, and job.shards is 2. Set job.shards back, or remove the index dir" in told

        # the checkpoint of another index
        shutil.copytree(settings.job.index_dir, tmp_path / "other", dirs_exist_ok=True)
        (tmp_path / "other" / "identity").write_text("0" * 32)
        told = _refusal(other_index, folder)
        assert f"belongs to the index of {settings.job.index_dir}, not to that of {tmp_path / 'other'}" in told

        # the group's offsets set back
        admin.set_group_back(job.events_group, topics.events)
        assert "somebody has set it back; to match from there again remove the checkpoint folder" in _refusal(
            settings, folder
        )

        # offsets expired, with a batch that may have been committed or not
        admin.forget_group(job.events_group)
        commits = Path(settings.job.checkpoint_dir) / "events" / "commits"
        last = max(commits.iterdir(), key=lambda file: int(file.name) if file.name.isdigit() else -1)
        done = last.read_bytes()
        last.unlink()
        assert f"no committed offsets of the group {job.events_group} any more" in _refusal(settings, folder)
        last.write_bytes(done)

        # events removed before they were matched
        places = client.send_all(topics.events, [(f"k{n}", '{"a": 1}') for n in range(8)])
        partition, offset = max(places)
        admin.delete_before(topics.events, partition, offset)
        assert "events of" in (told := _refusal(settings, folder))
        assert "were removed before they were matched: partition" in told

        # more partitions, then topics that were created again
        admin.add_partition(topics.subscriptions)
        assert "with 2 partitions, but now there are 3: an id's records may lie in two of them" in _refusal(
            settings, folder
        )
        admin.recreate(topics.subscriptions)
        assert "it was created again, or is on another cluster; remove the index" in _refusal(settings, folder)
        shutil.rmtree(settings.job.index_dir)
        admin.recreate(topics.events)
        assert "it was created again, or is on another cluster; remove the checkpoint" in _refusal(settings, folder)
        shutil.rmtree(settings.job.checkpoint_dir)
        job.start()
        _one_of_each(job, client)

        # a partition added while the job runs: no event is matched without the subscriptions that are in it
        seen = len(client.found)
        admin.add_partition(topics.subscriptions)
        wait_for(lambda: admin.partitions(topics.subscriptions) == 3, 30)
        producer = Producer(clients.producer(settings))  # the other one has not heard of the partition yet
        producer.produce(topics.subscriptions, '{"filter": "a = 1"}', "new", partition=2)
        assert producer.flush(30) == 0
        client.publish([{"a": 1}])
        assert job.process.wait(60) == 1
        assert f"the job began with topic {topics.subscriptions}" in job.process.tail(1)
        client.drain()
        assert len(client.found) == seen
        job.await_gone()
