"""Why engines take as long as they do, in sentences made of their counters and times at one point of a sweep."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.papers.sweep import Measured, Swept


def read_share(measured: Measured) -> float:
    """Return the share of the entries of an event's lists that were read."""
    return measured.work["read"] / max(measured.work["entries"], 1.0)


def each(measured: Measured, counter: str) -> float:
    """Return nanoseconds for each of what a counter counts."""
    return 1e6 * measured.ms / max(measured.work[counter], 1.0)


def reading(swept: Swept, name: str, x: float, top: int = 0) -> str:
    """Return how much an engine reads of an event's lists, and in what time."""
    found = swept.at(name, x, top)
    return (
        f"`{name}` reads {found.work['read']:,.0f} of {found.work['entries']:,.0f} entries of an event's lists "
        f"({100 * read_share(found):.0f} %), {each(found, 'read'):.0f} ns each"
    )


def verifying(swept: Swept, name: str, x: float, what: str, of: float) -> str:
    """Return how much an engine verifies for an event, and in what time."""
    found = swept.at(name, x)
    verified = found.work["candidates"]
    return (
        f"`{name}` verifies {verified:,.0f} of {of:,.0f} {what} ({100 * verified / max(of, 1.0):.1f} %), "
        f"{each(found, 'candidates'):.0f} ns each"
    )


def against_counting(swept: Swept, x: float, times: float) -> str:
    """Return why the DNF algorithm is not so many times as fast as counting."""
    kindex, counting = swept.at("kindex-dnf", x), swept.at("counting", x)
    affordable = 1e6 * counting.ms / times / each(kindex, "read")
    return (
        f"{reading(swept, 'kindex-dnf', x)} for search and sorting; {reading(swept, 'counting', x)}. At its price the "
        f"DNF algorithm could read {affordable:,.0f} entries to be {times:g} times as fast, "
        f"{100 * affordable / max(kindex.work['entries'], 1.0):.1f} % of them: a step moves the lists before the K-th, "
        "which is the first few of the dozens that an event's keys have for a size, so it passes over little. Both "
        "index identical conjunctions once; the paper's SIFT and Le Subscribe ran on all of them."
    )


def against_propagation(swept: Swept, x: float) -> str:
    """Return why the DNF algorithm is not faster than Le Subscribe's."""
    propagation = swept.at("propagation", x)
    indexed, true = propagation.indexed, propagation.work["entries"]
    return (
        f"{reading(swept, 'kindex-dnf', x)}; {verifying(swept, 'propagation', x, 'distinct conjunctions', indexed)}. "
        f"Its clusters hang on the rarest literal; an event makes {true:,.0f} predicates true, and their clusters are "
        "all that it looks at."
    )


def by_x(values: Mapping[float, float], digits: int = 0) -> str:
    """Spell numbers by their place on the axis."""
    return ", ".join(f"{x:g}: {value:,.{digits}f}" for x, value in values.items())
