"""The pictures of the benchmarks: plain files, drawn by matplotlib without a display."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from benchmarks.kept import write
from benchmarks.time_line import PHASES as PHASE_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from benchmarks.end_to_end import Measurement
    from benchmarks.time_line import Batch

PHASES = {"wait": "wait for the index", "spark": "Spark job with decode, match, encode", "commit": "Kafka transaction"}

AFTER_COMMIT = ("delivery", "end")
"""Phases that begin together, at the commit."""


def save(figure: Figure, file: Path, dpi: int = 110) -> None:
    """Write a picture, with all that stands beside its axes, in the place of the older one."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=dpi, format="png", bbox_inches="tight")
    pyplot.close(figure)
    write(file, drawn.getvalue())


def draw_end_to_end(rows: list[Measurement], file: Path) -> None:
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
        _fill_end_to_end(axes, some)
    panels[0, 0].set_title("A micro-batch from trigger to commit, and the latency of its events")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.5 / figure.get_figheight(), 1, 1))
    figure.legend(handles, labels, loc="lower center", ncols=3, fontsize=8)
    save(figure, file)


def _fill_end_to_end(axes: Axes, rows: list[Measurement]) -> None:
    names = [f"{row.subscriptions:,} subscriptions, {row.load}" for row in rows]
    left = [0.0] * len(rows)
    for phase, name in PHASES.items():
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


def draw_time_lines(batches: dict[str, Batch], file: Path) -> None:
    """Draw the phases of some batches one under the other, each from its beginning to its end."""
    figure, panels = pyplot.subplots(len(batches), 1, figsize=(11, 4.6 * len(batches)), squeeze=False)
    for axes, (name, batch) in zip(panels[:, 0], batches.items(), strict=True):
        at, committed = 0.0, sum(length for phase, length in batch.phases.items() if phase not in AFTER_COMMIT)
        for phase, length in batch.phases.items():
            start = committed if phase in AFTER_COMMIT else at
            axes.barh(PHASE_NAMES[phase], length, left=start, color="tab:gray" if phase == "end" else "tab:blue")
            axes.text(start + length, PHASE_NAMES[phase], f" {length:.1f}", va="center", fontsize=7)
            at += length
        axes.invert_yaxis()
        axes.tick_params(axis="y", labelsize=8)
        axes.set_xlabel("milliseconds since the oldest event of the batch was published")
        axes.set_title(f"{name}: {batch.events} events, {batch.total:.0f} ms to the arrival of the median one")
        axes.margins(x=0.08)
    figure.tight_layout()
    save(figure, file)
