"""The job on a Spark standalone cluster: the driver here, two executors elsewhere, the index directory between them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.e2e.cluster import StandaloneCluster, command_of
from tests.e2e.harness import running_job
from tests.e2e.oracle import assert_notifications_are_the_oracles

EXECUTORS = {
    "spark.spark.driver.host": "127.0.0.1",
    "spark.spark.driver.memory": "512m",
    "spark.spark.executor.memory": "512m",
    "spark.spark.executor.cores": "1",
    "spark.spark.cores.max": "2",
}


def test_two_executors_give_the_oracles_notifications(broker: Any, tmp_path: Path) -> None:
    """Relative paths in the settings mean the driver's folder, on the executors too, which run in others."""
    rng = random.Random(11)
    filters = {f"s{n}": f"a in ({n % 7}^0.5, {7 + n % 11}) and b > {rng.randrange(100)}" for n in range(200)}
    events: list[dict[str, Any]] = [{"a": rng.randrange(18), "b": rng.randrange(120)} for _ in range(2_000)]
    paths = {"index_dir": "data/index", "checkpoint_dir": "data/checkpoint", "log_file": "data/spark.log"}
    with (
        StandaloneCluster(tmp_path) as cluster,
        running_job(broker.bootstrap_servers, tmp_path, master=cluster.master, top=5, **EXECUTORS, **paths) as running,
    ):
        job, client = running
        client.subscribe({id_: {"filter": text} for id_, text in filters.items()})
        client.unsubscribe(["s0", "s1"])
        places = client.publish(events)
        client.await_committed(job.events_group, job.topics.events)
        alive = {id_: text for id_, text in filters.items() if id_ not in ("s0", "s1")}
        assert_notifications_are_the_oracles(client, alive, zip(places, events, strict=True), top=5)
        assert client.letters == []
        assert len(cluster.executors()) == 2
        assert any("-m stream.daemon" in command_of(process) for process in cluster.python_workers())
        assert (tmp_path / "data" / "index" / "manifests").is_dir()
        assert list((tmp_path / "work").rglob("manifests")) == [], "an executor has made an index of its own"
        assert list((tmp_path / "work").rglob("spark-sql-kafka*.jar")) != [], "the connector came by the job"
        assert job.stop() == 0
