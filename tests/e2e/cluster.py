"""A Spark standalone cluster of two processes, a Master and a Worker, from the jars that PySpark ships with."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import pyspark

from benchmarks.processes import children_of, command_of, outermost
from stream.java import java_home

HOST = "127.0.0.1"
PATIENCE = 60.0
STOP_SECONDS = 10.0

TWO_EXECUTORS = {
    "spark.spark.driver.host": HOST,
    "spark.spark.driver.memory": "512m",
    "spark.spark.executor.memory": "512m",
    "spark.spark.executor.cores": "1",
    "spark.spark.cores.max": "2",
}
"""Settings of a job that takes the whole of the cluster."""


class StandaloneCluster:
    """A context manager; the Worker offers two cores and room for two small executors."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = ""

    def executors(self) -> list[psutil.Process]:
        """Return the executors' JVMs, which the Worker has started."""
        children = [child for process in self._processes for child in children_of(psutil.Process(process.pid))]
        return outermost([child for child in children if "CoarseGrainedExecutorBackend" in command_of(child)])

    def python_workers(self) -> list[psutil.Process]:
        """Return the Python processes below the executors: daemons and workers."""
        return [
            child for executor in self.executors() for child in children_of(executor) if "python" in command_of(child)
        ]

    def __enter__(self) -> Self:
        try:
            self._launch("Master", "--host", HOST, "--port", "0", "--webui-port", "0")
            self.master = self._await("Master", r"Starting Spark master at (spark://\S+)")
            work = ("--cores", "2", "--memory", "2g", "--work-dir", str(self._folder / "work"))
            self._launch("Worker", "--host", HOST, "--webui-port", "0", *work, self.master)
            self._await("Worker", r"(Successfully registered with master)")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _launch(self, role: str, *arguments: str) -> None:
        home = Path(pyspark.__file__).parent
        kind = f"org.apache.spark.deploy.{role.lower()}.{role}"
        environment = os.environ | {
            "SPARK_HOME": str(home),
            "JAVA_HOME": str(java_home()),
            "SPARK_LOCAL_DIRS": str(self._folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            # What the Worker's executors call Python where a job does not say.
            "PYSPARK_PYTHON": sys.executable,
        }
        with self._log(role).open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [str(home / "bin" / "spark-class"), kind, *arguments],  # becomes the JVM under the same process id
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    cwd=self._folder,
                )
            )

    def _await(self, role: str, words: str) -> str:
        """Return what a process says of itself, once it has."""
        deadline = time.monotonic() + PATIENCE
        while True:
            said = self._log(role).read_text(errors="replace")
            if found := re.search(words, said):
                return found[1]
            if self._processes[-1].poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the {role} did not get ready:\n{said[-3000:]}")
            time.sleep(0.05)

    def _log(self, role: str) -> Path:
        return self._folder / f"{role.lower()}.log"

    def _stop(self) -> None:
        """End the Worker, which ends its executors, then the Master; each by its process id."""
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
