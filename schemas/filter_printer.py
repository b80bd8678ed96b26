"""The text form of a filter, written from an expression tree, so that reading it gives the same tree again."""

from __future__ import annotations

import re

from schemas.check import check_expression
from schemas.expression import And, Exists, Expression, In, Leaf, Not, NotExists, NotIn, Or, Range
from schemas.limits import Limits
from schemas.values import Value

MAX_DEPTH = 300
"""Levels of a tree that the text form holds; no setting of ``limits.depth`` allows more."""

TEXT_LIMITS = Limits(
    depth=MAX_DEPTH, leaves=2**63 - 1, list_length=2**63 - 1, attribute_length=2**63 - 1, record_bytes=2**63 - 1
)
"""What the text form can hold: all that a tree can, but for the depth."""

_BARE = re.compile(
    r"(?!(?:all|and|any|between|exists|false|in|is|not|null|or|strong|true)\Z)[^\W\d]\w*(?:\.\w+)*", re.IGNORECASE
)
"""Names that need no quotes, as the grammar has them."""


def format_filter(expression: Expression) -> str:
    """Return a filter text on one line that `schemas.filter_text.parse_filter` reads into the same tree.

    An integer is written without a point and a float with a point or an exponent, in its shortest form, so types
    survive. Parentheses stand only where the tree needs them; an AND or OR of one argument is ``all(…)`` or ``any(…)``,
    one of none ``true`` or ``false``.

    Parameters
    ----------
    expression
        An allowed tree, at most ``MAX_DEPTH`` levels deep.

    Raises
    ------
    Refused
        For a tree that is not allowed, with the code and path of `schemas.check`.
    """
    check_expression(expression, TEXT_LIMITS)
    pieces: list[str] = []
    stack: list[Expression | str] = [expression]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            pieces.append(part)
        else:
            stack.extend(reversed(_parts(part)))
    return "".join(pieces)


def _parts(node: Expression) -> list[Expression | str]:
    """Return a node as pieces of text and, where its arguments stand, their nodes."""
    match node:
        case And(()):
            return ["true"]
        case Or(()):
            return ["false"]
        case And((arg,)):
            return ["all(", arg, ")"]
        case Or((arg,)):
            return ["any(", arg, ")"]
        case And(args):
            return _chain(args, " and ", (And, Or))
        case Or(args):
            return _chain(args, " or ", (Or,))
        case Not(arg):
            return ["not ", *_enclosed(arg, (And, Or))]
        case _:
            return [_leaf(node)]


def _chain(args: tuple[Expression, ...], connective: str, weaker: tuple[type[And | Or], ...]) -> list[Expression | str]:
    parts: list[Expression | str] = []
    for arg in args:
        parts.extend((connective, *_enclosed(arg, weaker)))
    return parts[1:]


def _enclosed(arg: Expression, weaker: tuple[type[And | Or], ...]) -> list[Expression | str]:
    """Put a chain in parentheses when its connective does not bind tighter than the one around it."""
    if isinstance(arg, And | Or) and isinstance(arg, weaker) and len(arg.args) > 1:
        return ["(", arg, ")"]
    return [arg]


def _leaf(leaf: Leaf) -> str:
    name = _name(leaf.attribute)
    match leaf:
        case In():
            values = _weighted(leaf)
            return f"{name} = {values[0]}" if len(values) == 1 else f"{name} in ({', '.join(values)})"
        case NotIn():
            values = [_value(value) for value in leaf.values]
            strong = "strong " if leaf.strong else ""
            if len(values) == 1:
                return f"{name} {strong}!= {values[0]}"
            return f"{name} {strong}not in ({', '.join(values)})"
        case Range():
            return _range(name, leaf)
        case Exists():
            return f"{name} exists"
        case NotExists():
            return f"{name} not exists"


def _weighted(leaf: In) -> list[str]:
    if leaf.weights is None:
        return [_value(value) for value in leaf.values]
    return [
        f"{_value(value)}^{repr(float(weight)).removesuffix('.0')}"
        for value, weight in zip(leaf.values, leaf.weights, strict=True)
    ]


def _range(name: str, leaf: Range) -> str:
    if leaf.ge is not None and leaf.le is not None:
        return f"{name} between {_value(leaf.ge)} and {_value(leaf.le)}"
    lower, lower_sign = (leaf.gt, "<") if leaf.gt is not None else (leaf.ge, "<=")
    upper, upper_sign = (leaf.lt, "<") if leaf.lt is not None else (leaf.le, "<=")
    if lower is None:
        assert upper is not None
        return f"{name} {upper_sign} {_value(upper)}"
    if upper is None:
        return f"{name} {lower_sign.replace('<', '>')} {_value(lower)}"
    return f"{_value(lower)} {lower_sign} {name} {upper_sign} {_value(upper)}"


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
