"""Expressions as bodies keep them: the tree itself, or its JSON text where it is nested deeply.

The codec for MessagePack recurses, and how far it gets hangs on the stack that its caller has left. Who reads a body is
not who wrote it, so the tree alone decides. A text is bytes to that codec, and is read with a stack of its own.
"""

from __future__ import annotations

from typing import TypeAlias

from schemas.expression import And, Expression, Not, Or
from schemas.json_deep import decode_deep
from schemas.wire_expression import encode_expression, expression_of

DEEPEST = 200
"""Levels of a tree that is kept as it is, the default of limits.depth: the codec takes 402 of Python's 1,000 frames."""

SHORT = 12 * DEEPEST
"""A tree of at most so many bytes in MessagePack is never deeper: a NOT takes 12 of them, an AND or OR more."""

Kept: TypeAlias = Expression | bytes
"""What a body holds."""


def kept(expression: Expression) -> Kept:
    """Return what is kept for a tree."""
    return encode_expression(expression) if _is_deep(expression) else expression


def restored(found: Kept) -> Expression:
    """Return the tree that was kept."""
    return expression_of(decode_deep(found, len(found)), "$") if isinstance(found, bytes) else found


def _is_deep(expression: Expression) -> bool:
    """Return whether a tree has more than `DEEPEST` connectives one inside another."""
    level = [expression]
    for _ in range(DEEPEST + 1):
        level = [arg for node in level for arg in _arguments(node)]
        if not level:
            return False
    return True


def _arguments(node: Expression) -> tuple[Expression, ...]:
    if isinstance(node, Not):
        return (node.arg,)
    return node.args if isinstance(node, And | Or) else ()
