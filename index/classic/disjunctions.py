"""Subscriptions as conjunctions of disjunctions.

Whang et al., "Indexing Boolean Expressions", section 4. An OR over ANDs is multiplied out only where none of its leaves
scores: the sum of the best of several disjunctions is not the best of several sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from index.block.vocabulary import ALWAYS, NEVER
from index.classic.clauses import Clause, Owned, crossed, limit, literal_order, multiplied
from index.classic.literals import LiteralReader, Posted
from index.classic.refusals import unsupported
from index.normal_form import normalise
from schemas.expression import And, Exists, Expression, NotIn, Or
from schemas.records import Subscription
from schemas.values import score_term

Cnf: TypeAlias = tuple[Clause, ...]
"""`ALWAYS` stands in a disjunction among literals that score only; one without literals is false."""


def read_cnfs(engine: str, reader: LiteralReader, subscriptions: Iterable[Subscription]) -> Owned[Cnf]:
    """Return subscriptions as conjunctions of disjunctions; those that are never true own none.

    Raises
    ------
    schemas.errors.Refused
        A subscription is none of literals, or too large as one, or scores otherwise.
    """
    found: Owned[Cnf] = Owned()
    for ordinal, subscription in enumerate(subscriptions):
        found.points.append(score_term(1.0, subscription.priority))
        cnf = tuple(conjunction(engine, reader, subscription))
        if all(cnf):
            found.add(cnf, ordinal)
    return found


def conjunction(engine: str, reader: LiteralReader, subscription: Subscription) -> list[Clause]:
    """Return the disjunctions of which a subscription is the AND."""
    if subscription.mode != "all":
        raise unsupported(engine, subscription, f"mode {subscription.mode!r}")
    root = normalise(subscription.expression)

    def read(node: Expression) -> list[Clause] | None:
        if not isinstance(node, And | Or):
            return _tidied([(reader.read(node),)])
        exclusion = _strong(node) if node is not root else None
        return None if exclusion is None else [(reader.strong(exclusion),)]

    def combine(node: And | Or, args: list[list[Clause]]) -> list[Clause]:
        crosswise = isinstance(node, Or)
        limit(engine, subscription, crosswise, args, "disjunctions")
        if not crosswise:
            return [d for arg in args for d in arg]
        scores = any(literal.weights for arg in args for d in arg for literal in d)
        if scores and any(len(arg) > 1 for arg in args):
            raise unsupported(engine, subscription, "an OR over an AND whose leaves score", "kindex-dnf")
        # A true branch scores 0; what else may score more stays beside it.
        return _tidied(crossed([arg or [(Posted(ALWAYS, None),)] for arg in args]))

    with reader.refusing(subscription):
        found = multiplied(root, read, combine)
        return found + [(literal,) for literal in reader.validity(subscription)]


def _strong(node: And | Or) -> NotIn | None:
    """Return the exclusion that, beside the presence of its attribute, is all that an AND holds."""
    match node:
        case And((Exists(present), NotIn(attribute) as leaf)) | And((NotIn(attribute) as leaf, Exists(present))):
            return leaf if present == attribute else None
    return None


def _tidied(disjunctions: Iterable[Clause]) -> list[Clause]:
    """Bring disjunctions into their one form; those that are always true and never score are left out."""
    found: list[Clause] = []
    for disjunction in disjunctions:
        distinct = {literal for literal in disjunction if literal.literal != NEVER}
        scores = any(literal.weights is not None for literal in distinct)
        if scores or Posted(ALWAYS, None) not in distinct:
            found.append(tuple(sorted(distinct, key=literal_order)))
    return found
