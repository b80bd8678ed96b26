"""What ends a job from outside, with a sentence or in silence: Java's death."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.harness import running_job


def test_the_death_of_java_is_told_in_a_sentence_and_leaves_nothing_running(broker: Any, tmp_path: Path) -> None:
    with running_job(broker.bootstrap_servers, tmp_path) as (job, client):
        client.publish([{"a": 1}])
        (java,) = job.members("org.apache.spark.deploy.SparkSubmit")
        java.kill()
        assert job.process.wait(60) == 1
        job.await_gone()
        told = job.process.tail(1)
        assert "Spark's Java machine ended by signal 9" in told
        assert told.endswith("spark.log.output; start the job again")
        assert "Traceback" not in job.process.log.read_text()
