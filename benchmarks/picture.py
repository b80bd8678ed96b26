"""The pictures of the benchmarks: plain files, drawn by matplotlib without a display."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

if TYPE_CHECKING:
    from benchmarks.end_to_end import Measurement

PHASES = {"wait": "wait for the index", "spark": "Spark job with decode, match, encode", "commit": "Kafka transaction"}


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
