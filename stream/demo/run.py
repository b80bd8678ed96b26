"""The demo from end to end: broker, subscriptions, job, flights, proof."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import TocsinError
from stream.broker import Broker
from stream.demo.check import Answer, Difference, differences
from stream.demo.display import Display
from stream.demo.interrupt import Stop, supervise
from stream.demo.report import alerts_table, describe, figures_table, interesting, percentiles
from stream.demo.settings import demo_settings
from stream.demo.traffic import Traffic
from stream.demo.workload import Workload, build_workload
from stream.jars import broker_jars, connector_jars
from stream.java import java_executable
from stream.job_process import JobProcess
from stream.topics import ensure_topics

TOP = 5
RATE = 1000.0
"""Events a second: under what two cores sustain with the broker, the job and this client on them."""

WARM_SECONDS = 15
"""From when on latencies are also counted by themselves: until then Java compiles what it is going to repeat."""

CHECKED = 1000
SHOWN = 5
"""How many differences or dead letters are shown."""


def run_demo(events: int = 50_000, subscriptions: int = 20_000, seed: int = 2013, keep: Path | None = None) -> int:
    """Run the demo and return its exit code: 0 when all is as it must be, 1 when not, 130 when it was interrupted.

    Parameters
    ----------
    events
        How many flights, from the beginning of the year.
    subscriptions
        How many generated subscriptions, beside the hand-written ones.
    seed
        Decides the generated subscriptions and the events that are checked.
    keep
        An empty or new folder for the broker's data, the index, the settings and the logs, which is then kept.

    Raises
    ------
    TocsinError
        Java or the flights are missing, the folder is not empty, or the broker or the job has ended.
    """
    display = Display()
    demo = _Demo(events, subscriptions, seed, keep, display)
    return supervise(demo.run, lambda: display.say("stopping"))


@dataclass(frozen=True)
class _Demo:
    events: int
    subscriptions: int
    seed: int
    keep: Path | None
    display: Display

    def run(self, stop: Stop) -> int:
        java_executable()
        with _folder(self.keep) as folder:
            self._fetch_jars(stop)
            with self.display.step("flights and subscriptions") as step:
                load = build_workload(self.events, self.subscriptions, self.seed, stop.look)
                step.update(note=f"{len(load.flights):,} flights, {len(load.subscriptions):,} subscriptions")
            traffic = self._exchange(load, folder, stop)
        wrong = self._prove(load, traffic, stop)
        return self._report(load, traffic, wrong)

    def _fetch_jars(self, stop: Stop) -> None:
        """Download what the broker and the job need, the first time."""
        with self.display.step("jars of Kafka and its connector") as step:

            def report(done: int, total: int, name: str) -> None:
                stop.look()
                step.update(note=f"{done} of {total}, {name}")

            broker_jars(report)
            connector_jars(report)

    def _exchange(self, load: Workload, folder: Path, stop: Stop) -> Traffic:
        """Let the workload through broker and job."""
        broker = Broker(data=folder / "broker", log=folder / "broker.log")
        try:
            with self.display.step("starting the broker"):
                broker.start()
            stop.look()
            settings = demo_settings(folder, broker.bootstrap_servers, TOP)
            traffic = Traffic(settings, load.keys, load.bodies)
            with self.display.step("sending the subscriptions"):
                ensure_topics(settings)
                traffic.subscribe(load.subscriptions, lambda: _look(stop, broker))
            stop.look()
            with JobProcess(settings, folder) as job:
                self._start(broker, job, stop)
                self._match(broker, job, traffic, stop)
                with self.display.step("stopping job and broker"):
                    job.stop()
                    broker.stop()
        finally:
            broker.close()
        return traffic

    def _start(self, broker: Broker, job: JobProcess, stop: Stop) -> None:
        with self.display.step("starting the job, loading the subscriptions") as step:
            while not job.ready:
                _look(stop, broker)
                job.check()
                stop.wait(0.1)
                step.update(note=job.last_words())

    def _match(self, broker: Broker, job: JobProcess, traffic: Traffic, stop: Stop) -> None:
        """Publish and listen at the same time."""
        with self.display.step("matching", total=self.events) as step:

            def tick() -> None:
                _look(stop, broker)
                job.check()

            def progress(published: int, notified: int) -> None:
                step.update(published, f"{RATE:,.0f} events/s, {notified:,} notifications")

            try:
                traffic.run(RATE, tick, progress)
            except TocsinError:
                tick()  # a broker or a job that has ended says more than that it does not answer
                raise

    def _prove(self, load: Workload, traffic: Traffic, stop: Stop) -> list[Difference]:
        with self.display.step("asking the oracle", total=min(CHECKED, self.events)) as step:
            subscriptions = load.decoded_subscriptions()
            events = load.drawn_events(CHECKED, self.seed)

            def found(number: int) -> Answer:
                return [(n.rank, n.subscription, n.score) for n in traffic.answer(number)]

            def progress(done: int) -> None:
                stop.look()
                step.update(done)

            return differences(subscriptions, events, found, TOP, progress)

    def _report(self, load: Workload, traffic: Traffic, wrong: list[Difference]) -> int:
        console = self.display.console
        console.print()
        console.print(alerts_table(interesting(traffic.answers, load.written), load.flights))
        console.print(figures_table(self._figures(load, traffic, len(wrong))))
        for difference in wrong[:SHOWN]:
            self.display.say(describe(difference, load.keys[difference.event]))
        for letter in traffic.dead_letters[:SHOWN]:
            self.display.say(f"dead letter of {letter}")
        if self.keep is not None:
            self.display.say(f"settings, logs and data are in {self.keep}")
        return 1 if wrong or traffic.dead_letters else 0

    def _figures(self, load: Workload, traffic: Traffic, wrong: int) -> dict[str, str]:
        checked = min(CHECKED, self.events)
        warm = [
            seconds
            for seconds, event in zip(traffic.latencies, traffic.sources, strict=True)
            if event >= RATE * WARM_SECONDS
        ]
        return {
            "events": f"{len(load.flights):,}",
            "subscriptions": f"{len(load.subscriptions):,}",
            f"notifications, at most the best {TOP} of an event": f"{len(traffic.latencies):,}",
            "events/s, published and matched": f"{len(load.flights) / traffic.seconds:,.0f}",
            "from publication to notification, p50 and p99": percentiles(traffic.latencies),
            f"the same without the first {WARM_SECONDS} seconds": percentiles(warm),
            "events checked against the oracle": f"{checked:,}",
            "of them with the same ids, scores and ranks": f"{checked - wrong:,}",
        }


def _look(stop: Stop, broker: Broker) -> None:
    stop.look()
    broker.check()


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Yield a new temporary folder that is removed afterwards, or the one to keep."""
    if keep is None:
        folder = Path(tempfile.mkdtemp(prefix="tocsin-demo-"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
            raise TocsinError(f"{keep} is not an empty folder; name a new one to keep the demo's files in")
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TocsinError(
            f"the folder {keep} can't be made: {error.strerror}; name one that this user may make and write to"
        ) from error
    yield keep.absolute()
