"""The frame of the tree engines: what they take, and the parts that all of them have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import ClassVar, NamedTuple

import numpy as np

from index.arrays import Arrays, Int64s
from index.classic.keys import KeyTable, number_keys
from index.classic.tree_builder import Forest, take_apart
from index.classic.tree_forms import Node, TreeReader
from index.engine import Matcher, Parts
from index.slices import starts_of
from schemas.records import Subscription


class Plantation(NamedTuple):
    """Trees on their way to an engine's parts.

    Attributes
    ----------
    trees
        One tree a subscription.
    table
        The keys of their predicates.
    forest
        Their conjunctions.
    """

    trees: list[Node]
    table: KeyTable
    forest: Forest

    def arrays(self) -> Arrays:
        """Return the parts: keys, annotations, programs and leaves that score."""
        return self.table.arrays | self.forest.arrays | self.forest.leaves.arrays(self.table)

    def literal_arrays(self, order: Int64s | None = None) -> Arrays:
        """Return the parts of `index.classic.tree_scan_kernel.LiteralArrays`, the conjunctions in this order."""
        conjunctions = self.forest.conjunctions
        if order is not None:
            conjunctions = [conjunctions[i] for i in order.tolist()]
        start = starts_of(map(len, conjunctions), len(conjunctions))
        return {
            "conjunction_start": start,
            "conjunction_literal": np.fromiter(chain.from_iterable(conjunctions), np.int32, int(start[-1])),
            "predicate_start": self.table.start,
            "predicate_key": self.table.key,
        }


class TreeEngine(ABC):
    """An engine over trees of conjunctions.

    Parameters
    ----------
    as_written
        See `index.classic.tree_forms.TreeReader`.
    """

    name: ClassVar[str]
    keeps_all: ClassVar[bool] = False
    """Whether operator trees are kept of all subscriptions."""

    def __init__(self, as_written: bool = False) -> None:
        self._as_written = as_written

    def check(self, subscription: Subscription) -> None:
        """See `index.engine.SelectiveEngine.check`."""
        TreeReader(self.name, self._as_written).read(subscription)

    def build(self, subscriptions: Sequence[Subscription]) -> Parts:
        """Build a segment's arrays; see `index.engine.Engine.build`."""
        reader = TreeReader(self.name, self._as_written)
        trees = [reader.read(subscription) for subscription in subscriptions]
        table, forest = number_keys(reader.literals.vocabulary), take_apart(subscriptions, trees, self.keeps_all)
        return self.arrays(Plantation(trees, table, forest))

    @abstractmethod
    def arrays(self, plants: Plantation) -> Arrays:
        """Return the segment's parts."""

    @abstractmethod
    def open(self, parts: Parts) -> Matcher:
        """Wrap a segment's arrays; nothing is copied."""
