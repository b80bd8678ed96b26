"""Disjunctions of conjunctions in columns, and as subscriptions that share equal leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.workloads.draws import Bools, Doubles, Int64s
from benchmarks.workloads.workload import identifiers
from index.uncollected import no_garbage_collection
from schemas.expression import And, Expression, In, NotIn, Or
from schemas.records import Subscription
from schemas.values import Value


class Leaves(NamedTuple):
    """Lists of values in columns: leaf l is about ``attribute[l]`` and lists ``value[start[l] : start[l + 1]]``."""

    attribute: Int64s
    start: Int64s
    value: Int64s


class Dnf(NamedTuple):
    """Subscriptions in columns.

    Attributes
    ----------
    leaf, negated
        [literals] index into the leaves; whether the literal is a ``not_in``.
    conjunction_start
        int64 [conjunctions + 1], into the literals.
    subscription_start
        int64 [subscriptions + 1], into the conjunctions.
    weight
        float64 [literals], the weight of each listed value; None where nothing is weighted.
    """

    leaf: Int64s
    negated: Bools
    conjunction_start: Int64s
    subscription_start: Int64s
    weight: Doubles | None = None


def dnf_subscriptions(
    leaves: Leaves, dnf: Dnf, attributes: Sequence[str], values: Sequence[Value]
) -> list[Subscription]:
    """Return the subscriptions; value v of any attribute is ``values[v]``."""
    with no_garbage_collection():
        literals = _literals(leaves, dnf, attributes, values)
        conjunctions = _joined(And, literals, dnf.conjunction_start)
        expressions = _joined(Or, conjunctions, dnf.subscription_start)
        return [Subscription(*pair) for pair in zip(identifiers(len(expressions)), expressions, strict=True)]


def _joined(
    connective: type[And] | type[Or], arguments: Sequence[Expression], start: npt.NDArray[np.int64]
) -> list[Expression]:
    """Join each slice of the arguments; a slice of one is that argument."""
    bounds = start.tolist()
    return [
        arguments[low] if high == low + 1 else connective(tuple(arguments[low:high])) for low, high in pairwise(bounds)
    ]


def _literals(leaves: Leaves, dnf: Dnf, attributes: Sequence[str], values: Sequence[Value]) -> list[Expression]:
    """Return one node a literal; equal nodes are one object."""
    bounds, numbers = leaves.start.tolist(), leaves.value.tolist()
    lists = [tuple(values[v] for v in numbers[low:high]) for low, high in pairwise(bounds)]
    names = [attributes[a] for a in leaves.attribute.tolist()]
    first: dict[tuple[str, tuple[Value, ...]], int] = {}
    same = np.array([first.setdefault(pair, leaf) for leaf, pair in enumerate(zip(names, lists, strict=True))])
    weight = np.ones(len(dnf.leaf)) if dnf.weight is None else dnf.weight
    columns = (same[dnf.leaf].tolist(), dnf.negated.tolist(), np.where(dnf.negated, 1.0, weight).tolist())
    table: dict[tuple[int, bool, float], Expression] = {}
    found: list[Expression] = []
    for key in zip(*columns, strict=True):
        node = table.get(key)
        if node is None:
            leaf, negated, w = key
            if negated:
                node = NotIn(names[leaf], lists[leaf])
            else:
                node = In(names[leaf], lists[leaf], None if dnf.weight is None else (w,) * len(lists[leaf]))
            table[key] = node
        found.append(node)
    return found
