"""Writing a picture: a plain file, drawn by matplotlib without a display, whole or not at all."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from benchmarks.kept import write

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save(figure: Figure, file: Path, dpi: int = 110) -> None:
    """Write a picture, with all that stands beside its axes, in the place of the older one."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=dpi, format="png", bbox_inches="tight")
    pyplot.close(figure)
    write(file, drawn.getvalue())
