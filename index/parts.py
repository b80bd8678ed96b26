"""Subtrees in normal form, with what the rules of simplification look at."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from schemas.expression import And, Expression, Or

TRUE = And(())
FALSE = Or(())

Connective: TypeAlias = type[And] | type[Or]

NO_PRESENCE = -1


class Part(NamedTuple):
    """A subtree in normal form.

    Attributes
    ----------
    node
        The subtree.
    key
        Equal keys are subtrees with equal truth and score.
    truth
        Equal truths are subtrees with equal truth; ``truth ^ 1`` is that of the negation.
    scores
        Whether it may score other than 0.
    presence
        The truth of ``exists`` over a leaf's attribute, by which the leaf is implied when it is negated, and which it
        implies otherwise; `NO_PRESENCE` for other nodes.
    parts
        The arguments of a connective.
    base
        The truth of ``exists`` over the attribute that records hold, from which a leaf's is derived or which it is;
        `NO_PRESENCE` for other nodes.
    """

    node: Expression
    key: int
    truth: int
    scores: bool
    presence: int = NO_PRESENCE
    parts: tuple[Part, ...] = ()
    base: int = NO_PRESENCE

    @property
    def negated(self) -> bool:
        """Whether this is a negated leaf."""
        return bool(self.truth & 1)


TRUE_PART = Part(TRUE, key=0, truth=0, scores=False)
FALSE_PART = Part(FALSE, key=1, truth=1, scores=False)
