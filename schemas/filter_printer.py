"""The text form of a filter, written from an expression tree, so that reading it gives the same tree again."""

from __future__ import annotations

from schemas.check import check_expression
from schemas.expression import And, Expression, Not, Or
from schemas.filter_leaf_printer import format_leaf
from schemas.limits import Limits

MAX_DEPTH = 2_000
"""Connectives one inside another that the text form holds; no setting of ``limits.depth`` allows more."""

TEXT_LIMITS = Limits(
    depth=MAX_DEPTH, leaves=2**63 - 1, list_length=2**63 - 1, attribute_length=2**63 - 1, record_bytes=2**63 - 1
)
"""What the text form can hold: all that a tree can, but for the depth."""


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
            return [format_leaf(node)]


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
