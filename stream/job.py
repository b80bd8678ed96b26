"""The job: the two queries side by side, the compaction beside them, from the first load to a clean stop."""

from __future__ import annotations

import os
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING

from index.compaction import DAMAGED
from index.engines import check_builder
from index.inspection import damage
from index.manifest import Manifest, latest, latest_since
from index.shards import check_shards
from index.word_analyser import check_analyser
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.texts import set_analyser
from stream import clients
from stream.absorber import AbsorbTask
from stream.acknowledged import AcknowledgedEnd
from stream.batches import PAUSE_MS, BatchFunction, BatchGate, start_query
from stream.bindings import bind
from stream.checkpoint import Offsets
from stream.compactor import Compactor
from stream.endings import ended, machine_ended
from stream.endpoint import Endpoint, JobState
from stream.event_query import EventBatches
from stream.gateway import NOTICE_SECONDS, end_of, in_vain_when_ended
from stream.healing import begin_anew, heal
from stream.heartbeat import Heartbeat, wake
from stream.index_place import IndexPlace
from stream.instruments import Instruments
from stream.kernel_cache import ensure_compiled
from stream.lock import FolderLock
from stream.log_files import log_to_file, output_file
from stream.log_format import tell_error
from stream.matcher import MatchTask
from stream.metrics import Metrics
from stream.output import TransactionalOutput
from stream.partitioners import Placing
from stream.preflight import check_events, check_index
from stream.progress import IndexProgress, Stopping
from stream.readiness import check_settings, event_decoding, subscription_decoding
from stream.removals import Removals
from stream.reporter import Reporter, lag
from stream.reread import Rereader
from stream.rights import check_rights
from stream.session import spark_session
from stream.settings import Settings
from stream.sources import Source, source_now, source_of
from stream.spool import SpoolPlan
from stream.stop import Stop
from stream.subscription_query import SubscriptionBatches
from stream.topics import ensure_topics, removals_kept_seconds

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

READY_FILE = "TOCSIN_READY_FILE"
"""Environment variable that names a file to create once the first load is done and both queries run."""


def run(settings: Settings) -> int:
    """Run the job until it is told to stop (SIGTERM or SIGINT); return the exit code.

    Raises
    ------
    TocsinError
        The job can't start, or a query ended with an error.
    """
    os.umask(0o077)  # index, checkpoint and log hold what users write: they are for this user, and so for Spark's
    job = Job(settings)
    job.run()
    return 0


