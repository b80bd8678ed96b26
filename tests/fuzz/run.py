"""Matches random populations with random events for as long as is wished, and counts what differs from the oracle.

Command: ``python -m tests.fuzz.run --minutes 10 [--seed 1]``, or ``make fuzz-matching MINUTES=10``. The first
difference ends the run: it is made small and printed as Python, with the seed that brings it back, and the exit code
is 1. So it is when next to nothing was compared, or nothing matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.command import run
from schemas.records import Event, Subscription
from tests.fuzz.draw import Draw
from tests.fuzz.seeds import command, first_wrong
from tests.fuzz.shrink import shrink
from tests.fuzz.trial import Counts, compare

LEAST_PAIRS = 50_000
"""In a minute, where one core that has nothing else to do compares over a million."""


def fuzz(seconds: float, seed: int, counts: Counts) -> int | None:
    """Run trials until the time is up; return the seed of the first that shows a difference."""

    def differs(seed: int) -> bool:
        return compare(*drawn(seed), seed, counts) is not None

    return first_wrong(differs, seconds, seed, partial(summary, counts))


def drawn(seed: int) -> tuple[list[Subscription], list[Event]]:
    """Return the population and the events of one trial."""
    draw = Draw(seed)
    return draw.population(), draw.events()


def summary(counts: Counts, seconds: float) -> str:
    """Say what has been done."""
    return (
        f"{counts.pairs:,} pairs in {seconds:,.0f} s ({counts.pairs / seconds * 60:,.0f} a minute), "
        f"{counts.matches:,} matches; {counts.trials:,} trials, {counts.compared:,} answers with {counts.rows:,} rows "
        f"compared, {counts.sampled:,} pairs asked of the oracle itself"
    )


def proves_nothing(counts: Counts, seconds: float) -> str | None:
    """Return why a run of so many seconds that found no difference is no proof of anything, or None when it is one."""
    wanted = LEAST_PAIRS * seconds / 60
    if counts.pairs < wanted:
        return f"{counts.pairs:,} pairs are too few to prove anything: {wanted:,.0f} are wanted; see what took so long"
    if seconds and not counts.matches:
        return "no pair matched, which proves nothing; see what became of the matches"
    if counts.rows < counts.matches:  # each is asked for in many ways
        return f"answers had {counts.rows:,} rows of {counts.matches:,} matches; see which blocks were empty"
    return None


def reproduction(seed: int) -> str:
    """Return the difference that a seed shows, as small as it can be made, as text and as Python."""
    population, events = drawn(seed)
    first = compare(population, events, seed, Counts())

    def differs(subscriptions: Sequence[Subscription], happened: Sequence[Event]) -> bool:
        return compare(subscriptions, happened, seed, Counts()) is not None

    few, less = shrink(population, events, differs)
    return "\n".join(
        [
            f"seed {seed}: {first}",
            f"made small: {compare(few, less, seed, Counts())}",
            f"once more: python -m tests.fuzz.run --seed {seed}",
            "population = [",
            *(f"    {subscription!r}," for subscription in few),
            "]",
            "events = [",
            *(f"    {event!r}," for event in less),
            "]",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a command; return the exit code."""
    counts = Counts()
    allowed = 0.0

    def tried(seconds: float, seed: int) -> int | None:
        nonlocal allowed
        allowed = seconds
        return fuzz(seconds, seed, counts)

    differing = command(arguments, "tests.fuzz.run", "trial", tried, partial(summary, counts))
    if differing is None:
        idle = proves_nothing(counts, allowed)
        print(idle or "no difference")
        return 0 if idle is None else 1
    print(f"1 difference, with seed {differing}; making it small", flush=True)
    print(reproduction(differing))
    return 1


if __name__ == "__main__":
    run(main, "fuzz")
