"""The expression tree as it travels on the topics and as all code sees it: frozen structs tagged by ``op``.

A tree only says what was written; whether it is allowed is `schemas.check`'s to say, what it means is stated by
`index.oracle`.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from schemas.values import Value


class _Node(msgspec.Struct, frozen=True, tag_field="op", forbid_unknown_fields=True, omit_defaults=True):
    """Base of all nodes: frozen, tagged by ``op``, unknown members refused (a typo must not widen a match)."""


class And(_Node, frozen=True, tag="and"):
    """True when every argument is; its score is the sum of theirs."""

    args: tuple[Expression, ...]


class Or(_Node, frozen=True, tag="or"):
    """True when some argument is; its score is the highest among the true ones."""

    args: tuple[Expression, ...]


class Not(_Node, frozen=True, tag="not"):
    """True exactly when the argument is false; nothing under it scores."""

    arg: Expression


class In(_Node, frozen=True, tag="in"):
    """True when some value of the attribute is listed; ``weights``, when given, has one entry a value."""

    attribute: str
    values: tuple[Value, ...]
    weights: tuple[float, ...] | None = None


class NotIn(_Node, frozen=True, tag="not_in"):
    """True when no value of the attribute is listed; the strong form also wants the attribute present."""

    attribute: str
    values: tuple[Value, ...]
    strong: bool = False


class Range(_Node, frozen=True, tag="range"):
    """True when some one value lies inside the bounds, at most one lower and one upper; a missing bound is open.

    Bounds are two numbers or two strings; strings are ordered by code points.
    """

    attribute: str
    gt: str | int | float | None = None
    ge: str | int | float | None = None
    lt: str | int | float | None = None
    le: str | int | float | None = None


class Exists(_Node, frozen=True, tag="exists"):
    """True when the attribute has a value (0, false, "" and NaN are values)."""

    attribute: str


class NotExists(_Node, frozen=True, tag="not_exists"):
    """True when the attribute has no value."""

    attribute: str


Leaf: TypeAlias = In | NotIn | Range | Exists | NotExists
Expression: TypeAlias = And | Or | Not | In | NotIn | Range | Exists | NotExists

LATER_OPERATORS = frozenset(
    {
        "contains_all",
        "within",
        "equals_set",
        "matches",
        "starts_with",
        "ends_with",
        "contains",
        "glob",
        "version",
        "cidr",
        "keywords",
        "derive",
    }
)
"""Operators of the public contract that this version refuses with ``operator.unsupported``."""
