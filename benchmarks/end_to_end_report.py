"""The results of `benchmarks.end_to_end`: a file that keeps the rows of other sizes, a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import msgspec
from rich.table import Table

matplotlib.use("Agg")
from matplotlib import pyplot

from benchmarks.kept import read_rows, write_json
from benchmarks.picture import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWN = {"wait": "wait for the index", "spark": "Spark job with decode, match, encode", "commit": "Kafka transaction"}


class Phases(msgspec.Struct):
    """Milliseconds a micro-batch, on average over a measurement.

    Attributes
    ----------
    wait, spark, commit
        One after the other: the wait for the index, Spark's job, the transaction.
    decode, match, encode
        The workers' own times in Spark's job, summed over its tasks.
    trigger
        The whole by Spark's own clock, of one batch a second, since the job tells Spark's progress as often; where few
        batches take long it may be less than its parts, which are of all of them.
    """

    batches: int
    events_a_batch: float
    wait: float
    spark: float
    commit: float
    decode: float
    match: float
    encode: float
    trigger: float | None


class Measurement(msgspec.Struct):
    """One row of the table."""

    subscriptions: int
    load: str
    events_per_second: float
    matches_per_second: float
    p50: float | None
    p99: float | None
    lag: int
    phases: Phases


def store(file: Path, fresh: list[Measurement]) -> list[Measurement]:
    """Put the measurements of one size in the place of the older ones of that size, and return all."""
    sizes = {row.subscriptions for row in fresh}
    rows = [row for row in read_rows(file, Measurement) if row.subscriptions not in sizes] + fresh
    rows.sort(key=lambda row: row.subscriptions)
    write_json(file, rows)
    return rows


def table(rows: list[Measurement]) -> Table:
    """Return the measurements as a table to print."""
    drawn = Table(title="From publish to notification, ms; phases are means of a micro-batch")
    names = ("subscriptions", "load", "events/s", "matches/s", "p50", "p99", "events a batch", "trigger", "Spark job")
    for name in (*names, "decode", "match", "encode", "commit", "wait"):
        drawn.add_column(name, justify="right")
    for row in rows:
        phases = row.phases
        drawn.add_row(
            f"{row.subscriptions:,}",
            row.load,
            f"{row.events_per_second:,.0f}",
            f"{row.matches_per_second:,.0f}",
            *(ms(value) for value in (row.p50, row.p99)),
            f"{phases.events_a_batch:.0f}",
            *(ms(value) for value in (phases.trigger, phases.spark)),
            *(f"{value:.1f}" for value in (phases.decode, phases.match, phases.encode, phases.commit, phases.wait)),
        )
    return drawn


def ms(value: float | None) -> str:
    """Return milliseconds in words; a dash where there are none."""
    return "–" if value is None else f"{value:.0f}"


def draw(rows: list[Measurement], file: Path) -> None:
    """Draw where a micro-batch's time goes, one bar a measurement, with the latencies as marks.

    Backlogs have a panel of their own: their batches are some hundred times as large, and have no latency.
    """
    steady = [row for row in rows if row.p50 is not None]
    drained = [row for row in rows if row.p50 is None]
    shown = [some for some in (steady, drained) if some]
    heights = [len(some) + 1 for some in shown]
    figure, panels = pyplot.subplots(
        len(shown), 1, figsize=(10, 0.5 * sum(heights) + 2), squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for axes, some in zip(panels[:, 0], shown, strict=True):
        _fill(axes, some)
    panels[0, 0].set_title("A micro-batch from trigger to commit, and the latency of its events")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.5 / figure.get_figheight(), 1, 1))
    figure.legend(handles, labels, loc="lower center", ncols=3, fontsize=8)
    save(figure, file)


def _fill(axes: Axes, rows: list[Measurement]) -> None:
    names = [f"{row.subscriptions:,} subscriptions, {row.load}" for row in rows]
    left = [0.0] * len(rows)
    for phase, name in DRAWN.items():
        lengths = [getattr(row.phases, phase) for row in rows]
        axes.barh(names, lengths, left=left, label=name)
        left = [start + length for start, length in zip(left, lengths, strict=True)]
    rest = [max(0.0, (row.phases.trigger or 0.0) - start) for row, start in zip(rows, left, strict=True)]
    axes.barh(names, rest, left=left, label="rest of the trigger: offsets, planning, log commits", color="lightgray")
    marks = {"p50, publish to notification": ("p50", "k|", 16), "p99": ("p99", "rx", 8)}
    for label, (name, style, size) in marks.items():
        if all(getattr(row, name) is not None for row in rows):
            axes.plot(
                [getattr(row, name) for row in rows], names, style, markersize=size, markeredgewidth=2, label=label
            )
    axes.invert_yaxis()
    axes.margins(x=0.03)
    axes.set_xlim(0)
    axes.set_xlabel("milliseconds")
