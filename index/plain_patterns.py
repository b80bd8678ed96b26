"""Which regular expressions say no more than that a string is, begins with, ends with or contains a text."""

from __future__ import annotations

from typing import NamedTuple

_ANY = ".*"
_DOT_ALL = "(?s)"
_META = frozenset("\\.+*?()|[]{}^$")
_ESCAPED = frozenset(c for c in map(chr, range(1, 128)) if not c.isalnum() and c != "_")
"""What stands for itself after a backslash."""


class PlainPattern(NamedTuple):
    """A text, with anything before it and after it where ``open_start`` and ``open_end`` say so."""

    text: str
    open_start: bool
    open_end: bool


def plain_pattern(pattern: str) -> PlainPattern | None:
    r"""Return what a regular expression says when it is as plain as that, else None.

    A dot takes a line feed only after ``(?s)``, so ``a.*`` without it is more than "begins with a".
    """
    any_string = pattern.startswith(_DOT_ALL)
    body = pattern.removeprefix(_DOT_ALL)
    open_start = any_string and body.startswith(_ANY)
    body = body[len(_ANY) :] if open_start else body
    if open_start and not body:
        return PlainPattern("", open_start=True, open_end=True)
    open_end = any_string and body.endswith(_ANY) and _unescaped(body, len(body) - len(_ANY))
    body = body[: -len(_ANY)] if open_end else body
    text = _literal(body)
    return None if text is None else PlainPattern(text, open_start, open_end)


def _unescaped(body: str, place: int) -> bool:
    """Return whether an even number of backslashes stands before the place."""
    before = body[:place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 0


def _literal(body: str) -> str | None:
    """Return the text that a pattern without operators stands for, None for one with operators."""
    text: list[str] = []
    place = 0
    while place < len(body):
        character = body[place]
        if character == "\\":
            place += 1
            if place == len(body) or body[place] not in _ESCAPED:
                return None
            text.append(body[place])
        elif character in _META:
            return None
        else:
            text.append(character)
        place += 1
    return "".join(text)
