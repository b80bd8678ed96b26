"""The results of bulk loads: a file that keeps the rows of other runs, a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import msgspec
from rich.table import Table

matplotlib.use("Agg")
from matplotlib import pyplot

if TYPE_CHECKING:
    from rich.console import Console

    from benchmarks.bulk_load import Outcome

RESULTS = Path(__file__).parent / "results"
PHASES = ("decode", "columns", "build", "write")


def report(outcome: Outcome, console: Console) -> None:
    """Put a row in the place of an earlier one of its kind; print the table and draw the picture."""
    from benchmarks.bulk_load import Outcome

    file = RESULTS / "bulk_load.json"
    known = msgspec.json.decode(file.read_bytes(), type=list[Outcome]) if file.exists() else []
    rows = [row for row in known if (row.size, row.text) != (outcome.size, outcome.text)] + [outcome]
    rows.sort(key=lambda row: (row.text, row.size))
    RESULTS.mkdir(exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
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
    names = [f"{row.size:,} ({_form(row)})" for row in rows]
    axes.barh(names, [row.load_seconds for row in rows], height=0.4, align="edge", label="load")
    restarts = [row.restart_seconds or 0.0 for row in rows]
    axes.barh(names, restarts, height=-0.3, align="edge", label="restart over the index")
    axes.invert_yaxis()
    axes.set_xlabel("seconds from the start of the job to the first match")
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    pyplot.close(figure)
