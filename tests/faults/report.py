"""What happened in a run of faults: counts for each kind of fault, as a table for people and as Markdown."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from schemas.errors import TocsinError
from tests.faults.history import Verdict

COLUMNS = ("fault", "times", "right", "lost", "doubled", "wrong", "stuck", "ended, started again", "seconds each")


@dataclass
class Report:
    """Counts of a run.

    Attributes
    ----------
    faults, stuck, ended
        By kind of fault: how many; after how many the job did not go on, or ended without a sentence; after how many
        it ended by itself with one and was started again.
    verdicts
        The verdict over the events that were published during each kind of fault.
    skipped
        Kinds that could not be done here, and why.
    events, changes, aborted
        Events published, subscriptions changed, transactions of the writer that it aborted.
    seconds, spent
        In all, and milliseconds by kind of fault.
    runs
        In how many runs, each after the first of which went on where the one before was cut off.
    """

    faults: Counter[str] = field(default_factory=Counter)
    stuck: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, str] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    events: int = 0
    changes: int = 0
    aborted: int = 0
    seconds: float = 0.0
    spent: Counter[str] = field(default_factory=Counter)
    runs: int = 1

    def save(self, file: Path) -> None:
        """Write everything to a file that `load` reads."""
        written = file.with_name(f"{file.name}.new")
        verdicts = {kind: vars(verdict) for kind, verdict in self.verdicts.items()}
        written.write_text(json.dumps(vars(self) | {"verdicts": verdicts}), encoding="utf-8")
        written.rename(file)

    @classmethod
    def load(cls, file: Path) -> Report:
        """Return the report of a run that was cut off.

        Raises
        ------
        TocsinError
            The file holds something else.
        """
        try:
            saved = json.loads(file.read_text(encoding="utf-8"))
            for name in ("faults", "stuck", "ended", "spent"):
                saved[name] = Counter(saved[name])
            saved["runs"] += 1
            saved["verdicts"] = {kind: Verdict(**verdict) for kind, verdict in saved["verdicts"].items()}
            return cls(**saved)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise TocsinError(
                f"{file} is no file of a run to go on from ({type(error).__name__}: {error}); name one, or remove it "
                "to begin anew"
            ) from error

    @contextlib.contextmanager
    def timed(self, kind: str) -> Iterator[None]:
        """Count a fault, and the time until everything that was published during it is committed."""
        began = time.monotonic()
        yield
        self.faults[kind] += 1
        self.spent[kind] += round(1000 * (time.monotonic() - began))

    def note_ended(self, kind: str, sentence: str) -> None:
        self.ended[kind] += 1
        self.reasons.append(f"{kind}, the job ended: {sentence}")

    def note_stuck(self, kind: str, what: str) -> None:
        self.stuck[kind] += 1
        self.reasons.append(f"{kind}, stuck: {what}")

    @property
    def total(self) -> Verdict:
        total = Verdict()
        for verdict in self.verdicts.values():
            total.add(verdict)
        return total

    @property
    def good(self) -> bool:
        """Whether nothing was lost, doubled, wrong or stuck."""
        return self.total.good and not self.stuck.total()

    def rows(self) -> list[list[str]]:
        """Return the table's rows, in `COLUMNS`."""
        rows = [
            self._row(kind or "nobody published it", verdict, self.faults[kind], self.stuck[kind], self.ended[kind])
            for kind, verdict in sorted(self.verdicts.items())
            if self.faults[kind] or not verdict.good
        ]
        sums = (self.faults.total(), self.stuck.total(), self.ended.total())
        return [*rows, self._row("all", self.total, *sums)]

    def _row(self, name: str, verdict: Verdict, times: int, stuck: int, ended: int) -> list[str]:
        counts = (times, verdict.right, verdict.lost, verdict.doubled, verdict.wrong, stuck, ended)
        seconds = self.spent.total() if name == "all" else self.spent[name]
        return [name, *(f"{count:,}" for count in counts), f"{seconds / 1000 / max(1, times):.1f}"]

    def heading(self) -> str:
        return (
            f"{self.faults.total()} faults in {self.seconds:,.0f} s, {self.events:,} events, {self.changes:,} changes "
            f"of subscriptions, {self.aborted:,} aborted transactions on the input topics"
        )

    def show(self) -> None:
        """Print the table, the first mistakes, and why the job ended where it did."""
        console = Console(width=140)
        table = Table(*COLUMNS, title=self.heading())
        for row in self.rows():
            table.add_row(*row)
        console.print(table)
        skipped = [f"not done: {kind}, {reason}" for kind, reason in self.skipped.items()]
        for line in [*skipped, *self.total.examples, *self.reasons]:
            console.print(line, markup=False)

    def markdown(self, seed: int) -> str:
        """Return the table for a file, with the command that makes it."""
        parts = "" if self.runs == 1 else f", in {self.runs} runs with `--resume`"
        lines = [
            "# Faults under load",
            "",
            "Broker, job and generator on one machine; how it is done stands at the top of `tests/faults/run.py`.",
            "",
            f'`make faults N={self.faults.total()} ARGS="--seed {seed}"`{parts}: {self.heading()}.',
            "",
            "| " + " | ".join(COLUMNS) + " |",
            "|---|" + "---:|" * (len(COLUMNS) - 1),
            *("| " + " | ".join(row) + " |" for row in self.rows()),
        ]
        return "\n".join(lines) + "\n"
