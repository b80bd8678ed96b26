"""Filter texts in which predicates repeat: each is parsed once, by its text, and only connectives are read anew.

What is out of the ordinary, mistakes included, is left to the parser, which is slower by far and says what is wrong.
"""

from __future__ import annotations

import re
from functools import cache
from typing import get_args

from schemas.errors import Refused
from schemas.expression import And, Expression, Leaf, Or
from schemas.filter_text import parse_filter
from schemas.texts import analyser

KEPT = 2**16
"""So many predicates are remembered; then remembering begins anew."""

_TOKEN = re.compile(r"'[^']*+(?:''[^']*+)*+'|[\w.]++|[^\s\w]")
"""What stands beside a point is one word with it, as in the grammar: in ``1.and`` there is no connective."""

_UNUSUAL = re.compile(r"[\"`;]|--|/\*")
"""Quoted names and comments, in which a word may be no connective, and the sign that ends a filter."""

_LISTED = re.compile(r"(?:[^()']++|'[^']*+')*+\)")
"""The rest of a list in parentheses."""

_LEAVES = get_args(Leaf)


class _Level:
    """What has been read between two parentheses."""

    def __init__(self) -> None:
        self._branches: list[Expression] = []
        self._conjuncts: list[Expression] = []

    def add(self, operand: Expression, connective: str) -> None:
        """Take an operand and the connective behind it; "" at the end."""
        self._conjuncts.append(operand)
        if connective != "and":
            self._branches.append(_joined(And, self._conjuncts))
            self._conjuncts = []

    def node(self) -> Expression:
        """Return the tree."""
        return _joined(Or, self._branches)


def quick_filter(text: str) -> Expression | None:
    """Return the tree of a filter text made of predicates, "and", "or" and parentheses; None for others."""
    if _UNUSUAL.search(text):
        return None
    levels = [_Level()]
    operand: Expression | None = None
    start, inner, between = -1, 0, False
    place = 0
    while found := _TOKEN.search(text, place):
        token, place = found[0], found.end()
        word = token.lower() if token.isalpha() else token
        if inner or (start >= 0 and token == "("):
            listed = None if inner else _LISTED.match(text, place)
            if listed is not None:
                place = listed.end()
            else:
                inner += (token == "(") - (token == ")")
        elif word == "and" and between:
            between = False
        elif word in ("and", "or", ")"):
            operand = _predicate(text[start : found.start()]) if start >= 0 else operand
            if operand is None or (token == ")" and len(levels) == 1):
                return None
            levels[-1].add(operand, "" if token == ")" else word)
            operand = levels.pop().node() if token == ")" else None
            start = -1
        elif operand is not None:
            return None
        elif start < 0 and token == "(":
            levels.append(_Level())
        else:
            start = found.start() if start < 0 else start
            between = between or word == "between"
    operand = _predicate(text[start:]) if start >= 0 else operand
    if operand is None or len(levels) > 1:
        return None
    levels[0].add(operand, "")
    return levels[0].node()


def _joined(kind: type[And | Or], args: list[Expression]) -> Expression:
    return args[0] if len(args) == 1 else kind(tuple(args))


def _predicate(text: str) -> Expression | None:
    return _predicates(analyser()).get(text.strip())


class _Predicates:
    """The predicates met so far."""

    def __init__(self) -> None:
        self._known: dict[str, Expression | None] = {}

    def get(self, text: str) -> Expression | None:
        """Return the leaf that a text stands for; None when it is no leaf, or refused."""
        if text not in self._known:
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[text] = _leaf(text)
        return self._known[text]


@cache
def _predicates(analyser: str) -> _Predicates:
    """Return this process's predicates for an analyser, which says what a word is."""
    return _Predicates()


def _leaf(text: str) -> Expression | None:
    try:
        tree = parse_filter(text)
    except Refused:
        return None
    return tree if isinstance(tree, _LEAVES) else None
