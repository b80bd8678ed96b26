"""Subscriptions for libraries with fewer leaves: AND and OR over ``in``, ``not_in`` and integer ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from benchmarks.compare.contender import Unable
from index.normal_form import normalise
from schemas.expression import And, Expression, In, NotIn, Or, Range
from schemas.records import Subscription

Node = TypeVar("Node")

Makers = Mapping[Any, Callable[..., Node]]
"""Leaf or connective to what makes the library's node: connectives are given lists of nodes, leaves themselves."""


def translate(expression: Expression, makers: Makers[Node]) -> Node:
    """Return an expression in normal form as the library's own; nesting is as deep as Python may recurse."""
    if isinstance(expression, And | Or):
        if not expression.args:
            raise Unable("has no constant")
        return makers[type(expression)]([translate(arg, makers) for arg in expression.args])
    if type(expression) not in makers:
        raise Unable(f"has no leaf like {type(expression).__name__}")
    return makers[type(expression)](expression)


def branches(subscriptions: Sequence[Subscription]) -> Iterator[tuple[int, Expression]]:
    """Yield ordinal and normal form of each branch of an outermost OR; an expression that is false has none.

    A library that expands to CNF would multiply the branches out; as queries of their own they are only joined again.
    """
    for ordinal, subscription in enumerate(subscriptions):
        expression = normalise(subscription.expression)
        for branch in expression.args if isinstance(expression, Or) else (expression,):
            yield ordinal, branch


def attribute_of(leaf: In | NotIn | Range) -> str:
    """Return a leaf's attribute; derived ones are beyond the libraries."""
    if not isinstance(leaf.attribute, str):
        raise Unable("has no derived attributes")
    return leaf.attribute


def bounds_of(leaf: Range) -> tuple[int, int]:
    """Return the inclusive integer bounds of a range."""
    if not isinstance(leaf.ge, int) or not isinstance(leaf.le, int):
        raise Unable("only ranges between two integers, both inclusive, are compared")
    return leaf.ge, leaf.le
