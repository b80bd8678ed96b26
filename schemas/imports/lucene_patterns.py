r"""Regular expressions of Lucene, which Elasticsearch has, as those of RE2.

Both want the whole value to fit. What only one of them knows, or each reads in its own way, is written out or refused:
in Lucene ``^`` and ``$`` stand for themselves, ``a*?`` is ``(a*)?``, and a ``?`` after ``(`` sets no option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from schemas.errors import Refused
from schemas.imports.parts import unsupported
from schemas.patterns import compile_pattern

_PIECE: Final = re.compile(
    r"""(?P<atom>\\[^a-zA-Z]|[^\\|()\[{?*+.~&@\#<>"])
    |(?P<any>\.)
    |(?P<kind>\\[dDsSwW])
    |\[(?P<negated>\^?+)(?P<class>(?:\\.|[^\\\]])+)\]
    |(?P<repeated>[?*+]|\{[0-9]+(?:,[0-9]*)?\})
    |(?P<opened>\()
    |(?P<closed>\))
    |(?P<either>\|)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLASS_PIECE: Final = re.compile(
    r"""(?P<kind>\\[dDsSwW])
    |(?P<first>\\[^a-zA-Z]|[^\\])(?:-(?P<last>\\[^a-zA-Z]|[^\\])|(?!-))
    """,
    re.VERBOSE | re.DOTALL,
)

_KINDS: Final = {r"\s": r" \t\n\r", r"\S": r"\x00-\x08\x0B\x0C\x0E-\x1F!-\x{10FFFF}"}
"""Of Lucene's white space, as the inside of a class: a form feed is none. Digits and letters are those of RE2."""

_NOTHING_YET: Final = ("opened", "either", "")


def re2_pattern(pattern: str, path: str) -> str:
    """Return the expression of RE2 that fits the same texts, one that is whole by itself.

    Parameters
    ----------
    pattern
        An expression of Lucene with all operators on; those of it alone, such as ``~`` and ``<1-9>``, are refused.
    path
        Where it stands.

    Raises
    ------
    Refused
        ``import.unsupported``, or ``pattern.syntax`` when RE2 does not take it either.
    """
    written: list[str] = []
    before = ""
    for found in _pieces(_PIECE, pattern, "at character {} of the expression", path):
        kind = str(found.lastgroup)
        if _misplaced(kind, before):
            raise unsupported(
                f"before {found[0]!r:.40} at character {found.start() + 1} of the expression stands nothing that it "
                "could be about; put what it is about in parentheses, or a backslash before a sign that is meant "
                "itself",
                path,
            )
        written.append(_written(found, path))
        before = kind
    if before == "either":
        raise unsupported("the expression ends with |; write what else may stand there, or () for nothing", path)
    whole = "".join(written)
    try:
        compile_pattern(whole)
    except Refused as refused:
        raise Refused(refused.code, refused.message, path) from None
    return whole


def _pieces(known: re.Pattern[str], text: str, where: str, path: str) -> Iterator[re.Match[str]]:
    """Yield the pieces that a text consists of; ``where``, with its number, says where there is none."""
    place = 0
    while place < len(text):
        found = known.match(text, place)
        if found is None:
            raise unsupported(
                f"{text[place : place + 2]!r} {where.format(place + 1)} is nothing that both Lucene and RE2 know; a "
                "backslash before a sign takes it for itself",
                path,
            )
        yield found
        place = found.end()


def _misplaced(kind: str, before: str) -> bool:
    """Return whether Lucene takes a sign for itself that RE2 does not, or reads a second repetition otherwise."""
    if kind == "repeated":
        return before == "repeated" or before in _NOTHING_YET
    if kind == "closed":
        return before == "either"
    return kind == "either" and before in _NOTHING_YET


def _written(found: re.Match[str], path: str) -> str:
    if found["atom"]:
        return _literal(found["atom"])
    if found["kind"]:
        return f"[{_KINDS[found[0]]}]" if found[0] in _KINDS else found[0]
    if found["class"]:
        return f"[{found['negated']}{_class(found['class'], path)}]"
    return found[0]


def _class(inside: str, path: str) -> str:
    written: list[str] = []
    for found in _pieces(_CLASS_PIECE, inside, "in a list of characters", path):
        if found["kind"]:
            written.append(_KINDS.get(found[0], found[0]))
        else:
            written.append(_literal(found["first"]))
            written.extend(("-", _literal(found["last"])) if found["last"] else ())
    return "".join(written)


def _literal(atom: str) -> str:
    """Return a character as RE2 takes it for itself, in a list of characters too."""
    char = atom[-1]
    return f"\\{char}" if char in r"\.+*?()|[]{}^$-" else char
