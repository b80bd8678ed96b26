"""The job as a benchmark runs it: its own process, with its metrics read back from the file it writes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition

from stream import clients
from stream.job import READY_FILE
from stream.reporter import MetricsRecord
from stream.settings import load_settings
from stream.topics import ensure_topics

READY_SECONDS = 300.0


class BenchJob:
    """`tocsin run` with the five best matches an event; a context manager that waits until it is ready."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._folder = folder
        self._metrics = folder / "metrics.jsonl"
        self._ready = folder / "ready"
        self._overrides = [
            f"kafka.bootstrap_servers={bootstrap}",
            f"job.index_dir={folder / 'index'}",
            f"job.checkpoint_dir={folder / 'checkpoint'}",
            f"job.log_file={folder / 'spark.log'}",
            f"job.metrics_file={self._metrics}",
            "job.metrics_interval_seconds=1",
            "job.top=5",
            "topics.partitions=2",
        ]
        self.settings = load_settings(None, self._overrides)
        ensure_topics(self.settings)
        self._group = Consumer(clients.group_reader(self.settings, f"{self.settings.job.name}-events"))
        self._process: subprocess.Popen[bytes] | None = None

    def subscribe(self, bodies: dict[str, bytes]) -> None:
        """Put subscriptions on their topic."""
        producer = Producer(clients.producer(self.settings))
        for id_, body in bodies.items():
            producer.produce(self.settings.topics.subscriptions, body, id_)
            producer.poll(0)
        producer.flush()

    def __enter__(self) -> Self:
        command = [str(Path(sys.executable).with_name("tocsin")), "run"]
        command += [part for override in self._overrides for part in ("--set", override)]
        with (self._folder / "job.log").open("wb") as log:
            environment = os.environ | {READY_FILE: str(self._ready)}
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + READY_SECONDS
        while not self._ready.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the job did not get ready:\n{(self._folder / 'job.log').read_text()[-3000:]}")
            time.sleep(0.05)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)
        self._group.close()

    def lag(self) -> int:
        """Return how many events are on the topic and not committed."""
        topic = self.settings.topics.events
        partitions = [TopicPartition(topic, p) for p in range(self.settings.topics.partitions)]
        ends = [self._group.get_watermark_offsets(p, cached=False)[1] for p in partitions]
        at = [max(p.offset, 0) for p in self._group.committed(partitions, 30)]
        return sum(end - offset for end, offset in zip(ends, at, strict=True))

    def await_lag(self, lag: int) -> None:
        """Wait until at most that many events are not committed."""
        while self.lag() > lag:
            if self._process is None or self._process.poll() is not None:
                raise RuntimeError(f"the job ended:\n{(self._folder / 'job.log').read_text()[-3000:]}")
            time.sleep(0.1)

    def metrics(self, since: float, until: float) -> list[MetricsRecord]:
        """Return the metrics of a stretch of wall-clock time."""
        lines = self._metrics.read_bytes().splitlines()
        records = [msgspec.json.decode(line, type=MetricsRecord) for line in lines]
        return [record for record in records if since < record.time <= until]
