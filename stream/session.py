"""The Spark session: every Spark setting that Tocsin makes, once, with its reason."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.errors import TocsinError, first_line
from stream import daemon
from stream.archived_classes import archive_options
from stream.gateway import handlers_kept, launch
from stream.jars import connector_jars
from stream.java import java_home
from stream.log_files import log_to_file, output_file, tail
from stream.log_format import LogFormat
from stream.secrets import SPARK_REDACTION, hide, resolved_table
from stream.settings import Settings

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

TASK_ATTEMPTS = 4

CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def spark_session(settings: Settings) -> SparkSession:
    """Start Spark, or return the session that runs in this process already.

    What Spark has to say goes to ``job.log_file``, and what its Java machine prints to a file beside it.

    Parameters
    ----------
    settings
        ``job.master`` and ``job.log_file`` count, and ``[spark]`` above all.

    Raises
    ------
    TocsinError
        Java is missing, a jar can't be had, or Spark does not start; then with the end of its log.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    jars = connector_jars()
    log = log_to_file(settings)
    conf = _conf(spark_settings(settings, jars) | resolved_table("spark", settings.spark))
    try:
        gateway = _launch(conf, output_file(log)) if SparkContext._gateway is None else SparkContext._gateway
        with handlers_kept():
            return SparkSession(SparkContext(conf=conf, gateway=gateway))
    except Exception as error:  # py4j, PySpark and the operating system each raise their own
        ends = "\n".join(f"{file} ends with:\n{_end_of(file)}" for file in (log, output_file(log)))
        said = hide(f"Spark did not start ({first_line(error)}); its log {ends}")
        raise TocsinError(said) from error


def spark_settings(settings: Settings, jars: list[Path]) -> dict[str, str]:
    """Return Tocsin's Spark settings, before the ``[spark]`` table changes any of them."""
    job = settings.job
    local = job.master.startswith("local")
    return {
        "spark.master": _master(job.master),
        "spark.app.name": job.name,
        # The connector, resolved already: spark.jars.packages resolves for 8 s at each start.
        "spark.jars": ",".join(str(jar) for jar in jars),
        # In local mode the driver is the executor too; the index lives in the page cache, not in this heap.
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": " ".join(_java_options(Path(job.log_file).absolute(), job.log_format)),
        # Driver and Python workers talk over a socket file: over TCP, delayed acknowledgements cost 46 ms a batch.
        "spark.python.unix.domain.socket.enabled": "true",
        # Workers fork from a process that has imported the matcher and compiled its kernels.
        "spark.python.daemon.module": "stream.daemon",
        f"spark.executorEnv.{daemon.ENGINE}": job.engine,
        # Checkpoint files by write and rename, without a child process and a checksum file each: 53 ms a batch.
        # On file: URLs only; shared file systems keep their own implementations.
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINTS,
        # The checkpoint is for this user, like the rest of the job's files; Hadoop sets modes of its own.
        "spark.hadoop.fs.permissions.umask-mode": "077",
        # The most rows of a record batch that a worker gets: enough to fill the kernels' blocks.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
        # Or fewer, when they are large: otherwise ten thousand events of a megabyte would be held at once.
        "spark.sql.execution.arrow.maxBytesPerBatch": str(job.max_bytes_at_once),
        # Nothing is shuffled that is larger than a micro-batch; the default is 200 tasks.
        "spark.sql.shuffle.partitions": str(settings.topics.partitions),
        # Plans of one stage, or two with shards, gain nothing from being planned again while they run.
        "spark.sql.adaptive.enabled": "false",
        # What a micro-batch has shuffled goes with it; else it stays until the driver happens to collect its garbage.
        "spark.sql.classic.shuffleDependency.fileCleanup.enabled": "true",
        # Each task of a busy core would wait up to 3 s for the core that read the partition before.
        "spark.locality.wait": "0s",
        "spark.ui.enabled": str(job.spark_ui).lower(),
        # Spark's page and plans show settings and the Kafka source's options; these names' values are masked.
        "spark.redaction.regex": SPARK_REDACTION,
        "spark.sql.redaction.options.regex": f"{SPARK_REDACTION}|(?i)url",
        # Progress bars in the terminal are for people at a prompt.
        "spark.ui.showConsoleProgress": "false",
        **(_local_settings() if local else {}),
        # Left unset: spark.executor.pyspark.memory limits a worker's address space, in which the mapped index counts.
    }


def _master(name: str) -> str:
    """Return the master, a local one with the attempts of a task that clusters have by default.

    Without them one Python worker that dies, say for lack of memory, ends the job.
    """
    if name == "local":
        return f"local[1,{TASK_ATTEMPTS}]"
    return f"{name[:-1]},{TASK_ATTEMPTS}]" if re.fullmatch(r"local\[(\d+|\*)\]", name) else name


def _local_settings() -> dict[str, str]:
    return {
        # All parts are on this machine, whose own name may not resolve.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def _java_options(log: Path, log_format: LogFormat) -> tuple[str, ...]:
    here = Path(__file__).parent
    name = "log4j2-json.properties" if log_format == "json" else "log4j2.properties"
    return (
        # Stopping a query during a Python batch function overflows the default stack, three times out of four.
        "-Xss16m",
        # Micro-batches are many and small: in the first two minutes the full compiler and its profiling cost more than
        # they save (on 2 cores: 11 s of CPU to the first batches, not 18; 58 ms a batch after 80 s, not 88).
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        # Classes that were loaded and checked beforehand save 5 of the 13 s of CPU to the first batch.
        *archive_options(),
        f"-Dlog4j2.configurationFile={here / name}",
        f"-Dtocsin.log.template={here / 'log-line.json'}",
        f"-Dtocsin.log.file={log}",
    )


def _conf(values: dict[str, str]) -> SparkConf:
    from pyspark import SparkConf

    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(values.items()))
    return conf


def _launch(conf: SparkConf, printed: Path) -> JavaGateway:
    """Start Spark's Java machine; its standard output and error, which no logging setting reaches, go to a file."""
    os.environ["JAVA_HOME"] = str(java_home())  # what spark-submit looks at first
    # The workers' Python: this one, with Tocsin in it. Where a cluster's hosts keep theirs elsewhere, set the variable.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with printed.open("ab") as output:
        return launch(conf, output)


def _end_of(file: Path) -> str:
    """Return the last lines; nothing of a file that was not written, for Java may not have been started."""
    if not file.exists():
        return ""
    return tail(file.read_text(errors="replace"))
