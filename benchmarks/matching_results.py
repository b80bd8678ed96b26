"""The results of the matching benchmark as a file: a run replaces what it measured anew and keeps the rest."""

from __future__ import annotations

from pathlib import Path

import msgspec

from benchmarks.block_measure import BlockResult, Cost
from benchmarks.kept import read_rows, write_json


class Compared(msgspec.Struct, frozen=True):
    """A contender at one size.

    Attributes
    ----------
    name
        The contender's.
    build
        Seconds by the clock; None when it could not take part.
    all, top
        All matches, the ten best; None where it has no such thing.
    ours
        The block engine over the very same events, in the same run.
    note
        Why it could not take part, else empty.
    stream
        All matches of the block engine over a stream of events, in the same run; None where that is not known.
    """

    name: str
    build: float | None = None
    all: Cost | None = None
    top: Cost | None = None
    ours: Cost | None = None
    note: str = ""
    stream: Cost | None = None


class Measured(msgspec.Struct, frozen=True):
    """One workload at one size, from one run."""

    workload: str
    subscriptions: int
    events: int
    seed: int
    block: BlockResult
    compared: list[Compared]


def load(file: Path) -> list[Measured]:
    """Return what a file holds; nothing when there is none."""
    return read_rows(file, Measured)


def store(file: Path, fresh: Measured) -> list[Measured]:
    """Put a measurement in the place of the older one with its workload and size, and return all.

    One that was made without others keeps the older one's, each of which stands beside what the block engine took in
    the same run.
    """
    before = load(file)
    kept = [m for m in before if (m.workload, m.subscriptions) != (fresh.workload, fresh.subscriptions)]
    if not fresh.compared:
        fresh = msgspec.structs.replace(fresh, compared=[c for m in before if m not in kept for c in m.compared])
    rows = sorted([*kept, fresh], key=lambda m: (m.workload, m.subscriptions))
    write_json(file, rows)
    return rows
