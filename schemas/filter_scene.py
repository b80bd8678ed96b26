"""The place where the parser of filters stopped, with what stands around it."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from lark import Token


class Scene(NamedTuple):
    """The place where the parser stopped: ``text[start:end]``.

    ``kind`` is the type of the token found there, "" where none begins; a word that is not reserved is a NAME.
    ``wanted`` holds the types of the tokens that could stand there, ``past`` are the tokens before it, at most two.
    """

    text: str
    start: int
    end: int
    kind: str
    wanted: set[str]
    past: tuple[Token, ...]

    @property
    def found(self) -> str:
        """What stands there."""
        return self.text[self.start : self.end]

    @property
    def bare_word(self) -> str:
        """The name without quotes that stands there, in lower case, or nothing."""
        return self.found.lower() if self.kind == "NAME" and self.found[0] not in '"`' else ""

    @property
    def rest(self) -> str:
        """What follows it, blanks aside, or the beginning of that."""
        return self.text[self.end : self.end + 80].lstrip()

    @property
    def word_before(self) -> str:
        """The name without quotes that stands before, in lower case, or nothing."""
        token = self.before
        return token.lower() if token is not None and token.type == "NAME" and token[0] not in '"`' else ""

    @property
    def start_before(self) -> int:
        """Where the token before begins."""
        return (self.before.start_pos if self.before is not None else None) or 0

    @property
    def before(self) -> Token | None:
        """The token before."""
        return self.past[-1] if self.past else None

    @property
    def before_kind(self) -> str:
        """The type of the token before, or nothing."""
        return self.past[-1].type if self.past else ""

    @property
    def operator_wanted(self) -> bool:
        """Whether an attribute stands before, perhaps with a "not", so that an operator must follow."""
        return {"_IN", "_BETWEEN"} <= self.wanted

    @property
    def value_wanted(self) -> bool:
        """Whether a value must stand there."""
        return {"STRING", "NUMBER"} <= self.wanted and "NAME" not in self.wanted


def quoted(text: str) -> str:
    """Return a piece of a filter as a sentence shows it: short, and with the names of characters that mislead."""
    if len(text) == 1 and not (text.isascii() and text.isprintable()) and not text.isalnum():
        return f"the character U+{ord(text):04X} ({unicodedata.name(text, 'no name')})"
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown) + '"'
