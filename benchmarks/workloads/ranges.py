"""Three ranges a subscription over ten numeric attributes, each a tenth of its attribute's values wide on average.

Events have all ten attributes, so a subscription matches one event of a thousand. Nearly all bounds are distinct.
"""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.draws import Int64s, first_distinct, stream
from benchmarks.workloads.workload import identifiers
from index.uncollected import no_garbage_collection
from schemas.expression import And, Range
from schemas.records import Event, Subscription

ATTRIBUTES = 10
PREDICATES = 3
SPAN = 1_000_000
NARROWEST, WIDEST = 0.05, 0.15
_SPARE = 9


class Ranges:
    """The workload."""

    name = "ranges"
    size = 1_000_000

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed

    @property
    def names(self) -> list[str]:
        """Attribute names."""
        return [f"x{number}" for number in range(ATTRIBUTES)]

    def subscriptions(self, count: int) -> list[Subscription]:
        """See `benchmarks.workloads.workload.Workload`; both bounds are inclusive."""
        names = self.names
        columns = (column.tolist() for column in self.columns(count))
        with no_garbage_collection():
            return [
                Subscription(
                    name,
                    And(tuple(Range(names[a], ge=x, le=y) for a, x, y in zip(about, low, high, strict=True))),
                )
                for name, about, low, high in zip(identifiers(count), *columns, strict=True)
            ]

    def columns(self, count: int) -> tuple[Int64s, Int64s, Int64s]:
        """Return attribute, lowest and highest value, int64 [count, 3]."""
        rng = stream(self._seed, "subscriptions")
        drawn = rng.integers(0, ATTRIBUTES, (count, PREDICATES + _SPARE))
        # A row that draws fewer than three attributes in twelve trials, once in ten million, takes the first ones.
        taken = first_distinct(drawn, np.full(count, PREDICATES))
        drawn[taken.sum(axis=1) < PREDICATES] = np.arange(PREDICATES + _SPARE)
        attribute = drawn[first_distinct(drawn, np.full(count, PREDICATES))].reshape(count, PREDICATES)
        width = (SPAN * rng.uniform(NARROWEST, WIDEST, attribute.shape)).astype(np.int64)
        low = (rng.random(attribute.shape) * (SPAN - width + 1)).astype(np.int64)
        return attribute, low, low + width - 1

    def values(self, count: int) -> Int64s:
        """Return the events' values, int64 [events, ATTRIBUTES]."""
        return stream(self._seed, "events").integers(0, SPAN, (count, ATTRIBUTES))

    def events(self, count: int) -> list[Event]:
        """See `benchmarks.workloads.workload.Workload`."""
        names = self.names
        return [
            Event({name: (value,) for name, value in zip(names, values, strict=True)})
            for values in self.values(count).tolist()
        ]
