"""Runs faults against a real job under load and counts what was lost, doubled, wrong or stuck; all must be 0.

Command: ``python -m tests.faults.run --faults 200 [--seed 1] [--table FILE] [--resume FILE]``; ``make faults N=200``.
One broker, a job with two partitions on local[2] that reaches it through a proxy and has its folders on a small disk,
one writer that changes a few dozen subscriptions and publishes events all the time. Between two faults pass some random
tenths of a second; after each everything that was published must be committed, and when nothing goes on for
`tests.e2e.harness.PATIENCE` seconds the job counts as stuck. Then its events are compared with the oracle and the table
is written: a run that is cut off leaves what it has done, and goes on from there, with a job and a broker of its own,
when it has a file to resume from.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.command import amount, count, count_or_none, parser
from benchmarks.command import run as run_command
from benchmarks.kept import require_file
from schemas.errors import TocsinError
from stream.broker import HOST, Broker, free_port
from tests.faults.disk import SmallDisk
from tests.faults.faults import DISK, FAULTS, Unexplained, World, why_it_ended
from tests.faults.generator import Generator
from tests.faults.history import Order, Verdict
from tests.faults.proxy import Proxy
from tests.faults.report import Report

ATTEMPTS = 3
"""How often a job that ended or stood still is started again after one fault; what is missing then is lost."""


class Trial:
    """One job under load and faults."""

    def __init__(self, world: World, report: Report, tell: Callable[[Report], None]) -> None:
        self._world = world
        self._report = report
        self._before = (report.seconds, report.events, report.changes, report.aborted)
        self._tell = tell
        self._order = Order()
        world.job.start()
        self._load = Generator(world.broker.bootstrap_servers, world.job, world.random)
        world.load = self._load.run

    def run(self, faults: int, kinds: list[str], minutes: float) -> Report:
        """Go on to that many faults, fewer when the time is over, the kinds in turn and shuffled, and judge."""
        began, first = time.monotonic(), self._report.faults.total()
        kinds = list(kinds)
        if DISK in kinds and not self._world.disk.mounted:
            kinds.remove(DISK)
            self._report.skipped[DISK] = reason = "this process may not mount a small file system"
            if not kinds:
                raise TocsinError(f"nothing is left to do: {reason}, which {DISK!r} needs; name other --kinds")
        for number in range(first, faults):
            if time.monotonic() > began + 60 * minutes:
                break
            if number == first or number % len(kinds) == 0:
                self._world.random.shuffle(kinds)
            kind = kinds[number % len(kinds)]
            with self._report.timed(kind):
                self._load.during = kind
                self._load.run(self._world.random.uniform(0.1, 1.0))
                self._inject(kind)
                settled = self._settle(kind)
            self._report.seconds = self._before[0] + time.monotonic() - began
            if settled:
                self._judge()
        if self._load.history.unsettled:
            self._judge()
        return self._report

    def close(self) -> None:
        self._load.close()
        self._world.clean_up()

    def _judge(self) -> None:
        """Judge the events since the last time, and forget them."""
        report, load = self._report, self._load
        for during, verdict in load.history.judge_each(load.client.matches_by_event()).items():
            report.verdicts.setdefault(during, Verdict()).add(verdict)
        for late in self._order.late(load.client.found):
            report.verdicts.setdefault("", Verdict()).note("wrong", late)
        load.history.settle()
        load.client.found.clear()
        _, events, changes, aborted = self._before
        report.events = events + load.history.events
        report.changes = changes + load.history.now
        report.aborted = aborted + load.aborted
        self._tell(report)

    def _inject(self, kind: str) -> None:
        pending = self._load.produce()  # under way when it happens
        try:
            FAULTS[kind](self._world)
        except TocsinError as error:
            self._revive(kind, error)
        except Unexplained as error:
            self._report.note_stuck(kind, str(error))
        self._load.acknowledge(pending)

    def _settle(self, kind: str) -> bool:
        """Wait until everything is committed, or give up; a job that ended or stands still is started again."""
        for _ in range(ATTEMPTS):
            job = self._world.job
            try:
                self._load.client.job = job
                self._load.client.await_committed(job.events_group, job.topics.events)
                return True
            except TocsinError as error:
                self._revive(kind, error)
            except AssertionError as error:
                self._report.note_stuck(kind, str(error))
                job.kill()
                job.start(wait=False)
                self._world.await_ready()
        return False

    def _revive(self, kind: str, error: TocsinError) -> None:
        """Start the job again after it has ended by itself."""
        job = self._world.job
        try:
            self._report.note_ended(kind, why_it_ended(job, error))
        except Unexplained as unexplained:
            self._report.note_stuck(kind, str(unexplained))
        job.await_gone()
        job.start(wait=False)
        self._world.await_ready()


@contextlib.contextmanager
def standing(folder: Path, seed: int) -> Iterator[World]:
    """A broker, the proxy in front of it, a disk, and the world that stands on them."""
    with Proxy() as proxy, SmallDisk(folder / "disk") as disk:
        proxy.target = free_port()
        listeners = (
            f"listeners=CLIENT://{{host}}:{{port}},CONTROLLER://{{host}}:{{controller_port}},"
            f"PROXIED://{HOST}:{proxy.target}\n"
            f"advertised.listeners=CLIENT://{{host}}:{{port}},PROXIED://{HOST}:{proxy.port}\n"
            "listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT\n"
        )
        with Broker(data=folder / "broker", properties=listeners) as broker:
            yield World(broker, proxy, disk, folder, seed)


def run(
    faults: int,
    seed: int,
    kinds: list[str],
    folder: Path,
    minutes: float = math.inf,
    tell: Callable[[Report], None] = lambda report: None,
    before: Report | None = None,
) -> Report:
    """Run a trial with a broker of its own, or what is left of one after ``before``.

    ``tell`` is called after each fault with what is known so far.
    """
    before = before or Report()
    with standing(folder, seed + before.faults.total()) as world:
        try:
            trial = Trial(world, before, tell)
        except BaseException:
            world.clean_up()
            raise
        try:
            return trial.run(faults, kinds, minutes)
        finally:
            trial.close()


def main() -> int:
    """Run, print, and return the exit code."""
    wanted = parser("tests.faults.run", __doc__)
    wanted.add_argument("--faults", type=count, default=50, help="how many faults (50)")
    wanted.add_argument("--seed", type=count_or_none, default=1, help="decides kinds, pauses and load (1)")
    wanted.add_argument("--kinds", nargs="+", choices=sorted(FAULTS), default=sorted(FAULTS), help="which faults (all)")
    wanted.add_argument("--minutes", type=amount, default=math.inf, help="begin no fault after that time (none)")
    wanted.add_argument("--table", type=Path, help="file that the table is written to, in Markdown")
    wanted.add_argument("--resume", type=Path, help="file that is kept of what was done, and gone on from if it exists")
    options = wanted.parse_args()
    for file in (options.table, options.resume):
        if file is not None:
            require_file(file)
    before = Report.load(options.resume) if options.resume and options.resume.exists() else None

    told = len(before.reasons) if before else 0

    def tell(report: Report) -> None:
        nonlocal told
        print(report.heading(), *report.reasons[told:], *report.total.examples[:1], sep="\n  ", flush=True)
        told = len(report.reasons)
        if options.resume:
            report.save(options.resume)
        if options.table:
            options.table.write_text(report.markdown(options.seed), encoding="utf-8")

    with tempfile.TemporaryDirectory(prefix="tocsin-faults-") as folder:
        report = run(options.faults, options.seed, options.kinds, Path(folder), options.minutes, tell, before)
    report.show()
    return 0 if report.good else 1


if __name__ == "__main__":
    run_command(main, "faults")
