"""Figure 14: Dewey and Interval by the share of trees that match."""

from __future__ import annotations

from benchmarks.papers.exchange import Exchange
from benchmarks.papers.figure import Claim, Figure, Line
from benchmarks.papers.fontoura2010.setting import PAPER, count, evaluation_lines, event_count, own
from benchmarks.papers.phases import Phases, phases


def figure_14() -> Figure:
    """Evaluation by match share: trees that match no event take the place of others."""
    found: dict[tuple[str, float], Phases] = {}
    for never in (0.9, 0.7, 0.5, 0.25, 0.0):
        trees = Exchange(3, never=never)
        subscriptions, events = trees.subscriptions(count()), trees.events(event_count())
        for name in ("dewey", "interval"):
            measured = phases(name, subscriptions, events)
            found[name, round(100 * measured.matches / count(), 2)] = measured
            print(f"  {never:.0%} never match, {name}: {measured}", flush=True)
    lines = evaluation_lines(found)
    slope = [(line.y[-1] - line.y[0]) / (line.x[-1] - line.x[0]) for line in lines]
    halfway = [_halfway(line) for line in lines]
    places = [phases.places for phases in own(found, "interval").values()]
    return Figure(
        PAPER,
        14,
        f"expression evaluation alone, depth 3, {count():,} BEs",
        "match share (%)",
        "evaluation (ms an event)",
        lines,
        [
            Claim(
                "Both scale linearly with the match share, Interval better.",
                f"{slope[0]:.3g} and {slope[1]:.3g} ms a percent; halfway the lines are {halfway[0]:.2f} and "
                f"{halfway[1]:.2f} of the way up.",
                all(0.3 < part < 0.7 for part in halfway) and slope[0] > slope[1],
                f"Places of true conjunctions by match share: {', '.join(f'{n:,.0f}' for n in places)}; trees that "
                "cannot match have some too.",
            )
        ],
        log_y=False,
    )


def _halfway(line: Line) -> float:
    """Return how far up a line is in the middle of its x, by interpolation; 0.5 for a straight one."""
    middle = (line.x[0] + line.x[-1]) / 2
    i = next(i for i in range(1, len(line.x)) if line.x[i] >= middle)
    share = (middle - line.x[i - 1]) / (line.x[i] - line.x[i - 1])
    return (line.y[i - 1] + share * (line.y[i] - line.y[i - 1]) - line.y[0]) / (line.y[-1] - line.y[0])
