"""The workloads by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.workloads.ads import Ads
from benchmarks.workloads.flights import Flights
from benchmarks.workloads.keywords import Queries
from benchmarks.workloads.mixed import Mixed
from benchmarks.workloads.ranges import Ranges
from benchmarks.workloads.trees import Trees
from benchmarks.workloads.uniform import Uniform
from benchmarks.workloads.workload import Workload

WORKLOADS: Mapping[str, Callable[[int], Workload]] = {
    "ads": lambda seed: Ads(seed),
    "ads-uniform": lambda seed: Ads(seed, "uniform"),
    "ads-zipf": lambda seed: Ads(seed, "zipf"),
    "w1": lambda seed: Uniform("w1", seed),
    "w2": lambda seed: Uniform("w2", seed),
    "w3": lambda seed: Uniform("w3", seed),
    "trees": lambda seed: Trees(seed),
    "trees-wide": lambda seed: Trees(seed, wide=True),
    "ranges": lambda seed: Ranges(seed),
    "keywords": lambda seed: Queries(seed),
    "keywords-news": lambda seed: Queries(seed, drawn="news"),
    "keywords-leaf": lambda seed: Queries(seed, words=True),
    "flights": lambda seed: Flights(seed),
    "mixed": lambda seed: Mixed(seed),
}
"""Name to a maker that takes the seed."""


def workload(name: str, seed: int = 1) -> Workload:
    """Return a workload; the same name and seed give the same records."""
    if name not in WORKLOADS:
        raise ValueError(f"there is no workload {name!r}; there are {', '.join(WORKLOADS)}")
    return WORKLOADS[name](seed)
