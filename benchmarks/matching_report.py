"""The table and the picture of the matching benchmark, from its results."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.lines import Line2D

from benchmarks.block_measure import CHUNK, BlockResult, Cost
from benchmarks.kept import write
from benchmarks.matching_results import Measured
from benchmarks.picture import save
from benchmarks.reach import verdicts
from benchmarks.workloads.registry import workload

COLUMNS = 3
LEGEND = 0.4
"""Inches below the panels."""

ANSWER_BYTES = 4
"""The subscription of one match: what must at least be written when all matches are wanted, scores being in runs."""


def write_table(rows: Sequence[Measured], file: Path) -> None:
    """Write the Markdown page of all measurements."""
    write(file, "\n".join(_page(rows)) + "\n")


def _page(rows: Sequence[Measured]) -> Iterator[str]:
    yield "# Matching: measured\n"
    yield "Written by `python -m benchmarks.matching`; `benchmarks/README.md` tells how to read it. Times are one"
    yield "thread's on the processor, in milliseconds an event.\n"
    yield "## Reach\n"
    yield from _reach(rows)
    yield "\n## Times\n"
    yield from _times(rows)
    yield "\n## By words of a mask, all matches / top 10 / top 100\n"
    yield from _words(rows)
    yield "\n## Where the time goes, all matches\n"
    yield from _phases(rows)
    yield "\n## What all matches touch\n"
    yield from _touched(rows)
    yield "\n## Compared\n"
    yield "Others and the block engine over the same few events, in one run; answers were equal where there is a time."
    yield "In a stream the block engine has more events at once, which is nothing to those that take them one by one.\n"
    yield from _compared(rows)
    yield "\n## Bytes a subscription, by part\n"
    yield from _bytes(rows)


def _reach(rows: Sequence[Measured]) -> Iterator[str]:
    yield from _head("workload", "line", "subscriptions", "reach", "measured", "")
    measured: defaultdict[str, dict[int, BlockResult]] = defaultdict(dict)
    for row in rows:
        measured[row.workload][row.subscriptions] = row.block
    for v in verdicts(measured, {row.workload: workload(row.workload).size for row in rows}):
        yield _row(
            v.workload,
            v.line,
            f"{v.subscriptions:,}",
            f"≤ {v.limit:g} {v.unit}",
            f"{v.value:.3g}",
            v.word,
        )


def _times(rows: Sequence[Measured]) -> Iterator[str]:
    yield from _head(
        *("workload", "subscriptions", "matches/event", "answer, KB/event", "writing it"),
        *("all", "top 10", "top 100", "one event alone"),
        *("all, by the clock", "build, s", "bytes a subscription"),
    )
    for row in rows:
        block = row.block
        wall = next(t.cost.wall for t in block.timings if t.words is None and t.top == 0)
        yield _row(
            row.workload,
            f"{row.subscriptions:,}",
            f"{block.matches:,.0f}",
            f"{block.matches * ANSWER_BYTES / 1024:,.1f}",
            "–" if block.writing is None else f"{block.writing.cpu:.4f}",
            *(f"{block.ms(top):.4f}" for top in (0, 10, 100)),
            *(f"{block.alone.cpu:.3f}", f"{wall:.4f}", f"{block.build:.1f}", f"{block.bytes:.1f}"),
        )


def _words(rows: Sequence[Measured]) -> Iterator[str]:
    widths = sorted({t.words for row in rows for t in row.block.timings if t.words is not None})
    yield from _head("workload", "subscriptions", *(f"W = {words}" for words in widths))
    for row in rows:
        known = {t.words for t in row.block.timings}  # an older row may be without one
        cells = (
            " / ".join(f"{row.block.ms(top, words):.4f}" for top in (0, 10, 100)) if words in known else "–"
            for words in widths
        )
        yield _row(row.workload, f"{row.subscriptions:,}", *cells)


def _phases(rows: Sequence[Measured]) -> Iterator[str]:
    yield "The block's own preparation is shared by all segments that match it; the rest is profiled without it.\n"
    yield from _head("workload", "subscriptions", "whole", "the block's own", "the rest, by file of `index`")
    for row in rows:
        block = row.block
        parts = (f"{name} {ms:.4f}" for name, ms in block.phases.items() if ms >= 0.0005)
        own = max(0.0, block.ms(0) - block.prepared.cpu)
        yield _row(row.workload, f"{row.subscriptions:,}", f"{block.ms(0):.4f}", f"{own:.4f}", ", ".join(parts))


def _touched(rows: Sequence[Measured]) -> Iterator[str]:
    yield f"A block; a record is tested for up to {CHUNK} of its events at once, by the masks of its literals.\n"
    yield from _head(
        *("workload", "subscriptions", "events", "records tested", "bytes, MB", "matches a record"),
        *("walk, ns a record", "read, GB/s", "ordering, ns a match"),
    )
    for row in rows:
        block = row.block
        if block.touched is None or not block.touched.records:
            continue
        records, size = block.touched
        walk, matches = block.phases.get("walk", 0.0) * block.block, block.matches * block.block
        yield _row(
            row.workload,
            f"{row.subscriptions:,}",
            f"{block.block:,}",
            f"{records:,}",
            f"{size / 1e6:,.1f}",
            f"{matches / records:.2f}",
            f"{1e6 * walk / records:.0f}",
            f"{size / walk / 1e6:.2f}",
            f"{1e6 * _ordering(block) * block.block / matches:.0f}" if block.matches >= 1 else "–",
        )


def _ordering(block: BlockResult) -> float:
    """Return the milliseconds an event that matches take to be put in order, by either way."""
    return sum(block.phases.get(name, 0.0) for name in ("dealing", "turning", "ordering", "answers"))


def _compared(rows: Sequence[Measured]) -> Iterator[str]:
    yield from _head(
        *("workload", "subscriptions", "compared", "all", "ours, same events", "×", "ours, in a stream", "×"),
        *("top 10", "build, s", "note"),
    )
    for row in rows:
        for other in row.compared:
            yield _row(
                row.workload,
                f"{row.subscriptions:,}",
                other.name,
                *(_cost(other.all), _cost(other.ours), _times_as_long(other.all, other.ours)),
                *(_cost(other.stream), _times_as_long(other.all, other.stream), _cost(other.top)),
                "–" if other.build is None else f"{other.build:.1f}",
                other.note.replace("|", "/").replace("\n", " ")[:120],
            )


def _times_as_long(cost: Cost | None, ours: Cost | None) -> str:
    return f"{cost.cpu / ours.cpu:.1f}" if cost and ours else "–"


def _bytes(rows: Sequence[Measured]) -> Iterator[str]:
    yield from _head("workload", "subscriptions", "total", "parts of at least 0.1 bytes")
    for row in rows:
        parts = sorted(row.block.parts.items(), key=lambda part: -part[1])
        told = ", ".join(f"{name} {size:.1f}" for name, size in parts if size >= 0.1)
        yield _row(row.workload, f"{row.subscriptions:,}", f"{row.block.bytes:.1f}", told)


def _head(*names: str) -> Iterable[str]:
    return _row(*names), _row(*("---" for _ in names))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _cost(cost: Cost | None) -> str:
    return "–" if cost is None else f"{cost.cpu:.3f}"


def draw(rows: Sequence[Measured], file: Path) -> None:
    """Draw milliseconds an event over the number of subscriptions, one panel a workload, both axes logarithmic."""
    names = sorted({row.workload for row in rows})
    others = sorted({other.name for row in rows for other in row.compared if other.all is not None})
    colours = {label: f"C{i}" for i, label in enumerate(["block, all matches", "block, top 10", *others])}
    height = math.ceil(len(names) / COLUMNS)
    figure, panels = pyplot.subplots(height, COLUMNS, figsize=(5 * COLUMNS, 3.8 * height), squeeze=False)
    for panel in panels.flat[len(names) :]:
        panel.axis("off")
    for name, panel in zip(names, panels.flat, strict=False):
        lines: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for row in (r for r in rows if r.workload == name):
            lines["block, all matches"].append((row.subscriptions, row.block.ms(0)))
            lines["block, top 10"].append((row.subscriptions, row.block.ms(10)))
            for other in row.compared:
                if other.all is not None:
                    lines[other.name].append((row.subscriptions, other.all.cpu))
        for label, points in lines.items():
            panel.plot(*zip(*points, strict=True), label=label, color=colours[label], **_style(label))
        panel.set(title=name, xscale="log", yscale="log", xlabel="subscriptions", ylabel="milliseconds an event")
        panel.grid(visible=True, which="both", alpha=0.2)
    figure.tight_layout(rect=(0, LEGEND / figure.get_figheight(), 1, 1))
    handles = [Line2D([], [], color=colour, label=label, **_style(label)) for label, colour in colours.items()]
    figure.legend(handles=handles, loc="lower center", ncols=len(handles))
    save(figure, file, dpi=100)


def _style(label: str) -> dict[str, Any]:
    """Return how a line looks: ours are thick, the others' dashed."""
    ours = label.startswith("block")
    return {"marker": "o" if ours else "s", "linestyle": "-" if ours else "--", "linewidth": 2.5 if ours else 1.2}
