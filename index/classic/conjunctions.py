"""Subscriptions as disjunctions of conjunctions, and the distinct conjunctions of a segment with their owners.

Whang et al., "Indexing Boolean Expressions", section 3: a DNF is split into its conjunctions, and identical ones are
indexed once (section 7). Any tree is multiplied out, which keeps its scores: the best branch of an OR plus a term is
the best of the branches that each have the term. What exceeds the limits below is refused.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from index.block.vocabulary import ALWAYS, NEVER
from index.classic.arrays import Arrays, Int32s
from index.classic.literals import LiteralReader, Posted
from index.classic.refusals import unsupported
from index.normal_form import normalise
from schemas.expression import And, Expression, Or
from schemas.records import Subscription
from schemas.values import score_term

CONJUNCTIONS = 4096
"""The most conjunctions of one subscription."""

LITERALS = 2**15
"""The most literals of all conjunctions of one subscription."""

Conjunction: TypeAlias = tuple[Posted, ...]
"""Ascending; no literal twice, but for those that score."""


@dataclass(slots=True)
class Conjunctions:
    """The distinct conjunctions of subscriptions.

    Attributes
    ----------
    distinct
        Conjunction to its number.
    conjunction, owner
        The pairs of a conjunction and a subscription that has it, ascending by subscription.
    points
        The subscriptions' priorities, in units of 1 / SCORE_SCALE.
    """

    distinct: dict[Conjunction, int] = field(default_factory=dict)
    conjunction: array[int] = field(default_factory=lambda: array("i"))
    owner: array[int] = field(default_factory=lambda: array("i"))
    points: list[int] = field(default_factory=list)

    def owners(self, number: Int32s) -> Arrays:
        """Return the parts of `index.classic.owners.Owners`, ``number[c]`` being what conjunction c is numbered now."""
        conjunction = number[np.array(self.conjunction, np.int64)]
        order = np.argsort(conjunction, kind="stable")
        starts = np.searchsorted(conjunction[order], np.arange(len(self.distinct) + 1))
        return {
            "owner_start": starts.astype(np.int64),
            "owner": np.array(self.owner, np.int32)[order],
            "owner_points": np.array(self.points, np.int64),
        }


def read_conjunctions(engine: str, reader: LiteralReader, subscriptions: Iterable[Subscription]) -> Conjunctions:
    """Return the conjunctions of subscriptions.

    Raises
    ------
    schemas.errors.Refused
        A subscription is no disjunction of conjunctions of literals, or too large as one.
    """
    found = Conjunctions()
    for ordinal, subscription in enumerate(subscriptions):
        found.points.append(score_term(1.0, subscription.priority))
        for conjunction in dict.fromkeys(disjunction(engine, reader, subscription)):
            found.conjunction.append(found.distinct.setdefault(conjunction, len(found.distinct)))
            found.owner.append(ordinal)
    return found


def disjunction(engine: str, reader: LiteralReader, subscription: Subscription) -> list[Conjunction]:
    """Return the conjunctions of which a subscription is the OR; none when it is never true."""
    if subscription.mode != "all":
        raise unsupported(engine, subscription, f"mode {subscription.mode!r}")
    with reader.refusing(subscription):
        expression = normalise(subscription.expression)
        validity = reader.validity(subscription)
        found = _multiplied(engine, reader, subscription, expression)
    return _product([found, [tuple(validity)]]) if validity else found


def _multiplied(
    engine: str, reader: LiteralReader, subscription: Subscription, expression: Expression
) -> list[Conjunction]:
    """Multiply out with a stack: a connective leaves itself, without arguments, below its arguments."""
    results: list[list[Conjunction]] = []
    work: list[tuple[Expression, int]] = [(expression, -1)]
    while work:
        node, arity = work.pop()
        if not isinstance(node, And | Or):
            results.append(_sorted([(reader.read(node),)]))
        elif arity < 0:
            work.append((node, len(node.args)))
            work += [(arg, -1) for arg in reversed(node.args)]
        else:
            cut = len(results) - arity
            args = results[cut:]
            _limit(engine, subscription, isinstance(node, And), args)
            results[cut:] = [_product(args) if isinstance(node, And) else [c for arg in args for c in arg]]
    return results.pop()


def _limit(engine: str, subscription: Subscription, conjunction: bool, args: Sequence[Sequence[Conjunction]]) -> None:
    """Refuse what would grow beyond the limits, before it grows."""
    count, literals = (1, 0) if conjunction else (0, 0)
    for arg in args:
        size = sum(map(len, arg))
        literals = literals * len(arg) + size * count if conjunction else literals + size
        count = count * len(arg) if conjunction else count + len(arg)
        if count > CONJUNCTIONS or literals > LITERALS:
            what = f"more than {CONJUNCTIONS:,} conjunctions or {LITERALS:,} literals once multiplied out"
            raise unsupported(engine, subscription, what, "scan")


def _product(args: Sequence[Sequence[Conjunction]]) -> list[Conjunction]:
    found: list[Conjunction] = [()]
    for arg in args:
        found = [(*some, *more) for some in found for more in arg]
    return _sorted(found)


def _sorted(conjunctions: Iterable[Conjunction]) -> list[Conjunction]:
    """Bring conjunctions into their one form; those that are never true are left out, doubles too."""
    found: dict[Conjunction, None] = {}
    for conjunction in conjunctions:
        if len(conjunction) > 1:
            scoring = [literal for literal in conjunction if literal.weights is not None]
            scored = {literal.literal for literal in scoring}
            silent = {literal for literal in conjunction if literal.weights is None and literal.literal not in scored}
            conjunction = tuple(sorted([*scoring, *silent], key=_key))
        literals = {literal.literal for literal in conjunction}
        if NEVER in literals or any(literal ^ 1 in literals for literal in literals):
            continue
        found[tuple(literal for literal in conjunction if literal.literal != ALWAYS)] = None
    return list(found)


def _key(literal: Posted) -> tuple[int, tuple[float, ...]]:
    return literal.literal, literal.weights or ()
