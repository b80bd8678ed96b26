"""Subscriptions as conjunctions of disjunctions, and the distinct ones of a segment with their owners.

Whang et al., "Indexing Boolean Expressions", section 4. An OR over ANDs is multiplied out only where none of its leaves
scores: the sum of the best of several disjunctions is not the best of several sums.
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
from schemas.expression import And, Exists, Expression, NotIn, Or
from schemas.records import Subscription
from schemas.values import score_term

DISJUNCTIONS = 4096
"""The most disjunctions of one subscription."""

LITERALS = 2**15
"""The most literals of all disjunctions of one subscription."""

Disjunction: TypeAlias = tuple[Posted, ...]
"""Ascending and distinct. `ALWAYS` stands among literals that score only; without literals it is false."""

Cnf: TypeAlias = tuple[Disjunction, ...]


@dataclass(slots=True)
class Cnfs:
    """The distinct conjunctions of disjunctions of subscriptions.

    Attributes
    ----------
    distinct
        Each to its number.
    expression, owner
        The pairs of an expression and its subscription, ascending by subscription.
    points
        The subscriptions' priorities, in units of 1 / SCORE_SCALE.
    """

    distinct: dict[Cnf, int] = field(default_factory=dict)
    expression: array[int] = field(default_factory=lambda: array("i"))
    owner: array[int] = field(default_factory=lambda: array("i"))
    points: list[int] = field(default_factory=list)

    def owners(self, number: Int32s) -> Arrays:
        """Return the parts of `index.classic.owners.Owners`, ``number[x]`` being what expression x is numbered now."""
        expression = number[np.array(self.expression, np.int64)]
        order = np.argsort(expression, kind="stable")
        return {
            "owner_start": np.searchsorted(expression[order], np.arange(len(self.distinct) + 1)).astype(np.int64),
            "owner": np.array(self.owner, np.int32)[order],
            "owner_points": np.array(self.points, np.int64),
        }


def read_cnfs(engine: str, reader: LiteralReader, subscriptions: Iterable[Subscription]) -> Cnfs:
    """Return subscriptions as conjunctions of disjunctions; those that are never true own none.

    Raises
    ------
    schemas.errors.Refused
        A subscription is none of literals, or too large as one, or scores otherwise.
    """
    found = Cnfs()
    for ordinal, subscription in enumerate(subscriptions):
        found.points.append(score_term(1.0, subscription.priority))
        cnf = tuple(conjunction(engine, reader, subscription))
        if all(cnf):
            found.expression.append(found.distinct.setdefault(cnf, len(found.distinct)))
            found.owner.append(ordinal)
    return found


def conjunction(engine: str, reader: LiteralReader, subscription: Subscription) -> list[Disjunction]:
    """Return the disjunctions of which a subscription is the AND."""
    if subscription.mode != "all":
        raise unsupported(engine, subscription, f"mode {subscription.mode!r}")
    with reader.refusing(subscription):
        found = _multiplied(engine, reader, subscription, normalise(subscription.expression))
        return found + [(literal,) for literal in reader.validity(subscription)]


def _multiplied(
    engine: str, reader: LiteralReader, subscription: Subscription, expression: Expression
) -> list[Disjunction]:
    """Multiply out with a stack: a connective leaves itself below its arguments, with their number."""
    results: list[list[Disjunction]] = []
    work: list[tuple[Expression, int]] = [(expression, -1)]
    while work:
        node, arity = work.pop()
        if not isinstance(node, And | Or):
            results.append(_sorted([(reader.read(node),)]))
        elif arity < 0 and (exclusion := _strong(node)) is not None and node is not expression:
            results.append([(reader.strong(exclusion),)])
        elif arity < 0:
            work.append((node, len(node.args)))
            work += [(arg, -1) for arg in reversed(node.args)]
        else:
            cut = len(results) - arity
            args = results[cut:]
            _check(engine, subscription, node, args)
            results[cut:] = [[d for arg in args for d in arg] if isinstance(node, And) else _product(args)]
    return results.pop()


def _strong(node: And | Or) -> NotIn | None:
    """Return the exclusion that, beside the presence of its attribute, is all that an AND holds."""
    match node:
        case And((Exists(present), NotIn(attribute) as leaf)) | And((NotIn(attribute) as leaf, Exists(present))):
            return leaf if present == attribute else None
    return None


def _check(engine: str, subscription: Subscription, node: And | Or, args: Sequence[Sequence[Disjunction]]) -> None:
    """Refuse what would score otherwise or grow beyond the limits, before it grows."""
    count, literals = (0, 0) if isinstance(node, And) else (1, 0)
    for arg in args:
        size = sum(map(len, arg))
        literals = literals + size if isinstance(node, And) else literals * len(arg) + size * count
        count = count + len(arg) if isinstance(node, And) else count * len(arg)
        if count > DISJUNCTIONS or literals > LITERALS:
            what = f"more than {DISJUNCTIONS:,} disjunctions or {LITERALS:,} literals once multiplied out"
            raise unsupported(engine, subscription, what, "scan")
    inner = [arg for arg in args if len(arg) > 1]
    if isinstance(node, Or) and inner and any(literal.weights for arg in args for d in arg for literal in d):
        raise unsupported(engine, subscription, "an OR over an AND whose leaves score", "kindex-dnf")


def _product(args: Sequence[Sequence[Disjunction]]) -> list[Disjunction]:
    found: list[Disjunction] = [()]
    for arg in args:
        if not arg:
            # A true branch scores 0; what else may score more stays beside it.
            arg = [(Posted(ALWAYS, None),)]
        found = [(*some, *more) for some in found for more in arg]
    return _sorted(found)


def _sorted(disjunctions: Iterable[Disjunction]) -> list[Disjunction]:
    """Bring disjunctions into their one form; those that are always true and never score are left out."""
    found: list[Disjunction] = []
    for disjunction in disjunctions:
        distinct = {literal for literal in disjunction if literal.literal != NEVER}
        scores = any(literal.weights is not None for literal in distinct)
        if scores or Posted(ALWAYS, None) not in distinct:
            found.append(tuple(sorted(distinct, key=_key)))
    return found


def _key(literal: Posted) -> tuple[int, tuple[float, ...]]:
    return literal.literal, literal.weights or ()
