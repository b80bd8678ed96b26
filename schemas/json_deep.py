"""JSON text nested deeper than the quick decoder's recursion goes, to plain Python values, with a stack of its own.

Only the structure is read here; each string, number and literal goes through the quick decoder.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

_TOKEN = re.compile(rb'[ \t\n\r]*(?:([\[\]{},:])|("(?:[^"\\]|\\.)*"|[^\s"\[\]{},:]+)|\Z)', re.DOTALL)
_scalar = msgspec.json.Decoder().decode

_VALUE: Final = "a value"
_FIRST_VALUE: Final = "a value or ]"
_FIRST_KEY: Final = "a name or }"
_KEY: Final = "a name"
_COLON: Final = "a colon"
_NEXT: Final = "a comma or the end of an object or array"


class TooDeepError(Exception):
    """The text is nested deeper than was allowed."""


class BadTextError(Exception):
    """The text is not JSON: what was wanted, and at which byte."""

    def __init__(self, wanted: str, place: int) -> None:
        super().__init__(wanted, place)
        self.wanted = wanted
        self.place = place


def decode_deep(value: bytes, depth: int) -> Any:
    """Return the value that a JSON text stands for; of members with one name, the last one counts.

    Parameters
    ----------
    value
        The text.
    depth
        Levels of objects and arrays that are allowed.

    Raises
    ------
    TooDeepError
        There are more levels.
    BadTextError
        The text is not JSON.
    msgspec.ValidationError
        A number is beyond the range of a double.
    UnicodeDecodeError
        A string is not UTF-8.
    """
    reader = _Reader(depth)
    place = 0
    while place < len(value):
        token = _TOKEN.match(value, place)
        if token is None:
            raise BadTextError(reader.wanted, place)
        if token[1] is not None:
            reader.sign(token[1], token.start(1))
        elif token[2] is not None:
            _take_scalar(reader, token[2], token.start(2))
        place = token.end()
    return reader.result(len(value))


def _take_scalar(reader: _Reader, text: bytes, place: int) -> None:
    try:
        reader.scalar(text, place)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        raise BadTextError("a well-formed string, number or literal", place) from None


class _Reader:
    """The state between two tokens: the open objects and arrays, the name that waits for its value, what may come."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._top: list[Any] = []
        self._open: list[Any] = [self._top]
        self._names: list[str] = []
        self.wanted = _VALUE

    def sign(self, sign: bytes, place: int) -> None:
        """Take a bracket, comma or colon."""
        if sign in b"{[":
            self._begin({} if sign == b"{" else [], place)
        elif sign in b"}]":
            self._end(sign, place)
        elif sign == b":" and self.wanted is _COLON:
            self.wanted = _VALUE
        elif sign == b"," and self.wanted is _NEXT and len(self._open) > 1:
            self.wanted = _KEY if isinstance(self._open[-1], dict) else _VALUE
        else:
            raise BadTextError(self.wanted, place)

    def scalar(self, text: bytes, place: int) -> None:
        """Take a string, number or literal."""
        if self.wanted in (_KEY, _FIRST_KEY) and text.startswith(b'"'):
            name = _scalar(text)
            if name == "op" and name in self._open[-1]:
                raise BadTextError("the name op once in an object", place)
            self._names.append(name)
            self.wanted = _COLON
        elif self.wanted in (_VALUE, _FIRST_VALUE):
            self._add(_scalar(text))
            self.wanted = _NEXT
        else:
            raise BadTextError(self.wanted, place)

    def result(self, place: int) -> Any:
        """Return the value, once all of the text is read."""
        if not self._top or len(self._open) > 1:
            raise BadTextError(self.wanted, place)
        return self._top[0]

    def _begin(self, container: Any, place: int) -> None:
        if self.wanted not in (_VALUE, _FIRST_VALUE):
            raise BadTextError(self.wanted, place)
        self._add(container)
        self._open.append(container)
        if len(self._open) - 1 > self._depth:
            raise TooDeepError
        self.wanted = _FIRST_KEY if isinstance(container, dict) else _FIRST_VALUE

    def _end(self, sign: bytes, place: int) -> None:
        is_object = isinstance(self._open[-1], dict)
        ends = (_NEXT, _FIRST_KEY if is_object else _FIRST_VALUE)
        if len(self._open) == 1 or is_object != (sign == b"}") or self.wanted not in ends:
            raise BadTextError(self.wanted, place)
        self._open.pop()
        self.wanted = _NEXT

    def _add(self, value: Any) -> None:
        holder = self._open[-1]
        if isinstance(holder, dict):
            holder[self._names.pop()] = value
        else:
            holder.append(value)
