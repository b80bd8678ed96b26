"""Draws figures: ``python -m benchmarks.papers whang2009.14 fontoura2010.7``; without arguments, all of both papers.

The latter ends with the comparison of all engines, `benchmarks.papers.compare`; with FULL=1 it goes on where it ended.
``FULL=1`` runs the papers' own sizes. Question: do the shapes of the published figures hold for these engines? Seed 1.
"""

from __future__ import annotations

import sys
import time

from benchmarks.command import run
from benchmarks.kept import require_folder
from benchmarks.papers import compare, fontoura2010, whang2009
from benchmarks.papers.figure import RESULTS, finish
from benchmarks.papers.report import write_report
from benchmarks.papers.sweep import FULL, sized
from benchmarks.timing import keep_memory

PAPERS = {"whang2009": whang2009.FIGURES, "fontoura2010": fontoura2010.FIGURES}


def main(wanted: list[str]) -> None:
    """Draw the figures, named paper.number."""
    known = {f"{paper}.{number}": make for paper, figures in PAPERS.items() for number, make in figures.items()}
    if {"-h", "--help"} & set(wanted):
        print(__doc__, f"\nFigures: {', '.join(known)}", sep="")
        return
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SystemExit(f"there is no figure {', '.join(unknown)}; there are {', '.join(known)}")
    require_folder(RESULTS)
    keep_memory()
    for name in wanted or known:
        begin = time.perf_counter()
        print(f"\n{name}", flush=True)
        finish(known[name]())
        write_report()
        print(f"  took {time.perf_counter() - begin:.0f} s", flush=True)
    if not wanted:
        compare.main(["--size", str(sized(10_000, 1_000_000)), *(["--resume"] if FULL else [])])


if __name__ == "__main__":
    run(lambda: main(sys.argv[1:]))
