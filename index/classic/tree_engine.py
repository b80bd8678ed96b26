"""Builds the parts that all tree engines have in common, from subscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from index.classic.arrays import Arrays, Int64s
from index.classic.keys import KeyTable, number_keys
from index.classic.tree_builder import Forest, take_apart
from index.classic.tree_forms import Node, TreeReader
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
        start = np.zeros(len(conjunctions) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, conjunctions), np.int64, len(conjunctions)), out=start[1:])
        return {
            "conjunction_start": start,
            "conjunction_literal": np.fromiter(chain.from_iterable(conjunctions), np.int32, int(start[-1])),
            "predicate_start": self.table.start,
            "predicate_key": self.table.key,
        }


def plant(
    engine: str, subscriptions: Sequence[Subscription], *, keep_all: bool, as_written: bool = False
) -> Plantation:
    """Read subscriptions into trees.

    Parameters
    ----------
    engine
        The engine's name, for refusals.
    subscriptions
        As `index.engine.Engine.build` takes them.
    keep_all
        Whether operator trees are kept of all subscriptions.
    as_written
        See `index.classic.tree_forms.TreeReader`.
    """
    reader = TreeReader(engine, as_written)
    trees = [reader.read(subscription) for subscription in subscriptions]
    return Plantation(trees, number_keys(reader.literals.vocabulary), take_apart(subscriptions, trees, keep_all))
