"""What each of the two queries is: the topic that it reads, from where on, and what becomes of its micro-batches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stream import clients
from stream.absorber import AbsorbTask
from stream.acknowledged import AcknowledgedEnd
from stream.batches import BatchFunction
from stream.event_query import EventBatches
from stream.index_place import IndexPlace
from stream.matcher import MatchTask
from stream.metrics import Metrics
from stream.offsets import Offsets
from stream.partitioners import Placing
from stream.preparation import Prepared
from stream.query_names import EVENTS, SUBSCRIPTIONS
from stream.readiness import event_decoding, subscription_decoding
from stream.reread import Rereader
from stream.settings import Settings
from stream.spool import SpoolPlan
from stream.subscription_query import SubscriptionBatches
from stream.wording import Say

SUBSCRIPTIONS_PAUSE_MS, EVENTS_PAUSE_MS = 50, 10
"""How long each query waits, when nothing new has come, before it asks Kafka again.

Every time costs driver and broker a good millisecond. For events that is the price of an answer at once; Spark's
10 ms for subscriptions too would take 7 % of a core from the events, always.
"""


@dataclass(frozen=True, eq=False)
class QueryPlan:
    """A query over one topic, for `stream.running_queries.start_query`.

    Attributes
    ----------
    topic, partitions
        What is read; the query is named after it in Spark's logs.
    known
        Where to begin when the checkpoint is new; partitions that are not named begin at their beginning.
    limit
        The most records of one micro-batch.
    checkpoint
        The query's own checkpoint folder.
    batches
        Called with (frame of key, value, partition, offset, millis; batch number).
    pause_ms
        How long it waits before it asks Kafka again.
    """

    topic: str
    partitions: int
    known: Offsets
    limit: int
    checkpoint: Path
    batches: BatchFunction
    pause_ms: int


@dataclass(frozen=True, eq=False)
class QueryPlans:
    """Plans the two queries.

    Attributes
    ----------
    settings
        The job's.
    place, checkpoint
        The index, and the folder of the events' checkpoint.
    ends
        Asks the brokers.
    prepared
        What both queries go on with.
    metrics, say
        Told of each batch, and of what a person should know.
    """

    settings: Settings
    place: IndexPlace
    checkpoint: Path
    ends: clients.TopicEnds
    prepared: Prepared
    metrics: Metrics
    say: Say

    def subscriptions(self) -> QueryPlan:
        """The checkpoint lies inside the index directory: an index that is removed is read again from the beginning."""
        job, prepared = self.settings.job, self.prepared
        topic = prepared.topics.subscriptions.topic
        partitions = self.ends.partitions(topic)
        checkpoint = self.place.progress
        task = AbsorbTask(
            index=self.place.address,
            topic=topic,
            decoding=subscription_decoding(self.settings),
            engine=job.engine,
            analyser=self.settings.matching.analyser,
            placing=Placing(self.settings.subscriptions.partitioner, partitions),
            shards=job.shards,
            spool=self._spool(SUBSCRIPTIONS),
        )
        batches = SubscriptionBatches(
            checkpoint,
            Rereader(self.settings, topic, checkpoint),
            prepared.subscriptions_output,
            prepared.progress,
            self.metrics,
            self.say,
            task,
            prepared.writer,
        )
        known = prepared.progress.absorbed
        limit = job.max_subscriptions_per_batch
        return QueryPlan(topic, partitions, known, limit, checkpoint, batches, SUBSCRIPTIONS_PAUSE_MS)

    def events(self) -> QueryPlan:
        """A new checkpoint goes on where the group's committed offsets are, or begins at the topic's beginning."""
        job, prepared = self.settings.job, self.prepared
        topic = prepared.topics.events.topic
        checkpoint = self.checkpoint / EVENTS
        task = MatchTask(
            index=self.place.address,
            version=0,
            topic=topic,
            decoding=event_decoding(self.settings),
            top=job.top,
            emit=job.emit,
            include_event=job.include_event,
            spool=self._spool(EVENTS),
            engine=job.engine,
            analyser=self.settings.matching.analyser,
            matches_at_once=job.max_matches_at_once,
            shards=job.shards,
        )
        patience = self.settings.subscriptions.open_transaction_seconds
        batches = EventBatches(
            checkpoint,
            Rereader(self.settings, topic, checkpoint),
            prepared.events_output,
            prepared.progress,
            self.metrics,
            self.say,
            task,
            AcknowledgedEnd(self.ends, prepared.topics.subscriptions, patience, prepared.progress.sleep, self.say),
            job.causality_timeout_seconds,
        )
        partitions, limit = self.ends.partitions(topic), job.max_events_per_batch
        return QueryPlan(topic, partitions, prepared.events_start, limit, checkpoint, batches, EVENTS_PAUSE_MS)

    def _spool(self, name: str) -> SpoolPlan:
        """Each query has a folder of its own, which it empties."""
        return SpoolPlan(str(self.place.folder / "spool" / name), self.settings.job.spool_bytes)
