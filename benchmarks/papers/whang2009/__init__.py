"""Figures 14 to 19 of Whang et al., "Indexing Boolean Expressions", PVLDB 2(1), 2009, section 7."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.papers.figure import Figure
from benchmarks.papers.whang2009 import cnf, dnf, ranking

FIGURES: dict[int, Callable[[], Figure]] = {
    14: dnf.figure_14,
    15: dnf.figure_15,
    16: dnf.figure_16,
    17: dnf.figure_17,
    18: cnf.figure_18,
    19: ranking.figure_19,
}
