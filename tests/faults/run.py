"""Runs faults against a real job under load and counts what was lost, doubled, wrong or stuck; all must be 0.

Command: ``python -m tests.faults.run --faults 200 [--seed 1]``, or ``make faults N=200``. One broker, one job with two
partitions on local[2], one writer that changes a few dozen subscriptions and publishes events all the time. Between two
faults pass some random tenths of a second; after each everything that was published must be committed soon
(`tests.e2e.harness.PATIENCE`), else the job counts as stuck. At the end every event is compared with the oracle.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from schemas.errors import TocsinError
from stream.broker import Broker
from tests.e2e.harness import Client, JobUnderTest, Topics
from tests.faults.faults import FAULTS
from tests.faults.history import History, Verdict

ATTEMPTS = 3
"""How often a job that ended or stood still is started again after one fault; what is missing then is lost."""

IDS = 30
EVENTS_AT_ONCE = 5


@dataclass
class Report:
    """What happened."""

    faults: Counter[str] = field(default_factory=Counter)
    ended: list[str] = field(default_factory=list)
    stuck: int = 0
    events: int = 0
    changes: int = 0
    seconds: float = 0.0
    verdict: Verdict = field(default_factory=Verdict)

    @property
    def good(self) -> bool:
        return self.verdict.good and not self.stuck


class Trial:
    """One job under load and faults."""

    def __init__(self, broker: Broker, folder: Path, seed: int) -> None:
        self._broker = broker
        self._random = random.Random(seed)
        self._history = History()
        self._report = Report()
        self._job = JobUnderTest(broker.bootstrap_servers, Topics(), folder, max_events_per_batch=200)
        self._job.start()
        self._client = Client(broker.bootstrap_servers, self._job)

    def run(self, faults: int, kinds: list[str]) -> Report:
        """Inject that many faults, the kinds in turn and shuffled, and judge."""
        began = time.monotonic()
        for number in range(faults):
            if number % len(kinds) == 0:
                self._random.shuffle(kinds)
            self._load(self._random.uniform(0.1, 1.5))
            self._inject(kinds[number % len(kinds)])
            self._settle()
        report = self._report
        report.verdict = self._history.judge(self._client.matches_by_event())
        report.events, report.changes = self._history.events, self._history.now
        report.seconds = time.monotonic() - began
        return report

    def close(self) -> None:
        self._client.close()
        self._job.clean_up()

    def _inject(self, kind: str) -> None:
        self._report.faults[kind] += 1
        pending = self._produce()  # under way when it happens
        try:
            FAULTS[kind](self._job, self._broker, lambda: self._load(0.1))
        except TocsinError as error:
            self._revive(error)
        self._acknowledge(pending)

    def _settle(self) -> None:
        """Wait until everything is committed; a job that ended is started again, and so is one that stands still."""
        for _ in range(ATTEMPTS):
            try:
                self._client.await_committed(self._job.events_group, self._job.topics.events)
                return
            except TocsinError as error:
                self._revive(error)
            except AssertionError as error:
                self._report.stuck += 1
                self._job.kill()
                self._revive(error)

    def _revive(self, error: Exception) -> None:
        """Start the job again after it has ended by itself."""
        self._report.ended.append(str(error).splitlines()[-1])
        self._job.await_gone()
        self._job.start()

    def _load(self, seconds: float) -> None:
        """Publish and change for that long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self._random.random() < 0.3:
                self._change()
            self._acknowledge(self._produce())
            self._client.poll(0.02)

    def _change(self) -> None:
        id_ = f"s{self._random.randrange(IDS)}"
        a, b, weight = self._random.randrange(8), self._random.randrange(10), self._random.randrange(1, 9)
        text = None if self._random.random() < 0.2 else f"a in ({a}^0.{weight}, {(a + 1) % 8}) and not b = {b}"
        if text is None:
            self._client.unsubscribe([id_])
        else:
            self._client.subscribe({id_: {"filter": text}})
        self._history.changed(id_, text)

    def _produce(self) -> list[Pending]:
        events = [{"a": self._random.randrange(8), "b": self._random.randrange(10)} for _ in range(EVENTS_AT_ONCE)]
        return [Pending(self._client, self._job.topics.events, event, self._history.now) for event in events]

    def _acknowledge(self, pending: list[Pending]) -> None:
        assert self._client.producer.flush(120) == 0, "the broker takes no events"
        for one in pending:
            assert one.place is not None
            self._history.published(one.place, one.event, one.produced_at)


class Pending:
    """An event on its way to the broker."""

    def __init__(self, client: Client, topic: str, event: dict[str, Any], now: int) -> None:
        self.event = event
        self.produced_at = now
        self.place: tuple[int, int] | None = None
        client.producer.produce(topic, msgspec.json.encode(event), on_delivery=self._delivered)

    def _delivered(self, error: Any, message: Any) -> None:
        assert error is None, error
        self.place = (message.partition(), message.offset())


def run(faults: int, seed: int, kinds: list[str], folder: Path) -> Report:
    """Run a trial with a broker of its own."""
    with Broker(data=folder / "broker") as broker:
        trial = Trial(broker, folder, seed)
        try:
            return trial.run(faults, kinds)
        finally:
            trial.close()


def table(report: Report) -> Table:
    """Return the report for people."""
    drawn = Table(title=f"{report.faults.total()} faults in {report.seconds:,.0f} s", show_header=False)
    rows: dict[str, object] = {f"{kind} killed": count for kind, count in sorted(report.faults.items())}
    rows |= {"events": report.events, "subscription changes": report.changes, "right": report.verdict.right}
    rows |= {kind: getattr(report.verdict, kind) for kind in ("lost", "doubled", "wrong")}
    rows |= {"stuck": report.stuck, "ended by itself, started again": len(report.ended)}
    for name, value in rows.items():
        drawn.add_row(name, f"{value:,}")
    return drawn


def main() -> int:
    """Run, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.run", description="Kill parts of a job under load.")
    parser.add_argument("--faults", type=int, default=50, help="how many faults (50)")
    parser.add_argument("--seed", type=int, default=1, help="decides kinds, pauses and load (1)")
    parser.add_argument("--kinds", nargs="+", choices=sorted(FAULTS), default=sorted(FAULTS), help="which faults (all)")
    options = parser.parse_args()
    console = Console(width=120)
    with tempfile.TemporaryDirectory(prefix="tocsin-faults-") as folder:
        report = run(options.faults, options.seed, list(options.kinds), Path(folder))
    console.print(table(report))
    for line in [*report.verdict.examples, *(f"ended: {reason}" for reason in report.ended)]:
        console.print(line, markup=False)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
