"""Trees of an advertising exchange: the workload of "Efficiently Evaluating Complex Boolean Expressions", section 5.1.

Alternating AND-OR trees over conjunctions; the number of children is 2 with probability 0.7, 3 with 0.2, 1 or 4 with
0.05 each. The paper took sizes of conjunctions, attributes and values from contracts that it does not print; here all
three have falling popularities, chosen so that a conjunction is true for half of the events, which is what the match
shares of the paper's table 3 ask for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from benchmarks.workloads.draws import popularity, stream
from benchmarks.workloads.workload import identifiers
from index.uncollected import no_garbage_collection
from schemas.expression import And, Expression, In, Or
from schemas.records import Event, Subscription

CHILDREN = {2: 0.7, 3: 0.2, 1: 0.05, 4: 0.05}
CONJUNCTION_SIZES = {1: 0.45, 2: 0.35, 3: 0.2}
ATTRIBUTES = 40
VALUES = 12
NOBODY = "nobody"
"""A value that no event has."""


class Exchange:
    """The workload: trees of one depth.

    Parameters
    ----------
    depth
        Edges from the root to every leaf; the root is an AND.
    never
        Share of trees that match no event, since each conjunction below the root's first child wants `NOBODY`.
    scored
        Whether predicates score 1 each, or, as in the paper, nothing does.
    """

    def __init__(self, depth: int, seed: int = 1, never: float = 0.0, scored: bool = False) -> None:
        self.name = f"exchange, depth {depth}"
        self._depth = depth
        self._seed = seed
        self._never = never
        self._weights = None if scored else (0.0,)

    @cached_property
    def _shares(self) -> list[list[float]]:
        """The probability of each value, by attribute: geometric, some steeper than others."""
        ratio = stream(self._seed, "values").uniform(0.1, 0.35, ATTRIBUTES)
        raw = ratio[:, None] ** np.arange(VALUES)
        return [list(row / row.sum()) for row in raw]

    def subscriptions(self, count: int) -> list[Subscription]:
        """Return ``count`` subscriptions, ascending by id."""
        rng = random.Random(self._seed * 1000 + self._depth)
        with no_garbage_collection():
            leaves = self._leaves(rng)
            return [Subscription(id_, self._tree(rng, leaves)) for id_ in identifiers(count)]

    def _tree(self, rng: random.Random, leaves: Iterator[Expression]) -> Expression:
        never = rng.random() < self._never
        sizes = rng.choices(tuple(CHILDREN), tuple(CHILDREN.values()))[0]
        args = [self._node(rng, leaves, self._depth - 1, conjunction=False) for _ in range(sizes)]
        if never:
            args[0] = _barred(args[0])
        return And(tuple(args))

    def _node(self, rng: random.Random, leaves: Iterator[Expression], depth: int, *, conjunction: bool) -> Expression:
        """Return a subtree of at most a few levels, so recursion is harmless."""
        if depth == 0:
            return next(leaves)
        count = rng.choices(tuple(CHILDREN), tuple(CHILDREN.values()))[0]
        args = tuple(self._node(rng, leaves, depth - 1, conjunction=not conjunction) for _ in range(count))
        return And(args) if conjunction else Or(args)

    def _leaves(self, rng: random.Random) -> Iterator[Expression]:
        """Yield conjunctions; equal predicates are one object."""
        names = [f"a{number:02d}" for number in range(ATTRIBUTES)]
        tests = [[In(name, (f"v{value:02d}",), self._weights) for value in range(VALUES)] for name in names]
        attributes = range(ATTRIBUTES)
        shares = popularity(ATTRIBUTES).tolist()
        while True:
            size = rng.choices(tuple(CONJUNCTION_SIZES), tuple(CONJUNCTION_SIZES.values()))[0]
            chosen: list[int] = []
            while len(chosen) < size:
                attribute = rng.choices(attributes, shares)[0]
                if attribute not in chosen:
                    chosen.append(attribute)
            args = tuple(rng.choices(tests[a], self._shares[a])[0] for a in chosen)
            yield And(args)

    def events(self, count: int) -> list[Event]:
        """Return ``count`` events that know every attribute."""
        rng = random.Random(self._seed)
        names = [f"v{value:02d}" for value in range(VALUES)]
        return [
            Event({f"a{a:02d}": (rng.choices(names, share)[0],) for a, share in enumerate(self._shares)})
            for _ in range(count)
        ]


def _barred(node: Expression) -> Expression:
    """Return a subtree whose conjunctions no event satisfies, of the same shape."""
    if isinstance(node, And | Or) and any(isinstance(arg, And | Or) for arg in node.args):
        return type(node)(tuple(_barred(arg) for arg in node.args))
    args = node.args if isinstance(node, And) else (node,)
    return And((*args[1:], In("a00", (NOBODY,), (0.0,))))


def statistics(subscriptions: Sequence[Subscription]) -> str:
    """Return the sentence that compares what was generated with what the paper states."""
    widths: dict[int, int] = {}
    leaves = 0
    sizes: dict[int, int] = {}
    for subscription in subscriptions:
        pending = [subscription.expression]
        while pending:
            node = pending.pop()
            if isinstance(node, And) and all(isinstance(arg, In) for arg in node.args):
                leaves += 1
                sizes[len(node.args)] = sizes.get(len(node.args), 0) + 1
            elif isinstance(node, And | Or):
                widths[len(node.args)] = widths.get(len(node.args), 0) + 1
                pending += node.args
    nodes = sum(widths.values())
    found = ", ".join(f"{k}: {widths.get(k, 0) / nodes:.3f}" for k in sorted(CHILDREN))
    wanted = ", ".join(f"{k}: {share}" for k, share in sorted(CHILDREN.items()))
    mean = sum(k * n for k, n in sizes.items()) / leaves
    return (
        f"share of nodes by children {found} (stated {wanted}); {leaves / len(subscriptions):.1f} conjunctions a tree, "
        f"{mean:.2f} predicates a conjunction"
    )
