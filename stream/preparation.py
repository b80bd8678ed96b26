"""What is checked and prepared before Spark is started: all that does not fit together is told at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from index.engines import check_builder
from index.manifest import Manifest, latest
from index.shards import check_shards
from index.word_analyser import check_analyser
from index.writer import IndexWriter
from stream import clients
from stream.bindings import bind
from stream.healing import begin_anew, mend_events, mend_progress
from stream.index_place import IndexPlace
from stream.job_topics import JobTopics
from stream.offsets import Offsets
from stream.output import TransactionalOutput
from stream.preflight import check_events, check_index
from stream.progress import IndexProgress
from stream.query_names import EVENTS, SUBSCRIPTIONS
from stream.removals import Removals
from stream.settings import Settings
from stream.topics import removals_kept_seconds
from stream.wording import Say


@dataclass(frozen=True, eq=False)
class Prepared:
    """What the run goes on with.

    Attributes
    ----------
    topics
        What the topics are.
    subscriptions_output, events_output
        Of the two queries; no other job with this name can commit any more.
    writer, progress
        Of the index, and how far it has come.
    removals
        Tells when the index may have missed some.
    events_start
        Where the events begin if their checkpoint is new.
    """

    topics: JobTopics
    subscriptions_output: TransactionalOutput
    events_output: TransactionalOutput
    writer: IndexWriter
    progress: IndexProgress
    removals: Removals
    events_start: Offsets


@dataclass(frozen=True, eq=False)
class Preparation:
    """Checks and prepares, in the order that disturbs another job as late as can be.

    Attributes
    ----------
    settings
        The job's.
    place, checkpoint
        The index, and the folder of the events' checkpoint; both are locked.
    ends
        Asks the brokers.
    say
        Told what a person should know.
    """

    settings: Settings
    place: IndexPlace
    checkpoint: Path
    ends: clients.TopicEnds
    say: Say

    def prepare(self) -> Prepared:
        """Return what the run needs.

        Raises
        ------
        TocsinError
            Something does not fit together, or the brokers do not answer.
        """
        topics = JobTopics.of(self.settings, self.ends)
        self._check_folders(topics)
        # Which fences off a job with this name that runs elsewhere.
        subscriptions_output = self._output(SUBSCRIPTIONS, topics.subscriptions.topic)
        events_output = self._output(EVENTS, topics.events.topic)
        manifest, removals = self._whole_index(topics, subscriptions_output)
        start = self._check_offsets(topics, events_output)
        writer = IndexWriter(self.place.address, str(topics.subscriptions), self.settings.job.shards)
        progress = IndexProgress(manifest.version, manifest.absorbed)
        return Prepared(topics, subscriptions_output, events_output, writer, progress, removals, start)

    def _check_folders(self, topics: JobTopics) -> None:
        """See that index, checkpoint and topics fit together, before another job is disturbed."""
        index, source = self.place.address, topics.subscriptions
        manifest = latest(index)
        check_index(index, manifest, source, self.ends.beginnings(source.topic), self.ends.of(source.topic))
        check_builder(index, manifest.segments, self.settings.job.engine)
        check_analyser(index, manifest)
        check_shards(index, manifest, self.settings.job.shards)
        bind(self.checkpoint, index, topics.events, index_is_new=manifest.version == 0)

    def _output(self, query: str, topic: str) -> TransactionalOutput:
        return TransactionalOutput(self.settings, query, topic, self.ends.partitions(topic))

    def _whole_index(self, topics: JobTopics, output: TransactionalOutput) -> tuple[Manifest, Removals]:
        """Return what the index is; others read it no more.

        It is emptied when it may have missed removals, or when what Spark wrote down of it is torn and can't be done
        without.
        """
        index, topic = self.place.address, topics.subscriptions.topic
        manifest, end = latest(index), self.ends.of(topic)
        kept = removals_kept_seconds(self.settings)
        removals = Removals(self.place.folder, topic, kept, manifest.absorbed, manifest.published)
        incomplete = mend_progress(self.place, topic, output.covers(manifest.absorbed), self.say)
        if manifest.version:
            incomplete = removals.forgotten(end) or incomplete
        if incomplete is not None:
            self.say(incomplete)
            begin_anew(self.place)
            bind(self.checkpoint, index, topics.events, index_is_new=True)
            manifest = latest(index)
        if not manifest.version:
            removals.begin()
            self.say(f"there is no index in {index}: it is built from {topic}")
            _set_back(output, end)
        return manifest, removals

    def _check_offsets(self, topics: JobTopics, output: TransactionalOutput) -> Offsets:
        """See that checkpoint and committed offsets fit together; return where the events begin if the former is new.

        It comes before Spark is started, too: what does not fit is told at once.
        """
        events = topics.events
        beginnings, end = self.ends.beginnings(events.topic), self.ends.of(events.topic)
        checkpoint = self.checkpoint / EVENTS
        mend_events(checkpoint, events.topic, output.name, output.committed, self.say)
        start = check_events(checkpoint, events, output.name, output.committed, beginnings, end, self.say)
        if not output.committed:
            output.begin_at(beginnings | start)
        return start


def _set_back(output: TransactionalOutput, end: Offsets) -> None:
    """Let a group begin anew where it is ahead of a topic that was cut off, whose dead letters it would pass over.

    Nobody knows up to where what the topic holds is what was read before.
    """
    ahead = {partition: 0 for partition, offset in output.committed.items() if offset > end.get(partition, 0)}
    if ahead:
        output.begin_at(ahead)