class Job:
    """One run of the job; `run` blocks until a signal or an error."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        set_analyser(settings.matching.analyser)
        self._checkpoint = Path(settings.job.checkpoint_dir).absolute()
        self._place = IndexPlace.of(settings.job.index_dir, self._checkpoint)
        self._index = self._place.address
        self._instruments = Instruments(settings.job.name)
        self._state = JobState(settings.job.name, version("tocsin"), self._instruments)
        self._metrics = Metrics(self._instruments)
        self._reporter = Reporter(
            settings.job.metrics_interval_seconds, settings.job.metrics_file, settings.job.log_format
        )
        self._stop = Stop(self._reporter.say, partial(tell_error, settings.job.log_format))
        self._gates: list[BatchGate] = []
        self._queries: list[StreamingQuery] = []
        self._outputs: dict[str, TransactionalOutput] = {}
        self._sources: dict[str, Source] = {}
        self._written: list[Source] = []
        self._removals: Removals
        self._gateway: JavaGateway

    def run(self) -> None:
        """Start everything, wait, stop everything."""
        self._stop.heed_signals()
        check_settings(self._settings)
        try:
            self._run_locked()
        finally:
            self._stop.done()

    def _run_locked(self) -> None:
        self._heal()
        name = self._settings.job.name
        with (
            FolderLock(self._place.folder, "job.index_dir", name) as lock,
            FolderLock(self._checkpoint, "job.checkpoint_dir", name),
            Endpoint(self._settings.metrics.listen, self._instruments, self._state) as endpoint,
        ):
            lock.tell(endpoint.url)
            if endpoint.url is not None:
                self._reporter.say(f"metrics are at {endpoint.url}/metrics")
            ensure_topics(self._settings)
            with clients.TopicEnds(self._settings) as ends:
                check_rights(self._settings, ends)
                self._compile()
                if not self._stop.asked:
                    self._run(ends)

    def _heal(self) -> None:
        """Under locks of its own: the index directory that is locked afterwards may be another one."""
        name = self._settings.job.name
        with (
            FolderLock(self._place.folder, "job.index_dir", name),
            FolderLock(self._checkpoint, "job.checkpoint_dir", name),
        ):
            topic = self._settings.topics.subscriptions
            heal(self._place, self._checkpoint / "events", topic, self._reporter.say)

    def _compile(self) -> None:
        """See that no worker has to compile kernels: Spark can't be stopped meanwhile, and events would wait."""
        self._state.enter("compiling kernels")
        ensure_compiled(self._settings.job.engine, log_to_file(self._settings), self._stop, self._reporter.say)

    def _run(self, ends: clients.TopicEnds) -> None:
        topics = self._settings.topics
        read = {"subscriptions": topics.subscriptions, "events": topics.events}
        for query, topic in read.items():
            self._sources[query] = source_of(ends, topic)
        self._written = [source_of(ends, topic) for topic in (topics.notifications, topics.dead_letters)]
        self._check_folders(ends)
        for query, topic in read.items():  # which fences off a job with this name that runs elsewhere
            self._outputs[query] = TransactionalOutput(self._settings, query, topic, ends.partitions(topic))
        manifest = self._whole_index(ends)
        start = self._check_offsets(ends)
        writer = IndexWriter(self._index, str(self._sources["subscriptions"]), self._settings.job.shards)
        progress = IndexProgress(manifest.version, manifest.absorbed)
        self._reporter.say("starting Spark")
        self._state.enter("starting Spark")
        spark = spark_session(self._settings)
        self._gateway = spark.sparkContext._gateway
        try:
            if self._stop.asked:
                raise Stopping
            awake = wake(spark)
            with Heartbeat(spark, self._settings.job.heartbeat_seconds, self._metrics.idle_seconds):
                self._start_subscriptions(spark, writer, progress, ends)
                self._load(progress, ends)
                self._await_workers(awake)
                with self._compactor() as compactor:  # merges would take the cores from the load
                    self._start_events(spark, progress, ends, start)
                    self._ready()
                    while not self._stop.wait(0.1):
                        self._look_after(compactor, progress, ends)
        except Stopping:
            pass
        except TocsinError as error:
            self._stop.begin(error)
            raise
        except Exception:  # of calls to Java: each may be the first one after its end
            self._check_machine(NOTICE_SECONDS)
            raise
        finally:
            self._shut_down(spark, progress)

    def _check_folders(self, ends: clients.TopicEnds) -> None:
        """See that index, checkpoint and topics fit together, before another job is disturbed."""
        manifest, source = latest(self._index), self._sources["subscriptions"]
        check_index(self._index, manifest, source, ends.beginnings(source.topic), ends.of(source.topic))
        check_builder(self._index, manifest.segments, self._settings.job.engine)
        check_analyser(self._index, manifest)
        check_shards(self._index, manifest, self._settings.job.shards)
        bind(self._checkpoint, self._index, self._sources["events"], index_is_new=manifest.version == 0)

    def _whole_index(self, ends: clients.TopicEnds) -> Manifest:
        """Return what the index is; it is emptied when it may have missed removals, since others read it no more."""
        topic = self._sources["subscriptions"].topic
        manifest, end = latest(self._index), ends.of(topic)
        kept = removals_kept_seconds(self._settings)
        self._removals = Removals(self._place.folder, topic, kept, manifest.absorbed)
        if manifest.version and (forgotten := self._removals.forgotten(end)) is not None:
            self._reporter.say(forgotten)
            begin_anew(self._place)
            bind(self._checkpoint, self._index, self._sources["events"], index_is_new=True)
            manifest = latest(self._index)
        if not manifest.version:
            self._removals.begin()
            self._reporter.say(f"there is no index in {self._index}: it is built from {topic}")
        return manifest

    def _check_offsets(self, ends: clients.TopicEnds) -> Offsets:
        """See that checkpoint and committed offsets fit together; return where the events begin if the former is new.

        It comes before Spark is started, too: what does not fit is told at once.
        """
        events, output = self._sources["events"], self._outputs["events"]
        beginnings, end = ends.beginnings(events.topic), ends.of(events.topic)
        checkpoint = self._checkpoint / "events"
        start = check_events(checkpoint, events, output.name, output.committed, beginnings, end, self._reporter.say)
        if not output.committed:
            output.begin_at(beginnings | start)
        return start

    def _start_subscriptions(
        self, spark: SparkSession, writer: IndexWriter, progress: IndexProgress, ends: clients.TopicEnds
    ) -> None:
        """The checkpoint lies inside the index directory: an index that is removed is read again from the beginning."""
        topic = self._settings.topics.subscriptions
        checkpoint = self._place.progress
        decoding = subscription_decoding(self._settings)
        engine, analyser = self._settings.job.engine, self._settings.matching.analyser
        placing = Placing(self._settings.subscriptions.partitioner, ends.partitions(topic))
        task = AbsorbTask(self._index, topic, decoding, engine, analyser, placing, self._settings.job.shards)
        output = self._outputs["subscriptions"]
        reread = Rereader(self._settings, topic, checkpoint)
        batches = SubscriptionBatches(
            checkpoint, reread, output, progress, self._metrics, self._reporter.say, task, writer
        )
        limit = self._settings.job.max_subscriptions_per_batch
        self._start(spark, "subscriptions", ends, progress.absorbed, limit, checkpoint, batches)

    def _start_events(
        self, spark: SparkSession, progress: IndexProgress, ends: clients.TopicEnds, start: Offsets
    ) -> None:
        """A new checkpoint goes on where the group's committed offsets are, or begins at the topic's beginning."""
        job, topics = self._settings.job, self._settings.topics
        checkpoint = self._checkpoint / "events"
        task = MatchTask(
            index=self._index,
            version=0,
            topic=topics.events,
            decoding=event_decoding(self._settings),
            top=job.top,
            emit=job.emit,
            include_event=job.include_event,
            spool=SpoolPlan(str(self._place.folder / "spool" / job.name), job.spool_bytes),
            engine=job.engine,
            analyser=self._settings.matching.analyser,
            matches_at_once=job.max_matches_at_once,
            shards=job.shards,
        )
        output = self._outputs["events"]
        patience = self._settings.subscriptions.open_transaction_seconds
        end = AcknowledgedEnd(ends, self._sources["subscriptions"], patience, progress.sleep, self._reporter.say)
        batches = EventBatches(
            checkpoint,
            Rereader(self._settings, topics.events, checkpoint),
            output,
            progress,
            self._metrics,
            self._reporter.say,
            task,
            end,
            job.causality_timeout_seconds,
        )
        # Where nothing was committed there is no lag of events that the topic has let go of.
        self._metrics.begin_at(ends.beginnings(topics.events) | output.committed)
        self._start(spark, "events", ends, start, job.max_events_per_batch, checkpoint, batches)

    def _start(
        self,
        spark: SparkSession,
        query: str,
        ends: clients.TopicEnds,
        known: Offsets,
        limit: int,
        checkpoint: Path,
        batches: BatchFunction,
    ) -> None:
        gate, topic, pause = BatchGate(), self._sources[query].topic, PAUSE_MS[query]
        options = clients.spark_options(self._settings)
        partitions = ends.partitions(topic)
        self._gates.append(gate)
        self._queries.append(
            start_query(spark, topic, options, partitions, known, limit, checkpoint, gate.guard(batches), pause)
        )

    def _compactor(self) -> Compactor:
        settings = self._settings
        engine, analyser = settings.job.engine, settings.matching.analyser
        return Compactor(self._index, output_file(self._log_file()), engine, analyser, self._instruments.merged)

    def _load(self, progress: IndexProgress, ends: clients.TopicEnds) -> None:
        """Wait until the index holds all that was on the subscriptions topic when the job started."""
        end = ends.of(self._settings.topics.subscriptions)
        all_, began = lag(end, progress.absorbed), monotonic()
        while not progress.reaches(end, 1.0):
            self._check_queries()
            if self._stop.asked:
                raise Stopping
            left = lag(end, progress.absorbed)
            rate = (all_ - left) / (monotonic() - began)
            told = f"loading subscriptions, {left:,} records to go" + (f", {rate:,.0f} a second" if rate else "")
            self._reporter.say(told)
            self._state.enter(told)

    def _await_workers(self, awake: Thread) -> None:
        """Wait, on a cluster, until workers have begun: on hosts with no compiled kernels that takes a minute."""
        if not self._settings.job.master.startswith("local"):
            while awake.is_alive() and not self._stop.wait(0.1):
                self._check_queries()

    def _ready(self) -> None:
        topics = self._settings.topics
        self._state.enter("matching", ready=True)
        self._reporter.say(f"ready: {topics.events} is matched, notifications go to {topics.notifications}")
        if READY_FILE in os.environ:
            Path(os.environ[READY_FILE]).touch()

    def _look_after(self, compactor: Compactor, progress: IndexProgress, ends: clients.TopicEnds) -> None:
        """Report when it is time to, and end the job when a query has ended."""
        self._check_queries()
        self._state.look()
        ended_so = compactor.keep_running()
        # A signal to all of the job's processes ends the compaction at once, and may be heard here a moment later.
        if ended_so is not None and not self._stop.wait(0.2):
            self._instruments.compaction_restarted()
            if ended_so.code == DAMAGED:
                self._end_if_damaged()
            errors = output_file(self._log_file())
            again = f"is started again in {ended_so.pause:g} s"
            self._reporter.say(f"the compaction ended with code {ended_so.code} and {again}; see {errors}")
        if self._reporter.due:
            self._check_topics(ends)
            self._report(progress, ends)

    def _report(self, progress: IndexProgress, ends: clients.TopicEnds) -> None:
        latest_since(self._index, progress.version)  # or the job ends here
        topics, manifest = self._settings.topics, latest(self._index)
        end, position = ends.of(topics.events), self._metrics.position()
        self._instruments.index(manifest)
        self._instruments.lag(topics.events, end, position)
        absorbed, subscriptions_end = progress.absorbed, ends.of(topics.subscriptions)
        self._removals.look(absorbed, subscriptions_end)
        self._instruments.lag(topics.subscriptions, subscriptions_end, absorbed)
        spark = self._queries[-1].lastProgress
        self._reporter.report(
            self._metrics.take(manifest.version),
            lag(end, position),
            sum(entry.alive for entry in manifest.segments),
            len(manifest.segments),
            dict(spark["durationMs"]) if spark else {},
        )

    def _check_topics(self, ends: clients.TopicEnds) -> None:
        """End the job when a topic was deleted or created again, or the subscriptions' has more partitions.

        Producers wait long for topics that are gone, and in silence.
        """
        ends.look_again()
        for query, before in self._sources.items():
            now = source_now(ends, before)
            if now.topic_text != before.topic_text or (query == "subscriptions" and now != before):
                raise TocsinError(
                    f"the job began with {before}, and now it is {now}; start the job again, it says what to do"
                )
        for before in self._written:
            if (now := source_now(ends, before)).topic_text != before.topic_text:
                raise TocsinError(
                    f"the job began to write to {before}, and now it is {now}: what was on it and not yet read is "
                    f"lost; start the job again, which writes to the new topic"
                )

    def _end_if_damaged(self) -> None:
        """End the job with the sentence about a damaged file, which the next start cures."""
        for error in damage(self._index, [latest(self._index).version]):
            raise error

    def _check_machine(self, seconds: float = 0.0) -> None:
        """End the job when Spark's Java machine has ended, or does within so many seconds."""
        if (code := end_of(self._gateway, seconds)) is not None:
            error = machine_ended(code, output_file(self._log_file()))
            self._stop.begin(error)
            raise error

    def _check_queries(self) -> None:
        self._check_machine()
        for gate, query in zip(self._gates, self._queries, strict=True):
            if isinstance(gate.error, TocsinError):
                raise gate.error
            if gate.error is not None and not isinstance(gate.error, Stopping):
                self._check_machine(NOTICE_SECONDS)  # the call that waits for a batch is the first to know
                raise ended(query.name, gate.error, self._log_file()) from gate.error
            if not query.isActive and not self._stop.asked:
                raise ended(query.name, query.exception() or "it was stopped", self._log_file())

    def _shut_down(self, spark: SparkSession, progress: IndexProgress) -> None:
        """Let the batches under way end, then stop the queries and Spark."""
        self._state.enter("stopping")
        progress.stop()
        for gate in self._gates:
            gate.close(self._stop.left_for_batches())
        with in_vain_when_ended(self._gateway):
            for query in self._queries:
                query.stop()
        for output in self._outputs.values():
            output.close()
        with in_vain_when_ended(self._gateway):
            spark.stop()

    def _log_file(self) -> Path:
        return Path(self._settings.job.log_file)
