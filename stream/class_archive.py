"""The archive of Spark's classes: read and checked once, so that later starts of Spark map them and spend less time.

``python -m stream.class_archive`` makes it (application class-data sharing, JEP 310 and 350): it starts Spark, runs a
query of each kind that the job has, and lets Java write down what was loaded. Java ignores an archive that another
Java or other jars wrote, and says so in the log.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.errors import TocsinError
from stream.archived_classes import archive_file
from stream.heartbeat import beat, beat_batches
from stream.log_files import output_file
from stream.session import spark_session
from stream.settings import load_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 300.0
"""Longest time that Java takes to write the archive."""


def make_archive(file: Path) -> None:
    """Write the archive, in place of an earlier one.

    Raises
    ------
    TocsinError
        The folder can't be written to, Spark does not start, or Java did not write the archive.
    """
    from pyspark import SparkContext

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
    except OSError as error:
        raise TocsinError(
            f"{file} can't be written ({error.strerror}); Spark starts without it, only slower"
        ) from error
    fresh = file.with_suffix(f".{os.getpid()}")
    with tempfile.TemporaryDirectory(prefix="tocsin-archive-") as folder:
        log = Path(folder) / "spark.log"
        printed = output_file(log)
        os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={fresh}"  # for Spark, and not for its launcher
        spark = spark_session(load_settings(None, [f"job.log_file={log}", "job.checkpoint_dir=" + folder]))
        gateway = SparkContext._gateway
        assert gateway is not None, "a session has one"
        java = gateway.proc
        _use(spark, Path(folder) / "progress")
        spark.stop()
        java.stdin.close()  # the sign for Spark's Java machine to end
        try:
            java.wait(SECONDS)
        except subprocess.TimeoutExpired:
            java.kill()
        if not fresh.exists():
            raise TocsinError(f"Java did not write {fresh}; it printed:\n{printed.read_text()[-1000:]}")
    fresh.rename(file)


def _use(spark: SparkSession, checkpoint: Path) -> None:
    """Run the code that the job runs: streaming micro-batches through Python workers, collected by Arrow."""
    beat(spark)
    ticks = spark.readStream.format("rate").option("rowsPerSecond", 100).load().selectExpr("value AS id")
    query = ticks.writeStream.foreachBatch(lambda frame, _: frame.mapInArrow(beat_batches, "id long").toArrow())
    running = query.option("checkpointLocation", str(checkpoint)).start()
    deadline = time.monotonic() + SECONDS
    while len(running.recentProgress) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    running.stop()


def main() -> int:
    """Make the archive; that it can't be made is told and no failure of an installation."""
    try:
        make_archive(archive_file())
    except TocsinError as error:
        print(f"tocsin: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
