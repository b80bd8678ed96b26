"""The results of a living index: what was measured, a table, and two pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import msgspec
import numpy as np
from rich.table import Table

matplotlib.use("Agg")
from matplotlib import pyplot

from benchmarks.kept import RESULTS, write
from benchmarks.picture import save

if TYPE_CHECKING:
    from rich.console import Console

WHITE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
"""What stands behind a figure among the dots."""


class Batch(msgspec.Struct):
    """A micro-batch of events: when it ended, how many milliseconds it took, and how many events it had."""

    ended: float
    milliseconds: float
    events: int


class Change(msgspec.Struct):
    """Milliseconds from a change's acknowledgement to the version that holds it, and to its first notification."""

    visible: float
    answered: float


class Living(msgspec.Struct):
    """Everything that was measured; moments are seconds of the wall clock."""

    size: int
    rate: float
    segments: int
    began: float
    resumed: float
    merged: float
    ended: float
    batches: list[Batch]
    changes: list[Change]

    def stretches(self) -> dict[str, list[Batch]]:
        """Return the batches before, during and after the merges."""
        bounds = {
            "before": (self.began, self.resumed),
            "during": (self.resumed, self.merged),
            "after": (self.merged, self.ended),
        }
        return {
            name: [batch for batch in self.batches if start <= batch.ended < stop]
            for name, (start, stop) in bounds.items()
        }


def report(living: Living, console: Console) -> None:
    """Print the tables, and write the figures and pictures."""
    write(RESULTS / "living.json", msgspec.json.encode(living) + b"\n")
    console.print(_batches(living))
    console.print(_changes(living))
    _draw_merge(living, RESULTS / "living_merge.png")
    _draw_changes(living, RESULTS / "living_changes.png")


def _batches(living: Living) -> Table:
    table = Table(title=f"Batches of events around merges of {living.segments} segments, {living.size:,} subscriptions")
    for name in ("merges", "seconds", "batches", "events/s", "median, ms", "p99, ms", "median against before"):
        table.add_column(name, justify="right")
    usual = float("nan")
    seconds = {
        "before": living.resumed - living.began,
        "during": living.merged - living.resumed,
        "after": living.ended - living.merged,
    }
    for name, batches in living.stretches().items():
        if not batches:
            continue
        times = [batch.milliseconds for batch in batches]
        median, p99 = np.percentile(times, (50, 99))
        usual = median if name == "before" else usual
        events = sum(batch.events for batch in batches) / seconds[name]
        row = (f"{seconds[name]:.1f}", str(len(batches)), f"{events:,.0f}", f"{median:.0f}", f"{p99:.0f}")
        table.add_row(name, *row, f"{100 * (median / usual - 1):+.0f} %")
    return table


def _changes(living: Living) -> Table:
    table = Table(title=f"From the acknowledgement of a change, {len(living.changes)} changes, ms")
    for name in ("until", "median", "p90", "p99", "most"):
        table.add_column(name, justify="right")
    for name, times in _ways(living).items():
        table.add_row(name, *(f"{value:.0f}" for value in (*np.percentile(times, (50, 90, 99)), max(times))))
    return table


def _ways(living: Living) -> dict[str, list[float]]:
    return {
        "a version holds it": [change.visible for change in living.changes],
        "an event's notification arrives": [change.answered for change in living.changes],
    }


def _draw_merge(living: Living, file: Path) -> None:
    """Draw every batch by the time it took, with the merges shaded and the medians as lines."""
    figure, axes = pyplot.subplots(figsize=(10, 4))
    axes.axvspan(0, living.merged - living.resumed, color="orange", alpha=0.2, label="merges")
    at = [batch.ended - living.resumed for batch in living.batches]
    axes.plot(at, [batch.milliseconds for batch in living.batches], ".", markersize=3, label="a batch")
    for batches in living.stretches().values():
        if batches:
            median = float(np.median([batch.milliseconds for batch in batches]))
            ends = [batches[0].ended - living.resumed, batches[-1].ended - living.resumed]
            axes.plot(ends, [median, median], "k-", linewidth=2)
            axes.annotate(f"{median:.0f} ms", (ends[0], median), textcoords="offset points", xytext=(2, 4), bbox=WHITE)
    axes.set_ylim(0)
    axes.set_xlabel("seconds since the merges began")
    axes.set_ylabel("milliseconds a batch of events")
    axes.set_title(f"{living.rate:,.0f} events/s, {living.size:,} subscriptions merged from {living.segments} segments")
    axes.legend(loc="upper right")
    figure.tight_layout()
    save(figure, file)


def _draw_changes(living: Living, file: Path) -> None:
    """Draw how many of the changes were visible, and answered, after so many milliseconds."""
    figure, axes = pyplot.subplots(figsize=(8, 4))
    for name, times in _ways(living).items():
        ordered = np.sort(times)
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        axes.step(ordered, 100 * share, where="post", label=f"{name}, median {np.median(ordered):.0f} ms")
    axes.axvline(200, color="gray", linestyle=":", label="200 ms")
    axes.set_xlim(0)
    axes.set_ylim(0, 100)
    axes.set_xlabel("milliseconds since the broker acknowledged the change")
    axes.set_ylabel("% of the changes")
    axes.set_title(f"A change comes into force, {living.rate:,.0f} events/s, {living.size:,} subscriptions")
    axes.legend(loc="lower right")
    figure.tight_layout()
    save(figure, file)
