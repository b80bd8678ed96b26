"""Whether a regular expression must meet some letter of its own before it can go on without end."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from re import _parser as parser
from typing import Any

LONG = 16
"""A repetition of more characters than that counts as one without end."""

_ONE_CHARACTER = (parser.ANY, parser.NOT_LITERAL, parser.CATEGORY, parser.AT)
"""Any character, or one of many, or an anchor."""

_REPETITIONS = (parser.MAX_REPEAT, parser.MIN_REPEAT)


def closed(patterns: Sequence[str]) -> list[bool]:
    """Return of each pattern whether a letter, or one of a few, stands before its first repetition without end.

    One that has parts that only RE2 knows counts as not closed.

    Parameters
    ----------
    patterns
        Patterns that RE2 accepts.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's of its own future syntax
        return [_is_closed(pattern) for pattern in patterns]


def _is_closed(pattern: str) -> bool:
    try:
        return _closes(parser.parse(pattern)) is True
    except (re.error, RecursionError, OverflowError):
        return False


def _closes(parts: Iterable[Any]) -> bool | None:
    """Return whether a letter comes first, False when a repetition without end does, None when neither is there."""
    return next((found for part in parts if (found := _part_closes(*part)) is not None), None)


def _part_closes(operator: Any, argument: Any) -> bool | None:
    if operator is parser.LITERAL:
        return True
    if operator in _ONE_CHARACTER:
        return None
    if operator is parser.IN:
        return True if all(kind is parser.LITERAL for kind, _ in argument) else None
    if operator in _REPETITIONS:
        return _repetition_closes(*argument)
    if operator is parser.SUBPATTERN:
        return _closes(argument[-1])
    if operator is parser.BRANCH:
        return _branch_closes([_closes(parts) for parts in argument[-1]])
    return False


def _repetition_closes(least: int, most: int, parts: Iterable[Any]) -> bool | None:
    found = _closes(parts)
    if least and found is not None:
        return found
    return False if found is False or most > LONG else None


def _branch_closes(found: list[bool | None]) -> bool | None:
    return False if False in found else True if None not in found else None
