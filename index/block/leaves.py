"""Leaves that score, numbered while subscriptions are read; those that general clauses need become columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from index.block.layout import Bools, Float64s, Int32s, Int64s
from index.block.rows import Arrays
from index.block.vocabulary import Listed
from index.slices import starts_of
from schemas.values import SCORE_SCALE


class Leaf(NamedTuple):
    """A list of values that scores.

    Attributes
    ----------
    listed
        The list.
    weights
        One weight for each of its distinct terms, in their order.
    weight
        The weight of all of them, or None where they differ.
    bound
        No event with one value of the attribute and weights of at most 1 gets more, in units of 1 / SCORE_SCALE.
    """

    listed: Listed
    weights: Sequence[float]
    weight: float | None
    bound: int


class LeafTable(NamedTuple):
    """Leaves in columns.

    Attributes
    ----------
    even
        bool: whether all terms have one weight.
    weight
        float64: that weight; 0 where they differ.
    points
        int64: what the leaf scores for a plain event, in score units; of no meaning where the weights differ.
    bound
        int64: as in `Leaf`.
    shared
        bool: whether every list of the same values is this leaf.
    uneven
        int64: -1 where all terms have one weight; else a number that leaves have in common whose terms have the same.
    """

    even: Bools
    weight: Float64s
    points: Int64s
    bound: Int64s
    shared: Bools
    uneven: Int64s


class Leaves:
    """Numbers leaves in the order in which they are met; an unweighted list is one leaf wherever it stands."""

    def __init__(self) -> None:
        self.met: list[Leaf] = []
        self._unweighted: dict[int, int] = {}

    def add(self, listed: Listed, weights: tuple[float, ...] | None) -> int:
        """Return the number of a leaf; a value that is listed twice counts by its first weight."""
        if weights is None:
            found = self._unweighted.get(listed.predicate)
            if found is None:
                found = self._unweighted[listed.predicate] = len(self.met)
                self.met.append(Leaf(listed, (1.0,) * len(listed.terms), 1.0, SCORE_SCALE))
            return found
        taken = weights if len(listed.places) == len(weights) else tuple(weights[place] for place in listed.places)
        first = taken[0] if taken else 0.0
        even = taken.count(first) == len(taken)
        heaviest = first if even else max(taken)
        self.met.append(Leaf(listed, taken, first if even else None, math.ceil(max(0.0, heaviest) * SCORE_SCALE)))
        return len(self.met) - 1

    def long_lists(self) -> set[int]:
        """Return the predicates of the leaves that list more than one value."""
        return {leaf.listed.predicate for leaf in self.met if len(leaf.weights) > 1}

    def table(self) -> LeafTable:
        """Return the leaves in columns."""
        count = len(self.met)
        even = np.fromiter((leaf.weight is not None for leaf in self.met), np.bool_, count)
        weight = np.fromiter((leaf.weight or 0.0 for leaf in self.met), np.float64, count)
        shared = np.zeros(count, np.bool_)
        shared[list(self._unweighted.values())] = True
        return LeafTable(
            even,
            weight,
            np.rint(weight * SCORE_SCALE).astype(np.int64),
            np.fromiter((leaf.bound for leaf in self.met), np.int64, count),
            shared,
            np.fromiter(self._uneven(), np.int64, count),
        )

    def attributes(self, term_attribute: Int32s) -> Int32s:
        """Return the attribute of each leaf, given that of each term; -1 for a leaf that lists nothing."""
        first = np.fromiter(
            (leaf.listed.terms[0] if leaf.weights else -1 for leaf in self.met), np.int64, len(self.met)
        )
        return np.where(first < 0, np.int32(-1), np.append(term_attribute, np.int32(-1))[first])

    def _uneven(self) -> Iterator[int]:
        met: dict[tuple[tuple[int, float], ...], int] = {}
        for leaf in self.met:
            if leaf.weight is None:
                yield met.setdefault(tuple(sorted(zip(leaf.listed.terms, leaf.weights, strict=True))), len(met))
            else:
                yield -1

    def arrays(self, chosen: Iterable[int], ordinals: Int32s) -> Arrays:
        """Return the chosen leaves in full, each one's terms ascending by their ordinals."""
        leaves = [self.met[number] for number in chosen]
        start = starts_of((len(leaf.weights) for leaf in leaves), len(leaves))
        size = int(start[-1])
        terms = np.fromiter((term for leaf in leaves for term in leaf.listed.terms), np.int64, size)
        weights = np.fromiter((weight for leaf in leaves for weight in leaf.weights), np.float64, size)
        term = ordinals[terms]
        order = np.lexsort((term, np.repeat(np.arange(len(leaves)), np.diff(start))))
        return {
            "leaf_start": start,
            "leaf_term": term[order],
            "leaf_weight": weights[order],
            "leaf_even": np.array([leaf.weight is not None for leaf in leaves], np.uint8),
        }
