"""Where in a filter text the parts of its tree stand, so that what is refused in the tree is shown in the text.

A tree carries no places. The few texts whose tree is refused are parsed once more, into the places alone.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple, cast

from lark import Lark, Token, Transformer

from schemas.errors import Refused
from schemas.filter_conditions import MESSAGES, Condition, ConditionRules
from schemas.filter_operands import Operand, OperandRules, place_of
from schemas.filter_text import parser_into

_STEP = re.compile(r"\.arg(?:s\[(\d+)\])?")


class _Spot(NamedTuple):
    """Where a node stands: its token, the spots of its arguments, and the parts of a predicate."""

    token: Token
    args: tuple[_Spot, ...] = ()
    predicate: tuple[Operand, Condition] | None = None


def shown_in_text(refused: Refused, text: str, root: str) -> Refused:
    """Return the refusal of a part of a filter's tree with the line and column of that part.

    Parameters
    ----------
    refused
        A refusal of `schemas.check`.
    text
        The filter, one that `schemas.filter_text.parse_filter` reads.
    root
        The path of the tree's root, with which the refusal's path begins.
    """
    place = place_of(_token(cast(_Spot, _parser().parse(text)), refused.path.removeprefix(root)))
    return Refused(refused.code, MESSAGES.get(refused.code, refused.message), place)


def _token(spot: _Spot, path: str) -> Token:
    """Return the token of what a path means, from a node on."""
    start = 0
    while spot.predicate is None and (step := _STEP.match(path, start)) is not None:
        spot = spot.args[int(step[1] or 0)]
        start = step.end()
    if spot.predicate is None:
        return spot.token
    operand, condition = spot.predicate
    return condition.place(path[start:], operand)


@cache
def _parser() -> Lark:
    return parser_into(_Spotter())


class _Spotter(OperandRules, ConditionRules[_Spot], Transformer[Token, _Spot]):
    """One method an alternative of the grammar, as for the tree."""

    def leaf(self, operand: Operand, condition: Condition) -> _Spot:
        spot = _Spot(operand.token, predicate=(operand, condition))
        return _Spot(operand.token, (spot,)) if condition.negated else spot

    def or_chain(self, parts: list[Any]) -> _Spot:
        return _Spot(parts[1], tuple(parts[::2]))

    def and_chain(self, parts: list[Any]) -> _Spot:
        return self.or_chain(parts)

    def function(self, parts: list[Any]) -> _Spot:
        return _Spot(parts[0], tuple(parts[1:]))

    def negated(self, parts: list[Any]) -> _Spot:
        return self.function(parts)

    def constant(self, parts: list[Token]) -> _Spot:
        return _Spot(parts[0])
