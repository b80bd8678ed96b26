"""A figure: our lines, the published values as marks, and what of the published shape holds; drawn, printed, stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import NullLocator

from benchmarks.kept import results_folder, write
from benchmarks.picture import save

MARKS = "_x+1"
"""Shapes of published values, which differ by name."""

RESULTS = results_folder(Path(__file__).parent / "results")


@dataclass(frozen=True)
class Line:
    """One engine over the sweep."""

    name: str
    x: list[float]
    y: list[float]


@dataclass(frozen=True)
class Published:
    """A published range at one point of the sweep, in the figure's unit; ``source`` says where it is printed."""

    name: str
    x: float
    low: float
    high: float
    source: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper about the shape, what we found, and why it differs where it does."""

    published: str
    found: str
    holds: bool
    why_not: str = ""

    def sentence(self) -> str:
        """Return the claim in one line."""
        if self.holds:
            return f"Holds: {self.published} Found: {self.found}"
        return f"Does not hold: {self.published} Found: {self.found} {self.why_not}".rstrip()


@dataclass(frozen=True)
class Panel:
    """A second picture beside a figure's own, over the same x."""

    y_label: str
    lines: list[Line]
    published: list[Published]


@dataclass(frozen=True)
class Figure:
    """A figure, ready to be drawn.

    Attributes
    ----------
    paper, number
        Module that makes it, and its number in the paper.
    title, x_label, y_label
        As in the paper.
    lines, published, claims
        See their types.
    log_x, log_y
        Whether an axis is logarithmic.
    setting
        Sizes, events and workload statistics of this run, for the record.
    panel
        What is drawn beside it.
    """

    paper: str
    number: int
    title: str
    x_label: str
    y_label: str
    lines: list[Line]
    claims: list[Claim]
    published: list[Published] = field(default_factory=list)
    log_x: bool = False
    log_y: bool = True
    setting: dict[str, Any] = field(default_factory=dict)
    panel: Panel | None = None

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.paper}_figure_{self.number:02d}"


def finish(figure: Figure) -> None:
    """Print the figure's table and claims, and write its picture and numbers to `RESULTS`."""
    print(f"\n{figure.paper}, figure {figure.number}: {figure.title}")
    for key, value in figure.setting.items():
        print(f"  {key}: {value}")
    for line in figure.lines:
        points = "  ".join(f"{x:g}: {y:.4g}" for x, y in zip(line.x, line.y, strict=True))
        print(f"  {line.name:<20} {points}   ({figure.y_label})")
    for claim in figure.claims:
        print(f"  {claim.sentence()}")
    write(RESULTS / f"{figure.name}.json", json.dumps(asdict(figure), indent=1) + "\n")
    _draw(figure, RESULTS / f"{figure.name}.png")


def _draw(figure: Figure, file: Path) -> None:
    """Draw the figure, and its panel to the right."""
    panel = figure.panel
    canvas, all_axes = pyplot.subplots(1, 2 if panel else 1, figsize=(12 if panel else 7.5, 5), squeeze=False)
    _fill(all_axes[0, 0], figure, figure.y_label, figure.lines, figure.published)
    if panel:
        _fill(all_axes[0, 1], figure, panel.y_label, panel.lines, panel.published)
    canvas.suptitle(f"{figure.paper}, figure {figure.number}: {figure.title}", fontsize=10)
    canvas.tight_layout()
    save(canvas, file)


def _fill(axes: Any, figure: Figure, y_label: str, lines: Sequence[Line], published: Sequence[Published]) -> None:
    """Draw lines and marks; marks of one name are one entry of the legend."""
    for line, shape in zip(lines, "osD^v<>pPX*h" * 3, strict=False):
        axes.plot(line.x, line.y, marker=shape, label=line.name)
    shapes = dict(zip(dict.fromkeys(mark.name for mark in published), MARKS * len(published), strict=False))
    named: set[str] = set()
    for mark in published:
        middle = (mark.low + mark.high) / 2
        reach = [[middle - mark.low], [mark.high - middle]]
        label = None if mark.name in named else f"published: {mark.name}"
        axes.errorbar([mark.x], [middle], yerr=reach, fmt=f"k{shapes[mark.name]}", capsize=5, alpha=0.7, label=label)
        named.add(mark.name)
    if figure.log_y:
        axes.set_yscale("log")
    if figure.log_x:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        places = sorted(_places(lines))
        axes.set_xticks(places, [f"{x:,g}" for x in places], fontsize=8)
    elif set(axes.get_xticks()) - set(map(round, axes.get_xticks())) and all(
        float(x).is_integer() for x in _places(lines)
    ):
        axes.set_xticks(sorted(_places(lines)))
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(y_label)
    axes.grid(True, which="both", alpha=0.25)
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)


def _places(lines: Sequence[Line]) -> set[float]:
    """Return where lines have a point."""
    return {x for line in lines for x in line.x}
