"""Writes ``results/README.md`` from the figures drawn: what was published, what was found, whether it holds."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.kept import write
from benchmarks.papers.figure import RESULTS, Claim

PAPERS = {
    "whang2009": 'Whang et al., "Indexing Boolean Expressions", PVLDB 2(1), 2009, section 7',
    "fontoura2010": 'Fontoura et al., "Efficiently Evaluating Complex Boolean Expressions", SIGMOD 2010, section 5',
}

HEAD = """# The papers' figures, drawn anew

Written by `make papers` (`FULL=1` for the papers' own sizes; `python -m benchmarks.papers whang2009.14` for one
figure); the comparison of all engines is `python -m benchmarks.papers.compare`, its table [compare.md](compare.md).

Times are of one core's CPU. Every engine of a figure must find the same number of matches, or there is no figure. The
papers print few numbers beside their pictures; those they print are the marks, as ratios to our line of the engine that
they are ratios to. Engines are called as in `job.engine`: `kindex-dnf` is the DNF algorithm and `kindex-cnf` the CNF
algorithm of the first paper, `propagation` Le Subscribe's, `counting` SIFT's.
"""


def write_report() -> None:
    """Write the page anew."""
    lines = [HEAD]
    for paper, title in PAPERS.items():
        figures = [json.loads(file.read_text()) for file in sorted(RESULTS.glob(f"{paper}_figure_*.json"))]
        lines += [f"## {title}", ""]
        for figure in figures:
            lines += _figure(figure)
    write(RESULTS / "README.md", "\n".join(lines))


def _figure(figure: dict[str, Any]) -> list[str]:
    name = f"{figure['paper']}_figure_{figure['number']:02d}"
    claims = [f"* {Claim(**claim).sentence()}" for claim in figure["claims"]]
    setting = [f"* {key}: {_spelled(value)}" for key, value in figure["setting"].items() if value]
    title = f"### Figure {figure['number']}: {figure['title']}"
    return [title, "", f"![{figure['title']}]({name}.png)", "", *claims, *setting, ""]


def _spelled(value: Any) -> str:
    """Return a value of the setting in words."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_spelled(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
