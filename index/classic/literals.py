"""Literals of the classic engines: leaves in normal form, interned, with the weights by which they score.

A literal is a predicate, which is a set of keys, plain or negated. Lists of values, presence and ranges are such sets;
value tests (patterns, ``within``) are not, and are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from index.attribute_names import attribute_name
from index.block.vocabulary import Listed, OneOf, Vocabulary
from index.classic.refusals import unsupported
from index.event_block import TIME_ATTRIBUTE
from index.normal_form import can_score
from schemas.expression import Exists, Expression, In, Not, NotExists, NotIn, Range
from schemas.records import Subscription

ABSENT = "absent"
"""Kind of the term that stands for the absence of its attribute; no value is of this kind."""


class Posted(NamedTuple):
    """A literal in a clause.

    Attributes
    ----------
    literal
        predicate << 1 | negated.
    weights
        One weight for each key of the predicate, in the order of `index.classic.keys.KeyTable.keys`; None when it does
        not score.
    """

    literal: int
    weights: tuple[float, ...] | None

    @property
    def negated(self) -> bool:
        """Whether this is an exclusion."""
        return bool(self.literal & 1)


class LiteralReader:
    """Turns the leaves of subscriptions into literals.

    Attributes
    ----------
    vocabulary
        What has been named so far.
    """

    def __init__(self, engine: str) -> None:
        self.vocabulary = Vocabulary()
        self._engine = engine

    @contextmanager
    def refusing(self, subscription: Subscription) -> Iterator[None]:
        """Name the subscription in refusals of its leaves."""
        try:
            yield
        except _NoSetOfKeys as error:
            raise unsupported(self._engine, subscription, f"the test {error.leaf}") from None

    def read(self, leaf: Expression) -> Posted:
        """Return the literal of a leaf in normal form; within `refusing`."""
        if isinstance(leaf, In):
            listed = self.vocabulary.listed(leaf.attribute, leaf.values)
            weights = None
            if can_score(leaf):
                weights = (1.0,) * len(listed.terms) if leaf.weights is None else _in_order(listed, leaf.weights)
            return Posted(listed.predicate << 1, weights)
        inner = leaf.arg if isinstance(leaf, Not) else leaf
        if not isinstance(inner, NotIn | Range | Exists | NotExists):
            raise _NoSetOfKeys(inner)
        return Posted(self.vocabulary.literal(leaf), None)

    def strong(self, leaf: NotIn) -> Posted:
        """Return a strong exclusion as one literal: absence is one more value that is excluded, the paper's NULL."""
        listed = self.vocabulary.listed(leaf.attribute, leaf.values)
        attribute = self.vocabulary.attributes[attribute_name(leaf.attribute)]
        terms = self.vocabulary.terms
        absent = terms.setdefault((attribute, ABSENT, True), len(terms))
        predicate = OneOf(attribute, tuple(sorted((*listed.terms, absent))))
        return Posted(self.vocabulary.predicates.setdefault(predicate, len(self.vocabulary.predicates)) << 1 | 1, None)

    def validity(self, subscription: Subscription) -> list[Posted]:
        """Return the literal of a subscription's validity, if it has one: a range of the events' time."""
        if subscription.not_before is None and subscription.not_after is None:
            return []
        bounds = Range(TIME_ATTRIBUTE, ge=subscription.not_before, le=subscription.not_after)
        return [Posted(self.vocabulary.range(bounds), None)]


def _in_order(listed: Listed, weights: tuple[float, ...]) -> tuple[float, ...]:
    """Return the weights of a list's distinct terms in the order of the terms."""
    return tuple(weights[place] for _, place in sorted(zip(listed.terms, listed.places, strict=True)))


class _NoSetOfKeys(Exception):
    """A leaf that no set of keys stands for."""

    def __init__(self, leaf: Expression) -> None:
        super().__init__(leaf)
        self.leaf = f"{type(leaf).__name__.lower()} of attribute {getattr(leaf, 'attribute', '')!r}"
