"""A pattern of SQL's LIKE as the leaf that comes nearest: a prefix, a suffix, a piece of text, or a glob."""

from __future__ import annotations

import re
from enum import Enum
from typing import TypeAlias

from schemas.errors import Refused
from schemas.expression import Contains, EndsWith, Glob, StartsWith

TextLeaf: TypeAlias = type[Contains | EndsWith | Glob | StartsWith]


class Wild(Enum):
    """A wildcard, by what it is in a glob."""

    ANY = "*"
    ONE = "?"


Piece: TypeAlias = str | Wild
"""Text that stands for itself, or a wildcard."""

_WILD = {"%": Wild.ANY, "_": Wild.ONE}


def like_leaf(pattern: str, escape: str) -> tuple[TextLeaf, str]:
    """Return the kind of leaf, and its text or pattern, that means what a LIKE pattern does.

    Parameters
    ----------
    pattern
        ``%`` stands for any text, ``_`` for any one character.
    escape
        The character that takes a following ``%``, ``_`` or itself literally; "" for none.

    Raises
    ------
    Refused
        ``pattern.syntax`` when the escape is longer than a character, or stands before another one.
    """
    pieces = _pieces(pattern, escape)
    opens, closes = pieces[:1] == [Wild.ANY], pieces[-1:] == [Wild.ANY]
    literals = [piece for piece in pieces if isinstance(piece, str)]
    if literals and len(literals) == len(pieces) - opens - closes and (opens or closes):
        kind: TextLeaf = Contains if opens and closes else EndsWith if opens else StartsWith
        return kind, "".join(literals)
    return Glob, "".join(map(_in_glob, pieces))


def _pieces(pattern: str, escape: str) -> list[Piece]:
    if len(escape) > 1:
        raise Refused("pattern.syntax", f'the escape {escape!r:.40} is no single character; write one, such as "!"')
    escaped = f"{re.escape(escape)}(.?)|" if escape else "()(?!)|"
    pieces: list[Piece] = []
    for found in re.finditer(f"{escaped}([%_])|[^%_{re.escape(escape)}]+", pattern, re.DOTALL):
        if found[1] is not None:
            if found[1] not in ("%", "_", escape):
                raise Refused(
                    "pattern.syntax",
                    f"in a like pattern {escape} stands before %, _ or another {escape} only, but here before "
                    f"{found[1] or 'the end'}; write {escape}{escape}, or name another escape: like 'a!%' escape '!'",
                )
            pieces.append(found[1])
        elif found[2] is None:
            pieces.append(found[0])
        elif found[2] != "%" or pieces[-1:] != [Wild.ANY]:
            pieces.append(_WILD[found[2]])
    return pieces


def _in_glob(piece: Piece) -> str:
    return piece.value if isinstance(piece, Wild) else literal_glob(piece)


def literal_glob(text: str) -> str:
    """Return a glob pattern that fits just this text."""
    return re.sub(r"[*?[\\]", r"\\\g<0>", text)
