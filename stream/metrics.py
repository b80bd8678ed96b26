"""Counts of the running job, and the line that shows them every few seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import msgspec

from stream.catch_up import told
from stream.instruments import Instruments
from stream.offsets import Offsets
from stream.output import Committed
from stream.query_names import EVENTS, SUBSCRIPTIONS
from stream.rows import Counts
from stream.trace import TRACE
from stream.wording import counted


class Snapshot(msgspec.Struct):
    """What happened since the snapshot before; times are sums over the batches, in nanoseconds.

    ``wait_ns`` is the wait for the index, ``spark_ns`` the Spark job with the workers' decode, match and encode inside,
    ``commit_ns`` the Kafka transaction; ``counts`` holds the workers' own times, summed over tasks. ``version`` is the
    index's latest, whether or not an event was matched with it.
    """

    seconds: float = 0.0
    batches: int = 0
    counts: Counts = msgspec.field(default_factory=Counts)
    subscriptions: Counts = msgspec.field(default_factory=Counts)
    wait_ns: int = 0
    spark_ns: int = 0
    commit_ns: int = 0
    version: int = 0


class Metrics:
    """Adds up what the queries report, for the line and for Prometheus; safe to share between threads."""

    def __init__(self, instruments: Instruments) -> None:
        self._instruments = instruments
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._now = Snapshot()
        self._position: Offsets = {}
        self._busy = self._began

    def begin_at(self, position: Offsets) -> None:
        """Take over the committed offsets of the runs before this one."""
        with self._lock:
            self._position.update(position)

    def absorbed(
        self, counts: Counts, committed: Committed | None, *, absorb_ns: int, publish_ns: int, commit_ns: int
    ) -> None:
        """Count a micro-batch of subscriptions; one that was ``committed`` before has no transaction now."""
        self._instruments.batch(SUBSCRIPTIONS, {"absorb": absorb_ns, "publish": publish_ns, "commit": commit_ns})
        if committed is not None:
            self._instruments.records(SUBSCRIPTIONS, counts)
            self._instruments.transaction(SUBSCRIPTIONS, committed)
        with self._lock:
            self._now.subscriptions.add(counts)
            self._busy = time.monotonic()

    def matched(
        self,
        counts: Counts,
        end: Offsets,
        published: Sequence[tuple[int, int]],
        committed: Committed,
        *,
        wait_ns: int,
        spark_ns: int,
        commit_ns: int,
    ) -> None:
        """Count a micro-batch of events that ended at the offsets ``end``, published as `rows.moments` says."""
        TRACE.batch(end, counts, wait_ns, spark_ns, commit_ns)
        self._instruments.batch(EVENTS, {"wait": wait_ns, "match": spark_ns, "commit": commit_ns})
        self._instruments.records(EVENTS, counts)
        self._instruments.transaction(EVENTS, committed)
        self._instruments.latencies(published, time.time() * 1000)
        with self._lock:
            now = self._now
            now.batches += 1
            self._busy = time.monotonic()
            now.counts.add(counts)
            now.wait_ns += wait_ns
            now.spark_ns += spark_ns
            now.commit_ns += commit_ns
            self._position.update(end)

    def position(self) -> Offsets:
        """Return the committed end offsets of the events topic."""
        with self._lock:
            return dict(self._position)

    def idle_seconds(self) -> float:
        """Return for how long no micro-batch has ended."""
        with self._lock:
            return time.monotonic() - self._busy

    def take(self, version: int) -> Snapshot:
        """Return what happened since the last call, with the index's latest version, and begin anew."""
        with self._lock:
            taken = self._now
            taken.seconds = time.monotonic() - self._began
            taken.version = version
            self._began = time.monotonic()
            self._now = Snapshot()
            return taken


def line(snapshot: Snapshot, lag: int, subscriptions: int, tail: int, catch_up: float | None = None) -> str:
    """Return the snapshot as one line for a person.

    Parameters
    ----------
    snapshot
        What `Metrics.take` returned.
    lag
        Events that are on the topic and not yet committed.
    subscriptions, tail
        Live subscriptions in the index, and its number of segments.
    catch_up
        What `CatchUp.seconds` says of the lag.
    """
    seconds = max(snapshot.seconds, 1e-9)
    counts = snapshot.counts
    text = (
        f"{counts.records / seconds:,.0f} events/s, {counts.matches / seconds:,.0f} matches/s, "
        f"lag {lag:,}{told(catch_up)}, "
        f"index v{snapshot.version} with {counted(subscriptions, 'subscription')} in {counted(tail, 'segment')}"
    )
    if snapshot.batches:
        wait, spark, commit = (
            ns / snapshot.batches / 1e6 for ns in (snapshot.wait_ns, snapshot.spark_ns, snapshot.commit_ns)
        )
        text += f", {wait + spark + commit:.0f} ms a batch (wait {wait:.0f}, match {spark:.0f}, commit {commit:.0f})"
    if snapshot.subscriptions.records:
        text += f", {counted(snapshot.subscriptions.records, 'subscription update')}"
    dead = counts.dead_letters + snapshot.subscriptions.dead_letters
    return text + (f", {counted(dead, 'dead letter')}" if dead else "")
