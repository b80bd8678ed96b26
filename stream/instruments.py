"""What Prometheus reads: every counter, gauge and histogram of the job, with its labels and buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Final

import numpy as np
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
)

from index.manifest import Manifest
from index.merge_policy import LEVEL_ZERO
from stream.offsets import Offsets
from stream.output import Committed
from stream.query_names import EVENTS, SUBSCRIPTIONS
from stream.rows import Counts
from stream.weighted_histogram import WeightedHistogram

LATENCY_SECONDS: Final = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0),
    *(1.5, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0),
)
"""Fine where a keeping-up job lies, coarse where a lagging one does."""

PHASE_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
MERGE_SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)

PHASES: Final = {EVENTS: ("wait", "match", "commit"), SUBSCRIPTIONS: ("absorb", "publish", "commit")}
WORKER_PHASES: Final = ("decode", "match", "encode")
"""Of a micro-batch of each query, and of a task on the workers."""


class Instruments:
    """The metrics of one job in a registry of their own.

    prometheus-client's metrics are safe to share between threads, so the queries write while scrapes read.

    Parameters
    ----------
    name
        The job's name, a label of ``tocsin_build_info``.
    """

    def __init__(self, name: str) -> None:
        disable_created_metrics()  # a second series for each counter, which says when it began
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        Info("tocsin_build", "Version of Tocsin and name of the job.", registry=registry).info(
            {"version": version("tocsin"), "job_name": name}
        )
        self._ready = Gauge(
            "tocsin_ready", "1 once the first load is done and while both queries run.", registry=registry
        )
        self._add_topics(registry)
        self._add_batches(registry)
        self._add_index(registry)
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        """Make the series whose labels are known, so that a rate is there from the first scrape on."""
        for query, phases in PHASES.items():
            self._records.labels(query)
            self._batches.labels(query)
            self._transactions.labels(query)
            for phase in phases:
                self._phases.labels(query, phase)
        for phase in WORKER_PHASES:
            self._workers.labels(phase)

    def _add_topics(self, registry: CollectorRegistry) -> None:
        self._lag = Gauge(
            "tocsin_lag_records",
            "Records of a partition that the job has not committed yet.",
            ["topic", "partition"],
            registry=registry,
        )
        self._records = Counter(
            "tocsin_records", "Records read from a query's topic and committed.", ["query"], registry=registry
        )
        self._matches = Counter("tocsin_matches", "Matches of events with subscriptions.", registry=registry)
        self._dead_letters = Counter(
            "tocsin_dead_letters", "Records that were refused.", ["topic", "reason"], registry=registry
        )
        self._latency = WeightedHistogram(
            "tocsin_latency_seconds",
            "From an event's record timestamp to the commit of its notifications.",
            LATENCY_SECONDS,
            registry,
        )

    def _add_batches(self, registry: CollectorRegistry) -> None:
        self._batches = Counter("tocsin_batches", "Micro-batches committed.", ["query"], registry=registry)
        self._phases = Histogram(
            "tocsin_batch_phase_seconds",
            "Time of a micro-batch's phases: wait (for the index), match and commit of events; absorb, publish and "
            "commit of subscriptions.",
            ["query", "phase"],
            buckets=PHASE_SECONDS,
            registry=registry,
        )
        self._transactions = Histogram(
            "tocsin_transaction_seconds",
            "Time of a Kafka transaction, begin to commit.",
            ["query"],
            buckets=PHASE_SECONDS,
            registry=registry,
        )
        self._workers = Counter(
            "tocsin_worker_seconds",
            "Time of the Python workers, summed over tasks.",
            ["phase"],
            registry=registry,
        )

    def _add_index(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, meaning: str) -> Gauge:
            return Gauge(f"tocsin_{name}", meaning, registry=registry)

        self._version = gauge("index_version", "Latest published version of the index.")
        self._segments = gauge("index_segments", "Segments of that version.")
        self._tail = gauge("index_tail_segments", "Small segments among them, which the next merge takes first.")
        self._bytes = gauge("index_bytes", "Bytes of the segments' files.")
        self._alive = gauge("subscriptions", "Subscriptions that can match.")
        self._dead = gauge("subscriptions_dead", "Replaced or removed subscriptions that wait for a merge.")
        self._merges = Histogram(
            "tocsin_merge_seconds", "Time of a merge of segments.", buckets=MERGE_SECONDS, registry=registry
        )
        self._restarts = Counter(
            "tocsin_compaction_restarts", "How often the compaction process had to be started again.", registry=registry
        )

    def ready(self, ready: bool) -> None:
        """Say whether events are being matched."""
        self._ready.set(ready)

    def batch(self, query: str, phases_ns: Mapping[str, int]) -> None:
        """Count a micro-batch with the times of its phases."""
        self._batches.labels(query).inc()
        for phase, nanoseconds in phases_ns.items():
            self._phases.labels(query, phase).observe(nanoseconds / 1e9)

    def records(self, query: str, counts: Counts) -> None:
        """Count what the workers did for one micro-batch."""
        self._records.labels(query).inc(counts.records)
        self._matches.inc(counts.matches)
        for phase in WORKER_PHASES:
            self._workers.labels(phase).inc(getattr(counts, f"{phase}_ns") / 1e9)

    def transaction(self, query: str, committed: Committed) -> None:
        """Count a committed transaction and its dead letters."""
        self._transactions.labels(query).observe(committed.seconds)
        for (topic, reason), count in committed.dead_letters.items():
            self._dead_letters.labels(topic, reason).inc(count)

    def latencies(self, published: Sequence[tuple[int, int]], committed_ms: float) -> None:
        """Count events by the time from publish to commit.

        Parameters
        ----------
        published
            (record timestamp in milliseconds, how many events have it).
        committed_ms
            When they were committed.
        """
        if published:
            moments, weights = np.array(published, np.int64).T
            self._latency.observe(np.maximum(committed_ms - moments, 0) / 1000, weights)

    def lag(self, topic: str, end: Offsets, position: Offsets) -> None:
        """Show the lag of each partition of a topic."""
        for partition, offset in end.items():
            self._lag.labels(topic, str(partition)).set(max(0, offset - position.get(partition, 0)))

    def index(self, manifest: Manifest) -> None:
        """Show a version of the index."""
        self._version.set(manifest.version)
        self._segments.set(len(manifest.segments))
        self._tail.set(sum(entry.alive < LEVEL_ZERO for entry in manifest.segments))
        self._bytes.set(sum(entry.segment.bytes for entry in manifest.segments))
        self._alive.set(sum(entry.alive for entry in manifest.segments))
        self._dead.set(sum(entry.dead_count for entry in manifest.segments))

    def merged(self, seconds: float) -> None:
        """Count a merge."""
        self._merges.observe(seconds)

    def compaction_restarted(self) -> None:
        """Count a start of the compaction that was not the first."""
        self._restarts.inc()
