"""The watch over a running job: whether queries and topics are still there, the compaction kept running, the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from index.compaction_process import DAMAGED
from index.inspection import damage
from index.manifest import latest, latest_since
from stream.clients import TopicEnds
from stream.compactor import Compactor, Ended
from stream.endpoint import JobState
from stream.instruments import Instruments
from stream.metrics import Metrics
from stream.preparation import Prepared
from stream.reporter import Reporter, lag
from stream.running_queries import RunningQueries
from stream.stop import Stop


@dataclass(frozen=True, eq=False)
class Watch:
    """Looks after the job, as often as its main loop calls `look`.

    Attributes
    ----------
    index
        The index directory.
    prepared
        Topics, progress and removals of the run.
    ends
        Asks the brokers.
    queries, compactor
        What has to go on.
    errors
        The file that the compaction writes its errors to.
    stop
        Whether the job is to stop, which ends the compaction too.
    state, instruments, metrics, reporter
        What is told, and the counts that it is told from.
    """

    index: str
    prepared: Prepared
    ends: TopicEnds
    queries: RunningQueries
    compactor: Compactor
    errors: Path
    stop: Stop
    state: JobState
    instruments: Instruments
    metrics: Metrics
    reporter: Reporter

    def look(self) -> None:
        """Report when it is time to, and end the job when it can't go on.

        Raises
        ------
        TocsinError
            A query has ended, a topic or the index is another one, a file of the index is damaged, or removals may be
            missing.
        """
        self.queries.check()
        self.state.look()
        ended_so = self.compactor.keep_running()
        # A signal to all of the job's processes ends the compaction at once, and may be heard here a moment later.
        if ended_so is not None and not self.stop.wait(0.2):
            self._compaction_ended(ended_so)
        if self.reporter.due:
            self.prepared.topics.check(self.ends)
            self._report()

    def _compaction_ended(self, so: Ended) -> None:
        self.instruments.compaction_restarted()
        if so.code == DAMAGED:
            self._end_if_damaged()
        again = f"is started again in {so.pause:g} s"
        self.reporter.say(f"the compaction ended with code {so.code} and {again}; see {self.errors}")

    def _end_if_damaged(self) -> None:
        """End the job with the sentence about a damaged file, which the next start cures."""
        for error in damage(self.index, [latest(self.index).version]):
            raise error

    def _report(self) -> None:
        progress, events = self.prepared.progress, self.prepared.topics.events.topic
        subscriptions = self.prepared.topics.subscriptions.topic
        latest_since(self.index, progress.version)  # or the job ends here
        manifest = latest(self.index)
        end, position = self.ends.of(events), self.metrics.position()
        self.instruments.index(manifest)
        self.instruments.lag(events, end, position)
        absorbed, subscriptions_end = progress.absorbed, self.ends.of(subscriptions)
        self.prepared.removals.look(absorbed, subscriptions_end)
        self.instruments.lag(subscriptions, subscriptions_end, absorbed)
        self.reporter.report(
            self.metrics.take(manifest.version),
            lag(end, position),
            sum(entry.alive for entry in manifest.segments),
            len(manifest.segments),
            self.queries.spark_ms(),
        )
