"""The results of bulk loads: a file that keeps the rows of other runs, a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import msgspec
from rich.table import Table

matplotlib.use("Agg")
from matplotlib import pyplot

from benchmarks.kept import RESULTS, read_rows, write_json
from benchmarks.picture import save

if TYPE_CHECKING:
    from rich.console import Console

HEIGHT = 0.35
"""Of a bar; subscriptions are 1 apart."""

PHASES = ("decode", "columns", "build", "write")


class Phases(msgspec.Struct):
    """Microseconds of one core a subscription, measured on one worker's share."""

    decode: float
    columns: float
    build: float
    write: float


class Memory(msgspec.Struct):
    """The most megabytes at any one time, the index's pages counted once, and those that are not pages of files."""

    all: float
    private: float


class Outcome(msgspec.Struct):
    """One row of the table."""

    size: int
    text: bool
    load_seconds: float
    restart_seconds: float | None
    phases: Phases
    memory: Memory
    restart_memory: Memory | None
    segments: int
    bytes_by_part: dict[str, float]
    """Bytes a subscription: the engine's arrays, ids, bodies and labels."""


def report(outcome: Outcome, console: Console) -> None:
    """Put a row in the place of an earlier one of its kind; print the table and draw the picture."""
    file = RESULTS / "bulk_load.json"
    rows = [row for row in read_rows(file, Outcome) if (row.size, row.text) != (outcome.size, outcome.text)] + [outcome]
    rows.sort(key=lambda row: (row.text, row.size))
    write_json(file, rows)
    console.print(_table(rows))
    _draw(rows, RESULTS / "bulk_load.png")


def _table(rows: list[Outcome]) -> Table:
    table = Table("subscriptions", "form", "first match, s", "restart, s", *(f"{p}, µs" for p in PHASES))
    for name in ("memory, MB", "private, MB", "segments", "engine + ids, B", "bodies, B"):
        table.add_column(name)
    for row in rows:
        parts = row.bytes_by_part
        table.add_row(
            f"{row.size:,}",
            _form(row),
            f"{row.load_seconds:.1f}",
            "" if row.restart_seconds is None else f"{row.restart_seconds:.1f}",
            *(f"{getattr(row.phases, phase):.1f}" for phase in PHASES),
            f"{row.memory.all:,.0f}",
            f"{row.memory.private:,.0f}",
            str(row.segments),
            f"{parts['engine'] + parts['ids']:.0f}",
            f"{parts['bodies']:.0f}",
        )
    return table


def _form(row: Outcome) -> str:
    return "text" if row.text else "tree"


def _draw(rows: list[Outcome], file: Path) -> None:
    """Draw the seconds to the first match, after a load and after a restart."""
    figure, axes = pyplot.subplots(figsize=(9, 0.7 * len(rows) + 1.6))
    kinds: dict[str, list[float | None]] = {
        "load": [row.load_seconds for row in rows],
        "restart over the index": [row.restart_seconds for row in rows],
    }
    for number, (label, seconds) in enumerate(kinds.items()):
        measured = [(place, value) for place, value in enumerate(seconds) if value is not None]
        places, lengths = [place + (number - 0.5) * HEIGHT for place, _ in measured], [value for _, value in measured]
        bars = axes.barh(places, lengths, height=HEIGHT, label=label)
        axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
    axes.set_yticks(range(len(rows)), [f"{row.size:,} ({_form(row)})" for row in rows])
    axes.invert_yaxis()
    axes.margins(x=0.08)
    axes.set_xlabel("seconds from the start of the job to the first match")
    axes.set_ylabel("subscriptions")
    axes.set_title("To the first match; where there is no second bar, no restart was measured")
    axes.legend()
    figure.tight_layout()
    save(figure, file)
