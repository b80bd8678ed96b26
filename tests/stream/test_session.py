"""Spark as the job uses it: the connector, the worker daemon, local checkpoints, and a quiet terminal."""

from __future__ import annotations

import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from stream import clients
from stream.log_files import output_file
from stream.session import spark_session, spark_settings
from stream.settings import Settings, load_settings
from stream.topics import ensure_topics

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def settings(broker: Any) -> Settings:
    """Settings whose events topic holds ten records."""
    prefix = f"s{uuid.uuid4().hex[:8]}"
    names = [f"topics.{name}={prefix}.{name}" for name in ("events", "subscriptions", "notifications", "dead_letters")]
    settings = load_settings(None, [*names, f"kafka.bootstrap_servers={broker.bootstrap_servers}"], {})
    ensure_topics(settings)
    producer = Producer(clients.producer(settings))
    for i in range(10):
        producer.produce(settings.topics.events, str(i).encode())
    assert producer.flush(30) == 0
    return settings


def test_records_from_kafka_pass_through_a_worker_that_the_daemon_has_prepared(
    spark: SparkSession, settings: Settings
) -> None:
    def look_around(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc
        import os
        import sys
        from pathlib import Path

        import pyarrow as pa

        command = Path(f"/proc/{os.getppid()}/cmdline").read_text()
        facts = ["stream.daemon" in command, "stream.matcher" in sys.modules, gc.get_freeze_count() > 50_000]
        for batch in batches:
            values = [value.decode() for value in batch.column(0).to_pylist()]
            yield pa.record_batch({"value": values, "facts": [str(facts)] * len(values)})

    options = clients.spark_options(settings) | {"subscribe": settings.topics.events, "startingOffsets": "earliest"}
    events = spark.read.format("kafka").options(**options).load().select("value")
    rows = events.mapInArrow(look_around, "value string, facts string").toArrow().to_pydict()
    assert sorted(rows["value"]) == [str(i) for i in range(10)]
    assert set(rows["facts"]) == {"[True, True, True]"}


def test_a_streaming_query_keeps_its_checkpoint_in_plain_files(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    seen: list[str] = []

    def take(frame: DataFrame, batch: int) -> None:
        seen.extend(row.value.decode() for row in frame.select("value").collect())

    def run() -> None:
        options = clients.spark_options(settings)
        options |= {"subscribe": settings.topics.events, "startingOffsets": "earliest"}
        stream = spark.readStream.format("kafka").options(**options).load()
        query = stream.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query.foreachBatch(take).start().awaitTermination()

    run()
    run()
    assert sorted(seen) == [str(i) for i in range(10)]
    assert (tmp_path / "checkpoint" / "commits" / "0").is_file()
    assert list(tmp_path.rglob(".*.crc")) == []


def test_what_spark_complains_about_goes_to_the_log_file(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    mark = f"mark {uuid.uuid4().hex}"

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys

        print(mark, "printed", file=sys.stderr, flush=True)
        raise ValueError(f"{mark} raised")
        yield from batches

    with pytest.raises(Exception, match="raised"):
        spark.range(1).mapInArrow(fail, "id long").collect()
    assert capfd.readouterr() == ("", "")
    java = spark._jvm
    assert java is not None
    log = Path(java.java.lang.System.getProperty("tocsin.log.file"))
    assert f"{mark} raised" in log.read_text()
    assert f"{mark} printed" in output_file(log).read_text(), "what is held open is not in the file that is renamed"


def test_tocsins_settings_are_in_force(spark: SparkSession) -> None:
    wanted = spark_settings(load_settings(None, ["job.master=local[2]"], {}), [])
    conf = spark.sparkContext.getConf()
    own = {"spark.app.name", "spark.jars", "spark.driver.extraJavaOptions"}
    assert {name: conf.get(name) for name in wanted if name not in own} == {
        name: value for name, value in wanted.items() if name not in own
    }


def test_large_records_reach_a_worker_in_batches_bounded_by_bytes(spark: SparkSession) -> None:
    """Small ones come by ten thousand; of those of a megabyte no more than fit."""
    size, count = 1_000_000, 50

    def sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            yield pa.record_batch({"rows": [batch.num_rows], "bytes": [batch.nbytes]})

    large = spark.range(0, count, 1, 1).selectExpr(f"cast(repeat('x', {size}) AS binary) AS value")
    found = large.mapInArrow(sizes, "rows long, bytes long").collect()
    assert sum(row["rows"] for row in found) == count
    assert max(row["bytes"] for row in found) < load_settings(None, [], {}).job.max_bytes_at_once + 2 * size
    (small,) = spark.range(0, count, 1, 1).mapInArrow(sizes, "rows long, bytes long").collect()
    assert small["rows"] == count


def test_a_running_session_is_used_again(spark: SparkSession) -> None:
    assert spark_session(load_settings(None, [], {})) is spark


def test_the_session_leaves_the_callers_handler_of_ctrl_c_in_place(spark: SparkSession) -> None:
    """PySpark's calls Java, in the midst of another call; the job's begins a stop."""
    assert getattr(signal.getsignal(signal.SIGINT), "__module__", None) != "pyspark.core.context"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("spark://a:7077,b:7077", "spark://a:7077,b:7077"),
    ],
)
def test_a_local_master_tries_a_task_again_as_clusters_do(given: str, used: str) -> None:
    assert spark_settings(load_settings(None, [f"job.master={given}"], {}), [])["spark.master"] == used


def test_a_cluster_keeps_its_own_addresses() -> None:
    cluster = spark_settings(load_settings(None, ["job.master=spark://somewhere:7077"], {}), [])
    assert cluster["spark.master"] == "spark://somewhere:7077"
    assert "spark.driver.host" not in cluster


def test_spark_that_does_not_start_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from schemas.errors import TocsinError\n"
        "from stream.session import spark_session\n"
        "from stream.settings import load_settings\n"
        "try:\n"
        "    spark_session(load_settings(None, sys.argv[1:], {}))\n"
        "except TocsinError as error:\n"
        "    print(error)\n"
    )
    arguments = [f"job.log_file={tmp_path / 'spark.log'}", "spark.driver.memory=1k"]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    assert done.stdout.startswith("Spark did not start (")
    assert "Too small" in done.stdout
