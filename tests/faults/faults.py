"""The faults: what is done to the job, and to what it stands on; each ends with a job that runs, or that has ended."""

from __future__ import annotations

import contextlib
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from benchmarks import processes
from schemas.errors import TocsinError
from stream import failpoints
from stream.broker import Broker
from tests.e2e.harness import PATIENCE, JobUnderTest, Topics
from tests.faults.disk import SmallDisk
from tests.faults.proxy import HOST, Proxy

TRANSACTION_SECONDS = 5.0
PAUSE_SECONDS = TRANSACTION_SECONDS + 2
"""The broker looks each second for transactions that lasted too long."""

NETWORK_SECONDS = 3.0
DELAY_SECONDS = 0.1
DISK_SECONDS = 5.0
ARMED_SECONDS = 10.0

STORAGE_PLACES = (
    "seg.rename.before",
    "seg.rename.after",
    "dead.rename.before",
    "json.link.before",
    "json.link.after",
    "pin.link.before",
    "pin.link.after",
    "pin.remove.after",
)
"""Some of the places of `index.failpoints`: a worker comes to the segments', the driver to the others."""

DISK = "disk full"
"""The fault that needs a disk of its own."""

FENCED = ("has taken over and this one was fenced off", "its transaction lasted longer than")


class Unexplained(AssertionError):
    """The job ended without saying why in a sentence, or did not end when it had to."""


class World:
    """The job and what it stands on.

    Attributes
    ----------
    job
        The one that runs; after a takeover the successor, which has folders of its own.
    load
        Publishes and changes for so many seconds; called while something is away that publishing does not need.
    """

    def __init__(self, broker: Broker, proxy: Proxy, disk: SmallDisk, folder: Path, seed: int) -> None:
        self.broker = broker
        self.proxy = proxy
        self.disk = disk
        self.random = random.Random(seed)
        self.load: Callable[[float], None] = time.sleep
        self._folder = folder
        self._topics = Topics()
        self._jobs: list[JobUnderTest] = []
        self.job = self.another_job()

    def another_job(self) -> JobUnderTest:
        """Return a job of the same name and topics, with folders of its own, not started."""
        number = len(self._jobs)
        folder = self._folder / f"job-{number}"
        folder.mkdir(parents=True)
        job = JobUnderTest(
            f"{HOST}:{self.proxy.port}",
            self._topics,
            folder,
            index_dir=self.disk.folder / f"index-{number}",
            checkpoint_dir=self.disk.folder / f"checkpoint-{number}",
            max_events_per_batch=200,
            transaction_timeout_ms=int(1000 * TRANSACTION_SECONDS),
        )
        self._jobs.append(job)
        return job

    def await_ready(self) -> None:
        """Go on publishing until the job that was started is ready."""
        while not self.job.process.ready:
            self.job.process.check()
            self.load(0.1)

    def clean_up(self) -> None:
        for job in self._jobs:
            job.clean_up()


def driver_killed(world: World) -> None:
    world.job.kill()
    world.job.start(wait=False)
    world.await_ready()


def power_cut(world: World) -> None:
    """The driver dies, and of the files that Spark does not sync the latest are gone, and those before them empty."""
    world.job.kill()
    for checkpoint in world.job.checkpoints:
        numbered = [f for folder in ("offsets", "commits") for f in (checkpoint / folder).glob("*") if f.name.isdigit()]
        latest_first = sorted(numbered, key=lambda f: (int(f.name), f.parent.name == "commits"), reverse=True)
        gone, empty = world.random.randint(0, 2), world.random.randint(0, 2)
        for file in latest_first[:gone]:
            file.unlink()
        for file in latest_first[gone : gone + empty]:
            file.write_bytes(b"")
    world.job.start(wait=False)
    world.await_ready()


def worker_killed(world: World) -> None:
    daemons = {process.pid for process in world.job.workers() if _parent_is_java(process)}
    processes.kill([process for process in world.job.workers() if process.pid not in daemons][:1])


