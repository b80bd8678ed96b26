"""What the matcher is to reach: a limit for each line, and whether the measurements meet it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from benchmarks.block_measure import BlockResult


class Reach(NamedTuple):
    """A limit.

    Attributes
    ----------
    workload, line
        Which workload at its full size, and what of it.
    limit
        Met by values up to this.
    value
        Takes the value from a measurement.
    unit
        What it is counted in.
    """

    workload: str
    line: str
    limit: float
    value: Callable[[BlockResult], float]
    unit: str = "ms/event"


def _all(result: BlockResult) -> float:
    return result.ms(0)


REACH: tuple[Reach, ...] = (
    Reach("ads", "all matches", 0.05, _all),
    Reach("ads-uniform", "top 10", 0.04, lambda r: r.ms(10)),
    Reach("ads-zipf", "top 10", 0.015, lambda r: r.ms(10)),
    Reach("ads-uniform", "top 100", 0.12, lambda r: r.ms(100)),
    Reach("ads-zipf", "top 100", 0.06, lambda r: r.ms(100)),
    Reach("w1", "all matches", 0.15, _all),
    Reach("w2", "all matches", 0.06, _all),
    Reach("w3", "all matches", 0.05, _all),
    Reach("w3", "one event alone", 0.15, lambda r: r.alone.cpu),
    Reach("trees", "all matches", 0.15, _all),
    Reach("trees-wide", "all matches", 0.45, _all),
    Reach("ranges", "all matches", 0.10, _all),
    Reach("keywords", "all matches", 0.12, _all),
    Reach("keywords", "top 10", 0.12, lambda r: r.ms(10)),
    Reach("ads-uniform", "memory, weights included", 60.0, lambda r: r.bytes, "bytes a subscription"),
)

GROWTH_LIMIT = 7.0
"""Ten times the subscriptions may take this many times as long."""


class Verdict(NamedTuple):
    """One line of the table; ``full`` tells whether it was measured at the workload's full size, as is meant."""

    workload: str
    line: str
    limit: float
    value: float
    unit: str
    subscriptions: int
    full: bool

    @property
    def word(self) -> str:
        """Whether the limit is kept, in words."""
        kept = "met" if self.value <= self.limit else f"**missed**, {self.value / self.limit:.1f} ×"
        return kept if self.full else f"({kept}; not at full size)"


def verdicts(measured: Mapping[str, Mapping[int, BlockResult]], full: Mapping[str, int]) -> list[Verdict]:
    """Judge each workload at its largest size measured; growth is that from a tenth of it.

    Parameters
    ----------
    measured
        Workload to number of subscriptions to measurement.
    full
        Workload to its full size.
    """
    found = []
    for reach in REACH:
        sizes = measured.get(reach.workload, {})
        if sizes:
            size = max(sizes)
            found.append(
                Verdict(
                    reach.workload,
                    reach.line,
                    reach.limit,
                    reach.value(sizes[size]),
                    reach.unit,
                    size,
                    size == full[reach.workload],
                )
            )
    for name, sizes in measured.items():
        size = max(sizes)
        if size // 10 in sizes:
            growth = sizes[size].ms(0) / sizes[size // 10].ms(0)
            found.append(
                Verdict(name, "10 × the subscriptions", GROWTH_LIMIT, growth, "× the time", size, size == full[name])
            )
    return found
