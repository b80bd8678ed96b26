"""Expressions of any number of levels."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from schemas.expression import Expression


def deep(around: Callable[[Expression, int], Expression], levels: int, innermost: Expression) -> Expression:
    """Return what ``around`` makes of the innermost expression, of what that is, and so on; it is told the level."""
    return reduce(around, range(levels), innermost)
