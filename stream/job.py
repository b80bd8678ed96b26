"""The way through a run of the job: what comes after what, from signals and locks to a clean stop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.errors import TocsinError
from schemas.texts import set_analyser
from stream import clients
from stream.compactor import Compactor
from stream.endpoint import Endpoint, JobState
from stream.first_load import await_load, await_workers
from stream.gateway import NOTICE_SECONDS
from stream.healing import heal
from stream.heartbeat import Heartbeat, wake
from stream.index_place import IndexPlace
from stream.instruments import Instruments
from stream.kernel_cache import ensure_compiled
from stream.lock import FolderLock
from stream.log_files import log_to_file, output_file
from stream.log_format import tell_error
from stream.metrics import Metrics
from stream.preparation import Preparation, Prepared
from stream.progress import Stopping
from stream.query_names import EVENTS
from stream.query_plans import QueryPlans
from stream.readiness import check_machine, check_settings
from stream.reporter import Reporter
from stream.rights import check_rights, needed_rights
from stream.running_queries import RunningQueries
from stream.session import spark_session
from stream.settings import Settings
from stream.stop import Stop
from stream.topics import ensure_topics
from stream.watch import Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    check_settings(settings)
    clients.reach(settings)
    check_machine(settings)
    Job(settings).run()
    return 0


class Job:
    """One run of the job; `run` blocks until a signal or an error."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        set_analyser(settings.matching.analyser)
        self._checkpoint = Path(settings.job.checkpoint_dir).absolute()
        self._place = IndexPlace.of(settings.job.index_dir, self._checkpoint)
        self._instruments = Instruments(settings.job.name)
        self._state = JobState(settings.job.name, version("tocsin"), self._instruments)
        self._metrics = Metrics(self._instruments)
        self._reporter = Reporter(
            settings.job.metrics_interval_seconds, settings.job.metrics_file, settings.job.log_format
        )
        self._stop = Stop(self._reporter.say, partial(tell_error, settings.job.log_format))

    def run(self) -> None:
        """Start everything, wait, stop everything."""
        self._stop.heed_signals()
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
            with clients.TopicEnds(self._settings, needed_rights(self._settings)) as ends:
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
            heal(self._place, self._checkpoint / EVENTS, topic, self._reporter.say)

    def _compile(self) -> None:
        """See that no worker has to compile kernels: Spark can't be stopped meanwhile, and events would wait."""
        self._state.enter("compiling kernels")
        ensure_compiled(self._settings.job.engine, log_to_file(self._settings), self._stop, self._reporter.say)

    def _run(self, ends: clients.TopicEnds) -> None:
        settings = self._settings
        prepared = Preparation(settings, self._place, self._checkpoint, ends, self._reporter.say).prepare()
        self._tell("starting Spark")
        spark = spark_session(settings)
        if (page := spark.sparkContext.uiWebUrl) is not None:
            self._reporter.say(f"Spark's page is at {page}")
        outputs = prepared.subscriptions_output, prepared.events_output
        queries = RunningQueries(spark, prepared.progress, outputs, self._stop, Path(settings.job.log_file))
        try:
            if self._stop.asked:
                raise Stopping
            self._match(spark, queries, prepared, ends)
        except Stopping:
            pass
        finally:
            queries.shut_down()

    def _match(self, spark: SparkSession, queries: RunningQueries, prepared: Prepared, ends: clients.TopicEnds) -> None:
        """Load the index, match events with it, and watch over that until the job is to stop."""
        settings, topics = self._settings, self._settings.topics
        plans = QueryPlans(settings, self._place, self._checkpoint, ends, prepared, self._metrics, self._reporter.say)
        beats = Heartbeat(spark, settings.job.heartbeat_seconds, self._metrics.idle_seconds)
        with beats, ExitStack() as later, self._ending(queries):
            awake = wake(spark)
            queries.start(plans.subscriptions(), clients.spark_options(settings))
            await_load(prepared.progress, ends.of(topics.subscriptions), queries, self._stop, self._tell)
            if not settings.job.master.startswith("local"):  # on hosts with no compiled kernels that takes a minute
                await_workers(awake, queries, self._stop)
            compactor = later.enter_context(self._compactor())  # merges would take the cores from the load
            # Where nothing was committed there is no lag of events that the topic has let go of.
            self._metrics.begin_at(ends.beginnings(topics.events) | prepared.events_output.committed)
            queries.start(plans.events(), clients.spark_options(settings))
            self._ready()
            watch = self._watch(queries, compactor, prepared, ends)
            while not self._stop.wait(0.1):
                watch.look()

    @contextmanager
    def _ending(self, queries: RunningQueries) -> Iterator[None]:
        """Let an error that ends the block begin the stop, so that it is as short, and say that the job is stopping.

        It comes before anything else ends: the compaction alone may take half of the time.
        """
        try:
            yield
        except Stopping:
            raise
        except TocsinError as error:
            self._stop.begin(error)
            raise
        except Exception as error:  # of calls to Java: each may be the first one after its end
            queries.check_machine(NOTICE_SECONDS)
            self._stop.begin(f"an internal error ended the job: {type(error).__name__}: {error}")
            raise
        finally:
            self._state.enter("stopping")

    def _tell(self, state: str) -> None:
        self._reporter.say(state)
        self._state.enter(state)

    def _ready(self) -> None:
        topics = self._settings.topics
        self._state.enter("matching", ready=True)
        self._reporter.say(f"ready: {topics.events} is matched, notifications go to {topics.notifications}")
        if READY_FILE in os.environ:
            Path(os.environ[READY_FILE]).touch()

    def _compactor(self) -> Compactor:
        engine, analyser = self._settings.job.engine, self._settings.matching.analyser
        return Compactor(self._place.address, self._printed, engine, analyser, self._instruments.merged)

    def _watch(
        self, queries: RunningQueries, compactor: Compactor, prepared: Prepared, ends: clients.TopicEnds
    ) -> Watch:
        return Watch(
            self._place.address,
            prepared,
            ends,
            queries,
            compactor,
            self._printed,
            self._stop,
            self._state,
            self._instruments,
            self._metrics,
            self._reporter,
        )

    @property
    def _printed(self) -> Path:
        """What the compaction prints goes there."""
        return output_file(Path(self._settings.job.log_file))
