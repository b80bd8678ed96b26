"""The pictures of the benchmarks: plain files, drawn by matplotlib without a display."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from benchmarks.time_line import PHASES as PHASE_NAMES

if TYPE_CHECKING:
    from benchmarks.end_to_end import Measurement
    from benchmarks.time_line import Batch

PHASES = {"wait": "wait for the index", "spark": "Spark job with decode, match, encode", "commit": "Kafka transaction"}

AFTER_COMMIT = ("delivery", "end")
"""Phases that begin together, at the commit."""


def draw_end_to_end(rows: list[Measurement], file: Path) -> None:
    """Draw where a micro-batch's time goes, one bar a measurement, with the latencies as marks."""
    figure, axes = pyplot.subplots(figsize=(10, 0.8 * len(rows) + 1.8))
    names = [f"{row.subscriptions:,} subscriptions, {row.load}" for row in rows]
    left = [0.0] * len(rows)
    for phase, name in PHASES.items():
        lengths = [getattr(row.phases, phase) for row in rows]
        axes.barh(names, lengths, left=left, label=name)
        left = [start + length for start, length in zip(left, lengths, strict=True)]
    rest = [max(0.0, row.phases.trigger - start) for row, start in zip(rows, left, strict=True)]
    axes.barh(names, rest, left=left, label="rest of the trigger: offsets, planning, log commits", color="lightgray")
    axes.plot(
        [row.p50 for row in rows], names, "k|", markersize=22, markeredgewidth=2, label="p50 publish to notification"
    )
    axes.plot([row.p99 for row in rows], names, "rx", markersize=9, label="p99")
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds")
    axes.set_title("A micro-batch from trigger to commit, and the latency of its events")
    axes.legend(loc="upper right", fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


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
    figure.savefig(file, dpi=110)
    pyplot.close(figure)
