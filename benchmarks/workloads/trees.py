"""Trees of 6 to 12 leaves, three to four levels deep, with negations inside, over the lists of the ads workload.

A tree is an AND of two to four clauses; a clause is a leaf or an OR, which may hold an AND, and may be negated as a
whole. ``trees`` ends every tree with a month, as advertising contracts do, ``trees-wide`` has no such leaf and so
matches about twelve times as often.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from benchmarks.workloads.ads import MONTHS, Ads
from benchmarks.workloads.draws import Bools, Int64s, draw, stream
from benchmarks.workloads.workload import identifiers
from index.uncollected import no_garbage_collection
from schemas.expression import And, Expression, In, Not, Or
from schemas.records import Event, Subscription

FLAT, WITH_PAIR, WITH_GROUP = 0, 1, 2
"""Kinds of clauses: an OR of leaves; one whose last branch is an AND of two; one whose last is an AND over an OR."""

_MOST_CLAUSES = 4
_MOST_LEAVES = 5


class Forest(NamedTuple):
    """Trees in columns, by tree and clause.

    Attributes
    ----------
    clauses
        int64 [trees], two to four.
    leaves
        int64 [trees, 4], leaves a clause, one to five; 0 where there is no clause.
    kind, negated
        [trees, 4], what a clause looks like and whether it stands under a NOT.
    literal
        int64 [trees, 4, 5], leaf << 1 | negated.
    month
        int64 [trees], the month leaf, -1 where there is none.
    """

    clauses: Int64s
    leaves: Int64s
    kind: Int64s
    negated: Bools
    literal: Int64s
    month: Int64s


class Trees:
    """The workload; ``wide`` leaves the months out."""

    size = 1_000_000

    def __init__(self, seed: int = 1, wide: bool = False) -> None:
        self.name = "trees-wide" if wide else "trees"
        self._seed = seed
        self._wide = wide

    @cached_property
    def ads(self) -> Ads:
        """The workload that lends its lists and events."""
        return Ads(self._seed)

    def subscriptions(self, count: int) -> list[Subscription]:
        """See `benchmarks.workloads.workload.Workload`."""
        forest = self.columns(count)
        with no_garbage_collection():
            nodes = self._literals()
            months = [[nodes[2 * leaf]] if leaf >= 0 else [] for leaf in forest.month.tolist()]
            trees = [_clauses(*row, nodes=nodes) for row in _rows(forest)]
            return [
                Subscription(name, And((*tree, *month)))
                for name, tree, month in zip(identifiers(count), trees, months, strict=True)
            ]

    def columns(self, count: int) -> Forest:
        """Draw the trees: how many leaves, how they are shared out among the clauses, what each clause looks like."""
        rng = stream(self._seed, "trees")
        stock = self.ads.catalogue
        clauses = 2 + rng.integers(0, _MOST_CLAUSES - 1, count)
        leaves = _shares(rng, clauses, 6 + rng.integers(0, 7, count))
        inner = np.arange(_MOST_CLAUSES) > 0
        chance = rng.random((count, _MOST_CLAUSES))
        negated = inner & (chance < 0.12)
        nested = inner & ~negated & (chance < 0.35) & (leaves >= 3)
        kind = np.where(nested, np.where((chance < 0.2) & (leaves >= 4), WITH_GROUP, WITH_PAIR), FLAT)
        attribute = draw(rng, stock.popularity, (count, _MOST_CLAUSES, _MOST_LEAVES))
        lists = np.diff(stock.first_leaf)
        leaf = stock.first_leaf[attribute] + (rng.random(attribute.shape) * lists[attribute]).astype(np.int64)
        place = np.arange(_MOST_LEAVES)
        odds = np.where((kind == FLAT) & inner, 0.03, 0.0)[:, :, None] + np.where(
            (kind == WITH_PAIR)[:, :, None] & (place == leaves[:, :, None] - 1), 0.3, 0.0
        )
        literal = 2 * leaf + (rng.random(leaf.shape) < odds)
        month = stock.first_leaf[-1] + rng.integers(0, MONTHS, count)
        return Forest(clauses, leaves, kind, negated, literal, np.full(count, -1) if self._wide else month)

    def _literals(self) -> list[Expression]:
        """Return the node of each literal."""
        stock = self.ads.catalogue
        names, texts = stock.names, stock.texts
        bounds, numbers = stock.leaves.start.tolist(), stock.leaves.value.tolist()
        found: dict[Expression, Expression] = {}
        literals: list[Expression] = []
        for attribute, low, high in zip(stock.leaves.attribute.tolist(), bounds[:-1], bounds[1:], strict=True):
            leaf = In(names[attribute], tuple(texts[v] for v in numbers[low:high]))
            for node in (leaf, Not(leaf)):
                literals.append(found.setdefault(node, node))
        return literals

    def events(self, count: int) -> list[Event]:
        """See `benchmarks.workloads.workload.Workload`: those of the ads workload."""
        return self.ads.events(count)


def _shares(rng: np.random.Generator, clauses: Int64s, total: Int64s) -> Int64s:
    """Share each tree's leaves out among its clauses, at least one and at most five each."""
    left = total - clauses
    found = np.zeros((len(clauses), _MOST_CLAUSES), np.int64)
    for clause in range(_MOST_CLAUSES):
        more = np.where(clause < clauses - 1, (rng.random(len(left)) * (left + 1)).astype(np.int64), left)
        size = np.minimum(1 + more, _MOST_LEAVES)
        found[:, clause] = np.where(clause < clauses, size, 0)
        left = np.where(clause < clauses, left - (size - 1), left)
    return found


Row = tuple[int, list[int], list[int], list[bool], list[list[int]]]


def _rows(forest: Forest) -> Iterator[Row]:
    """Yield each tree's row of all columns but the month."""
    clauses, leaves, kind, negated, literal, _ = (column.tolist() for column in forest)
    yield from zip(clauses, leaves, kind, negated, literal, strict=True)


def _clauses(
    clauses: int,
    leaves: list[int],
    kinds: list[int],
    negated: list[bool],
    literal: list[list[int]],
    nodes: list[Expression],
) -> list[Expression]:
    args: list[Expression] = []
    for place in range(clauses):
        clause = _clause(kinds[place], [nodes[number] for number in literal[place][: leaves[place]]])
        args.append(Not(clause) if negated[place] else clause)
    return args


def _clause(kind: int, nodes: list[Expression]) -> Expression:
    if kind == WITH_PAIR:
        return Or((*nodes[:-2], And((nodes[-2], nodes[-1]))))
    if kind == WITH_GROUP:
        return Or((nodes[0], And((nodes[1], Or(tuple(nodes[2:]))))))
    return nodes[0] if len(nodes) == 1 else Or(tuple(nodes))
