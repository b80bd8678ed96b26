"""Single conjunctions over attributes that are all alike: W1, W2 and W3, by the number of attributes and predicates.

They are the shapes on which open implementations of Boolean-expression indexes are usually measured. A positive
predicate lists three values, an exclusion two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.workloads.dnf import Dnf, Leaves, dnf_subscriptions
from benchmarks.workloads.draws import Int64s, first_distinct, starts, stream
from schemas.records import Event, Subscription

_SPARE = 5


class Shape(NamedTuple):
    """How large everything is."""

    attributes: int
    values: int
    fewest: int
    most: int
    not_share: float
    event_keys: int


SHAPES = {
    "w1": Shape(26, 100, 1, 3, 0.2, 13),
    "w2": Shape(1000, 100, 1, 5, 0.2, 20),
    "w3": Shape(100, 100, 3, 5, 0.0, 30),
}


class Uniform:
    """The workload of one of the `SHAPES`."""

    size = 1_000_000

    def __init__(self, name: str, seed: int = 1) -> None:
        self.name = name
        self._shape = SHAPES[name]
        self._seed = seed

    @property
    def names(self) -> list[str]:
        """Attribute names."""
        return [f"a{number:03d}" for number in range(self._shape.attributes)]

    def subscriptions(self, count: int) -> list[Subscription]:
        """See `benchmarks.workloads.workload.Workload`."""
        return dnf_subscriptions(*self.columns(count), self.names, range(self._shape.values))

    def columns(self, count: int) -> tuple[Leaves, Dnf]:
        """Return leaves, one a literal, and the subscriptions in columns."""
        rng, shape = stream(self._seed, "subscriptions"), self._shape
        predicates = rng.integers(shape.fewest, shape.most + 1, count)
        drawn = rng.integers(0, shape.attributes, (count, shape.most + _SPARE))
        taken = first_distinct(drawn, predicates)
        attribute = drawn[taken]
        negated = rng.random(len(attribute)) < shape.not_share
        values = rng.integers(0, shape.values, (len(attribute), 3 + _SPARE))
        listed = first_distinct(values, np.where(negated, 2, 3))
        leaves = Leaves(attribute, starts(listed.sum(axis=1)), values[listed])
        one = np.arange(count + 1)
        return leaves, Dnf(np.arange(len(attribute)), negated, starts(taken.sum(axis=1)), one)

    def keys(self, count: int) -> tuple[Int64s, Int64s]:
        """Return events in columns: attributes and values, int64 [events, event_keys]."""
        rng, shape = stream(self._seed, "events"), self._shape
        attribute = rng.permuted(np.tile(np.arange(shape.attributes), (count, 1)), axis=1)[:, : shape.event_keys]
        return attribute, rng.integers(0, shape.values, attribute.shape)

    def events(self, count: int) -> list[Event]:
        """See `benchmarks.workloads.workload.Workload`."""
        attribute, value = self.keys(count)
        names = self.names
        return [
            Event({names[a]: (v,) for a, v in zip(attributes, values, strict=True)})
            for attributes, values in zip(attribute.tolist(), value.tolist(), strict=True)
        ]
