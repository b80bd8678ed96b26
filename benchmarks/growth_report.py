"""The results of a growing index: a row a size, a table, and a picture."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import msgspec
from rich.table import Table

matplotlib.use("Agg")
from matplotlib import pyplot

from benchmarks.kept import RESULTS
from benchmarks.picture import save

FILE = RESULTS / "growth.json"
PICTURE = RESULTS / "growth.png"


class Row(msgspec.Struct):
    """What an index of one size takes; times are milliseconds of one thread an event, unless said."""

    size: int
    segments: int
    bytes: float
    """On disk, a subscription."""
    open_seconds: float
    """By the clock."""
    best_10: float
    best_100: float
    alone: float
    """The best ten of an event in a block of its own."""
    apart_10: float
    """Each segment matched as if it were the only one."""
    apart_100: float
    memory: float
    """Gigabytes of the process when all has been matched, with the pages of the index that it has touched."""


LINES = (
    ("segments", "{0.segments}"),
    ("bytes on disk, each", "{0.bytes:.0f}"),
    ("opened in, s", "{0.open_seconds:.2f}"),
    ("best 10", "{0.best_10:.3f}"),
    ("... each segment by itself", "{0.apart_10:.3f}"),
    ("best 100", "{0.best_100:.3f}"),
    ("... each segment by itself", "{0.apart_100:.3f}"),
    ("best 10, one event alone", "{0.alone:.2f}"),
    ("memory, GB", "{0.memory:.1f}"),
)


def table(rows: Sequence[Row]) -> Table:
    """Return the table, a column a size; times are milliseconds an event."""
    found = Table("subscriptions", *(f"{row.size:,}" for row in rows))
    for name, form in LINES:
        found.add_row(name, *(form.format(row) for row in rows))
    return found


def drawn(rows: Sequence[Row]) -> None:
    """Draw milliseconds an event over subscriptions, both by powers of ten."""
    figure, axes = pyplot.subplots(figsize=(6.5, 4.5))
    sizes = [row.size for row in rows]
    for field, label, colour, style in (
        ("alone", "best 10, one event alone", "tab:green", "-"),
        ("apart_100", "best 100, each segment by itself", "tab:orange", ":"),
        ("best_100", "best 100", "tab:orange", "-"),
        ("apart_10", "best 10, each segment by itself", "tab:blue", ":"),
        ("best_10", "best 10", "tab:blue", "-"),
    ):
        axes.plot(sizes, [getattr(row, field) for row in rows], style, marker="o", color=colour, label=label)
    axes.set(xscale="log", yscale="log", xlabel="subscriptions", ylabel="ms an event, one thread")
    axes.set_xticks(sizes, [f"{size / 1e6:g} M" for size in sizes])
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))
    figure.suptitle("Advertising contracts with bids, in segments of 2.5 million")
    save(figure, PICTURE)
