"""Subscriptions as disjunctions of conjunctions.

Whang et al., "Indexing Boolean Expressions", section 3: a DNF is split into its conjunctions, and identical ones are
indexed once (section 7). Any tree is multiplied out, which keeps its scores: the best branch of an OR plus a term is
the best of the branches that each have the term.
"""

from __future__ import annotations

from collections.abc import Iterable

from index.block.vocabulary import ALWAYS, NEVER
from index.classic.clauses import Clause, Owned, crossed, limit, literal_order, multiplied
from index.classic.literals import LiteralReader
from index.classic.refusals import unsupported
from index.normal_form import normalise
from schemas.expression import And, Expression, Or
from schemas.records import Subscription
from schemas.values import score_term


def read_conjunctions(engine: str, reader: LiteralReader, subscriptions: Iterable[Subscription]) -> Owned[Clause]:
    """Return the conjunctions of subscriptions.

    Raises
    ------
    schemas.errors.Refused
        A subscription is no disjunction of conjunctions of literals, or too large as one.
    """
    found: Owned[Clause] = Owned()
    for ordinal, subscription in enumerate(subscriptions):
        found.points.append(score_term(1.0, subscription.priority))
        for conjunction in dict.fromkeys(disjunction(engine, reader, subscription)):
            found.add(conjunction, ordinal)
    return found


def disjunction(engine: str, reader: LiteralReader, subscription: Subscription) -> list[Clause]:
    """Return the conjunctions of which a subscription is the OR; none when it is never true.

    In a conjunction no literal stands twice, but for those that score.
    """
    if subscription.mode != "all":
        raise unsupported(engine, subscription, f"mode {subscription.mode!r}")

    def read(node: Expression) -> list[Clause] | None:
        return None if isinstance(node, And | Or) else _tidied([(reader.read(node),)])

    def combine(node: And | Or, args: list[list[Clause]]) -> list[Clause]:
        crosswise = isinstance(node, And)
        limit(engine, subscription, crosswise, args, "conjunctions")
        return _tidied(crossed(args)) if crosswise else [c for arg in args for c in arg]

    with reader.refusing(subscription):
        validity = reader.validity(subscription)
        found = multiplied(normalise(subscription.expression), read, combine)
    return _tidied(crossed([found, [tuple(validity)]])) if validity else found


def _tidied(conjunctions: Iterable[Clause]) -> list[Clause]:
    """Bring conjunctions into their one form; those that are never true are left out, duplicates too."""
    found: dict[Clause, None] = {}
    for conjunction in conjunctions:
        if len(conjunction) > 1:
            scoring = [literal for literal in conjunction if literal.weights is not None]
            scored = {literal.literal for literal in scoring}
            silent = {literal for literal in conjunction if literal.weights is None and literal.literal not in scored}
            conjunction = tuple(sorted([*scoring, *silent], key=literal_order))
        literals = {literal.literal for literal in conjunction}
        if NEVER in literals or any(literal ^ 1 in literals for literal in literals):
            continue
        found[tuple(literal for literal in conjunction if literal.literal != ALWAYS)] = None
    return list(found)
