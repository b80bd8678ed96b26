"""The job as a benchmark runs it: its own process, with its metrics read back from the file it writes."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition

from stream import clients
from stream.job_process import JobProcess
from stream.reporter import MetricsRecord
from stream.settings import load_settings
from stream.topics import ensure_topics
from stream.trace import VARIABLE

READY_SECONDS = 300.0
LOADED_A_SECOND = 1_000
"""A job that loads more slowly than this has failed."""


def loading_seconds(subscriptions: int) -> float:
    """Return after how long a job with so many subscriptions must be ready."""
    return READY_SECONDS + subscriptions / LOADED_A_SECOND


class BenchJob:
    """`tocsin run` with the five best matches an event; a context manager that waits until it is ready.

    Parameters
    ----------
    bootstrap, folder
        The brokers, and where everything of the job goes.
    further
        Settings as ``name=value`` that win over these.
    trace
        File for a line each batch; see `stream.trace`.
    patience
        Seconds until it must be ready.
    """

    def __init__(
        self, bootstrap: str, folder: Path, *further: str, trace: Path | None = None, patience: float = READY_SECONDS
    ) -> None:
        self._patience = patience
        self._environment = {} if trace is None else {VARIABLE: str(trace)}
        self._metrics = folder / "metrics.jsonl"
        overrides = [
            f"kafka.bootstrap_servers={bootstrap}",
            f"job.index_dir={folder / 'index'}",
            f"job.checkpoint_dir={folder / 'checkpoint'}",
            f"job.log_file={folder / 'spark.log'}",
            f"job.metrics_file={self._metrics}",
            "job.metrics_interval_seconds=1",
            "job.top=5",
            "topics.partitions=2",
            *further,
        ]
        self.settings = load_settings(None, overrides)
        ensure_topics(self.settings)
        self._group = Consumer(clients.group_reader(self.settings, f"{self.settings.job.name}-events"))
        self._process = JobProcess(self.settings, folder)

    def subscribe(self, bodies: dict[str, bytes]) -> None:
        """Put subscriptions on their topic."""
        producer = Producer(clients.producer(self.settings))
        for id_, body in bodies.items():
            while True:
                try:
                    producer.produce(self.settings.topics.subscriptions, body, id_)
                    break
                except BufferError:  # the queue is full
                    producer.poll(0.1)
            producer.poll(0)
        producer.flush()

    def __enter__(self) -> Self:
        self._process.start(**self._environment)
        self._process.await_ready(self._patience)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.stop()
        self._group.close()

    @property
    def pid(self) -> int:
        """The driver's process id, which is that of the job's session too."""
        return self._process.pid

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
            self._process.check()
            time.sleep(0.1)

    def metrics(self, since: float, until: float) -> list[MetricsRecord]:
        """Return the metrics of a stretch of wall-clock time."""
        lines = self._metrics.read_bytes().splitlines()
        records = [msgspec.json.decode(line, type=MetricsRecord) for line in lines]
        return [record for record in records if since < record.time <= until]