def daemon_killed(world: World) -> None:
    processes.kill([process for process in world.job.workers() if _parent_is_java(process)])


def compaction_killed(world: World) -> None:
    processes.kill(world.job.members("index.compaction_process"))


def broker_killed(world: World) -> None:
    world.broker.kill()
    world.broker.start()


def failpoint_reached(world: World) -> None:
    """Somebody dies at a named place; when it was the driver it is started again."""
    job = world.job
    job.arm(world.random.choice(failpoints.PLACES + STORAGE_PLACES), signal.SIGKILL)
    until = time.monotonic() + ARMED_SECONDS
    while job.armed and time.monotonic() < until:
        world.load(0.1)
    job.disarm()
    code = job.process.wait(0.5)
    if code == -signal.SIGKILL:
        job.await_gone()
        job.start(wait=False)
        world.await_ready()


def driver_asleep(world: World) -> None:
    """The driver sleeps past its transaction while another job takes over; woken, it finds itself fenced off."""
    sleeper = world.job
    if world.random.random() < 0.5:
        sleeper.arm("events.offsets-sent", signal.SIGSTOP)
        until = time.monotonic() + ARMED_SECONDS
        while sleeper.armed and time.monotonic() < until:
            world.load(0.1)
        sleeper.disarm()
    asleep_since = time.monotonic()
    processes.send(signal.SIGSTOP, sleeper.members())
    world.job = world.another_job()
    world.job.start(wait=False)
    world.await_ready()
    while time.monotonic() < asleep_since + PAUSE_SECONDS:
        world.load(0.1)
    processes.send(signal.SIGCONT, sleeper.members())
    code = sleeper.process.wait(PATIENCE)
    told = sleeper.process.tail(1)
    if code != 1 or not any(sentence in told for sentence in FENCED):
        raise Unexplained(f"a driver that was fenced off ended with code {code}, saying: {told}")
    sleeper.await_gone()


def disk_full(world: World) -> None:
    """No byte is left for index and checkpoint, for some seconds."""
    world.disk.fill()
    try:
        until = time.monotonic() + DISK_SECONDS
        while time.monotonic() < until and world.job.process.wait(0) is None:
            world.load(0.1)
    finally:
        world.disk.free()
    world.job.process.check()


def network_delayed(world: World) -> None:
    with _proxy(world, delay=DELAY_SECONDS):
        world.load(NETWORK_SECONDS)


def network_lost(world: World) -> None:
    """Everything that the job and the broker tell each other is lost; the connections are of no use after that."""
    with _proxy(world, loses=True):
        world.load(NETWORK_SECONDS)
    world.proxy.reset()


def connections_reset(world: World) -> None:
    until = time.monotonic() + NETWORK_SECONDS
    while time.monotonic() < until:
        world.proxy.reset()
        world.load(world.random.uniform(0.05, 0.5))


FAULTS: dict[str, Callable[[World], None]] = {
    "driver killed": driver_killed,
    "power cut": power_cut,
    "worker killed": worker_killed,
    "daemon killed": daemon_killed,
    "compaction killed": compaction_killed,
    "broker killed": broker_killed,
    "failpoint": failpoint_reached,
    "driver asleep": driver_asleep,
    DISK: disk_full,
    "network delayed": network_delayed,
    "network lost": network_lost,
    "connections reset": connections_reset,
}


def why_it_ended(job: JobUnderTest, error: TocsinError) -> str:
    """Return the sentence with which a job ended by itself.

    Raises
    ------
    Unexplained
        It was none.
    """
    told = job.process.tail(1)
    if job.process.wait(0) != 1 or not told.startswith("tocsin: "):
        raise Unexplained(f"{error}")
    return told


@contextlib.contextmanager
def _proxy(world: World, delay: float = 0.0, loses: bool = False) -> Iterator[None]:
    world.proxy.delay, world.proxy.loses = delay, loses
    try:
        yield
    finally:
        world.proxy.delay, world.proxy.loses = 0.0, False


def _parent_is_java(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        parent = process.parent()
        return parent is not None and "java" in parent.name()
    return False
