"""What DNF and CNF have in common: trees are multiplied out into clauses, and equal forms of a segment have owners.

A clause is a conjunction of literals in a DNF, a disjunction in a CNF. One connective puts its arguments' clauses side
by side, the other joins each of one argument with each of the next; what would grow beyond the limits is refused before
it grows.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from index.arrays import Arrays, Int32s
from index.classic.literals import Posted
from index.classic.refusals import unsupported
from schemas.expression import And, Expression, Or
from schemas.records import Subscription

CLAUSES = 4096
"""The most clauses of one subscription."""

LITERALS = 2**15
"""The most literals of all clauses of one subscription."""

Clause: TypeAlias = tuple[Posted, ...]
"""Ascending by `literal_order`."""

Form = TypeVar("Form", bound=Hashable)


@dataclass(slots=True)
class Owned(Generic[Form]):
    """The distinct forms of a segment's subscriptions, and whose they are.

    Attributes
    ----------
    distinct
        Each form to its number.
    form, owner
        The pairs of a form and a subscription that has it, ascending by subscription.
    points
        The subscriptions' priorities, in units of 1 / SCORE_SCALE.
    """

    distinct: dict[Form, int] = field(default_factory=dict)
    form: array[int] = field(default_factory=lambda: array("i"))
    owner: array[int] = field(default_factory=lambda: array("i"))
    points: list[int] = field(default_factory=list)

    def add(self, form: Form, owner: int) -> None:
        """Give a form one more owner."""
        self.form.append(self.distinct.setdefault(form, len(self.distinct)))
        self.owner.append(owner)

    def arrays(self, number: Int32s) -> Arrays:
        """Return the parts of `index.classic.owners.Owners`, ``number[f]`` being what form f is numbered now."""
        form = number[np.array(self.form, np.int64)]
        order = np.argsort(form, kind="stable")
        return {
            "owner_start": np.searchsorted(form[order], np.arange(len(self.distinct) + 1)).astype(np.int64),
            "owner": np.array(self.owner, np.int32)[order],
            "owner_points": np.array(self.points, np.int64),
        }


def multiplied(
    expression: Expression,
    read: Callable[[Expression], list[Clause] | None],
    combine: Callable[[And | Or, list[list[Clause]]], list[Clause]],
) -> list[Clause]:
    """Multiply a tree out with a stack: a connective leaves itself, with their number, below its arguments.

    Parameters
    ----------
    expression
        In normal form.
    read
        The clauses of a node that is read as a whole, as all leaves are; None for other connectives.
    combine
        The clauses of a connective, given those of its arguments.
    """
    results: list[list[Clause]] = []
    work: list[tuple[Expression, int]] = [(expression, -1)]
    while work:
        node, arity = work.pop()
        if arity < 0:
            whole = read(node)
            if whole is not None:
                results.append(whole)
            elif isinstance(node, And | Or):
                work.append((node, len(node.args)))
                work += [(arg, -1) for arg in reversed(node.args)]
        elif isinstance(node, And | Or):
            cut = len(results) - arity
            results[cut:] = [combine(node, results[cut:])]
    return results.pop()


def limit(
    engine: str, subscription: Subscription, crosswise: bool, args: Sequence[Sequence[Clause]], clauses: str
) -> None:
    """Refuse what would grow beyond the limits, before it grows.

    Parameters
    ----------
    engine, subscription
        For the refusal.
    crosswise
        Whether each clause of one argument is joined with each of the next, or all stand side by side.
    args
        The arguments' clauses.
    clauses
        What the engine's clauses are called.
    """
    count, literals = (1, 0) if crosswise else (0, 0)
    for arg in args:
        size = sum(map(len, arg))
        literals = literals * len(arg) + size * count if crosswise else literals + size
        count = count * len(arg) if crosswise else count + len(arg)
        if count > CLAUSES or literals > LITERALS:
            what = f"more than {CLAUSES:,} {clauses} or {LITERALS:,} literals once multiplied out"
            raise unsupported(engine, subscription, what, "scan")


def crossed(args: Sequence[Sequence[Clause]]) -> list[Clause]:
    """Return each clause of one argument joined with each of the next."""
    found: list[Clause] = [()]
    for arg in args:
        found = [(*some, *more) for some in found for more in arg]
    return found


def literal_order(literal: Posted) -> tuple[int, tuple[float, ...]]:
    """Return what the literals of a clause are sorted by."""
    return literal.literal, literal.weights or ()
