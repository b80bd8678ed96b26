"""Figures 7 to 14 of Fontoura et al., "Efficiently Evaluating Complex Boolean Expressions", SIGMOD 2010, section 5.

Trees are matched as they are written: the paper's trees have conjunctions side by side below an AND, which the normal
form would join.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.papers.figure import Figure
from benchmarks.papers.fontoura2010 import algorithms, depth, number, selectivity

FIGURES: dict[int, Callable[[], Figure]] = {
    7: algorithms.figure_07,
    8: algorithms.figure_08,
    9: algorithms.figure_09,
    10: depth.figure_10,
    11: depth.figure_11,
    12: number.figure_12,
    13: number.figure_13,
    14: selectivity.figure_14,
}
