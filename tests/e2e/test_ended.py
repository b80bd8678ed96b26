"""What ends a job from outside, with a sentence or in silence: Ctrl-C at the start, Java's death, a topic that goes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from tests.e2e.harness import JobUnderTest, Topics, running_job
from tests.waiting import wait_for


def test_ctrl_c_while_spark_starts_ends_the_job_in_silence(broker: Any, tmp_path: Path) -> None:
    job = JobUnderTest(broker.bootstrap_servers, Topics(), tmp_path)
    try:
        job.start(wait=False)
        job.await_words("NativeCodeLoader", tmp_path / "spark.log")  # Java runs, and Spark in it not yet
        for _ in range(3):
            os.killpg(job.process.pid, signal.SIGINT)  # as a terminal does: to the whole group
            time.sleep(0.1)
        assert job.process.wait(60) == 0, job.process.tail(40)
        assert "starting Spark" in job.process.tail(1)
        job.await_gone()
    finally:
        job.clean_up()


def test_the_death_of_java_is_told_in_a_sentence_and_leaves_nothing_running(broker: Any, tmp_path: Path) -> None:
    with running_job(broker.bootstrap_servers, tmp_path) as (job, client):
        client.publish([{"a": 1}])
        job.member("org.apache.spark.deploy.SparkSubmit").kill()
        assert job.process.wait(60) == 1
        job.await_gone()
        told = job.process.tail(1)
        assert "Spark's Java machine ended by signal 9" in told
        assert told.endswith("spark.log.output; start the job again")
        assert "Traceback" not in job.process.log.read_text()


def test_an_output_topic_that_is_deleted_ends_the_job_which_makes_it_anew(broker: Any, tmp_path: Path) -> None:
    with running_job(broker.bootstrap_servers, tmp_path) as (job, _):
        topic = job.topics.notifications
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.delete_topics([topic])[topic].result(30)
        assert job.process.wait(60) == 1
        told = job.process.tail(1)
        assert f"the job began with topic {topic}" in told
        assert told.endswith("deleted since; start the job again, which creates the topic anew")
        job.start()
        admin.delete_topics([topic])[topic].result(30)
        wait_for(lambda: topic not in admin.list_topics(timeout=10).topics, 60)
        admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)
        assert job.process.wait(60) == 1
        assert job.process.tail(1).endswith("start the job again, which writes to the new topic")
        assert "Traceback" not in job.process.log.read_text()
