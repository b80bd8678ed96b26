"""Texts as leaves see them: case folding, words, glob patterns, and the strings that begin with a text."""

from __future__ import annotations

import re
from typing import Final

import re2
import regex

from schemas.errors import Refused, TocsinError

ANALYSERS: Final = ("words", "whole")
"""The ways to make tokens of a text: its words, or the whole of it as one."""

_WORDS = regex.compile(r"(?ws)\b.+?\b")
_LAST_CODE_POINT = "\U0010ffff"
_BEFORE_SURROGATES, _AFTER_SURROGATES = "\ud7ff", "\ue000"


_TAKEN_LITERALLY = re.compile(r"\\.", re.DOTALL)
_ONE_CHARACTER = re.compile(r"[?\[]")


class _Default:
    """The process's analyser; set once at the start, before anything is matched."""

    analyser = "words"


def set_analyser(name: str) -> None:
    """Set the analyser of this process, from the setting ``matching.analyser``.

    Raises
    ------
    TocsinError
        There is no analyser of this name.
    """
    if name not in ANALYSERS:
        raise TocsinError(f"there is no analyser {name!r:.40}; set matching.analyser to one of {', '.join(ANALYSERS)}")
    _Default.analyser = name


def analyser() -> str:
    """Return the name of the process's analyser."""
    return _Default.analyser


def fold(text: str) -> str:
    """Return a text without its case, by Unicode's full case folding."""
    return text.casefold()


def tokens(text: str, analyser: str | None = None) -> tuple[str, ...]:
    """Return the distinct tokens of a text, case-folded, in the order in which they first occur.

    Parameters
    ----------
    text
        Any text.
    analyser
        ``words``: what lies between two of Unicode's word boundaries and holds a letter or a digit. ``whole``: the
        whole text; the empty text has no token. None takes the process's.
    """
    folded = fold(text)
    if (_Default.analyser if analyser is None else analyser) == "whole":
        return (folded,) if folded else ()
    pieces: list[str] = _WORDS.findall(folded)
    return tuple(dict.fromkeys(piece for piece in pieces if any(map(str.isalnum, piece))))


def prefix_bounds(text: str) -> tuple[str, str | None]:
    """Return ``(low, high)``: the strings v with ``low <= v < high`` are exactly those that begin with the text.

    Strings are ordered by code points; ``high`` is None when there is no upper bound.
    """
    head = text.rstrip(_LAST_CODE_POINT)
    if not head:
        return text, None
    last = head[-1]
    return text, head[:-1] + (_AFTER_SURROGATES if last == _BEFORE_SURROGATES else chr(ord(last) + 1))


def glob_regex(pattern: str) -> str:
    r"""Return a glob pattern as a regular expression of RE2, meant to match the whole of a string.

    Parameters
    ----------
    pattern
        ``*`` stands for any string, ``?`` for any one character, ``[abc0-9]`` for one of those listed, ``[!abc]`` for
        one that is not; a closing bracket right after the opening one is listed. A backslash takes the next character
        for itself.

    Raises
    ------
    Refused
        ``pattern.syntax``: a bracket or a backslash at the end that nothing closes, or a range that runs backwards.
    """
    parts = ["(?s)"]
    place = 0
    while place < len(pattern):
        character = pattern[place]
        if character == "*":
            parts.append(".*")
        elif character == "?":
            parts.append(".")
        elif character == "[":
            part, place = _bracket(pattern, place)
            parts.append(part)
        else:
            character, place = _literal(pattern, place)
            parts.append(re2.escape(character))
        place += 1
    return "".join(parts)


def glob_ignoring_case(pattern: str) -> tuple[str, bool]:
    """Return a glob pattern that ignores case as a regular expression, and whether what it is to match is folded.

    Where something stands for one character, letters are compared one by one, since folding may make several of one.

    Raises
    ------
    Refused
        As `glob_regex`.
    """
    regex = glob_regex(pattern)
    if _ONE_CHARACTER.search(_TAKEN_LITERALLY.sub("", pattern)):
        return f"(?i){regex}", False
    return glob_regex(fold(pattern)), True


def _literal(pattern: str, place: int) -> tuple[str, int]:
    """Return the character that stands at a place for itself, and the place of its last sign."""
    if pattern[place] != "\\":
        return pattern[place], place
    if place + 1 == len(pattern):
        raise Refused("pattern.syntax", r"the glob pattern ends with a backslash; write \\ for a backslash itself")
    return pattern[place + 1], place + 1


def _bracket(pattern: str, start: int) -> tuple[str, int]:
    """Return the class that opens at a place, as RE2 writes it, and the place of its closing bracket."""
    place = start + 1
    negated = pattern.startswith("!", place)
    first = place = place + negated
    members: list[str] = []
    while place < len(pattern) and (pattern[place] != "]" or place == first):
        low, place = _literal(pattern, place)
        high = low
        if pattern.startswith("-", place + 1) and place + 2 < len(pattern) and pattern[place + 2] != "]":
            high, place = _literal(pattern, place + 2)
        if low > high:
            raise Refused(
                "pattern.syntax", f"the range {low}-{high} in the glob pattern runs backwards; exchange its ends"
            )
        members.append(_code(low) if low == high else f"{_code(low)}-{_code(high)}")
        place += 1
    if place >= len(pattern):
        raise Refused(
            "pattern.syntax",
            f"the bracket at character {start + 1} of the glob pattern is not closed; close it, or write \\[ for a "
            "bracket itself",
        )
    return f"[{'^' if negated else ''}{''.join(members)}]", place


def _code(character: str) -> str:
    return f"\\x{{{ord(character):x}}}"
