"""The text form of a filter, read into an expression tree; its grammar is ``filter.lark``.

While the parser runs, a finished part of the text is a pair: its tree and the tree's depth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import islice
from typing import Any, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput

from schemas.errors import Refused
from schemas.expression import And, Expression, Not, Or
from schemas.filter_conditions import Built, Condition, ConditionRules
from schemas.filter_operands import Operand, OperandRules, place_of, value_of
from schemas.filter_printer import MAX_DEPTH, format_filter
from schemas.filter_refusal import place_in, syntax_refusal
from schemas.limits import DEFAULT_LIMITS

__all__ = ["format_filter", "parse_filter"]

_TOKEN = re.compile(
    r"""\s++|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?   # nothing that counts
    |('[^']*+(?:''[^']*+)*+'?|[\w.]++|.)               # a token, a string without an end too
    """,
    re.VERBOSE | re.DOTALL,
)
"""Tokens as quickly as they can be counted; a sign of two characters counts twice, quoted names by their words."""


def parse_filter(text: str, tokens: int = DEFAULT_LIMITS.filter_tokens) -> Expression:
    """Return the tree that a filter text stands for.

    Everything of a single predicate is checked here, because only here its line and column are at hand; the limits of a
    subscription are `schemas.check`'s, and `schemas.filter_places` finds the place of what they refuse.

    Parameters
    ----------
    text
        The filter. Any text may be given; the parser keeps its own stack, so no nesting is too deep for it.
    tokens
        How many words, values and signs it may have.

    Raises
    ------
    Refused
        With a path such as ``line 1, column 12`` and one of the codes ``filter.empty``, ``filter.syntax``,
        ``filter.too_long``, ``operator.unknown``, ``derive.function``, ``expression.too_deep``, or one that
        `schemas.check` has for a leaf.
    """
    _check_length(text, tokens)
    parser = _parser()
    try:
        tree, _ = cast(Built, parser.parse(text))
    except UnexpectedInput:
        raise syntax_refusal(parser, text) from None
    return tree


@cache
def _parser() -> Lark:
    """Return the parser; building it costs as much as parsing several hundred filters, so a process does it once."""
    return parser_into(_Builder())


def parser_into(builder: Transformer[Token, Any]) -> Lark:
    """Return a parser of filters whose results are what a builder makes of the grammar's rules."""
    grammar = resources.files("schemas").joinpath("filter.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=builder, maybe_placeholders=False)


def _check_length(text: str, tokens: int) -> None:
    if len(text) <= tokens:
        return
    places = (found.start() for found in _TOKEN.finditer(text) if found[1])
    beyond = next(islice(places, tokens, None), None)
    if beyond is not None:
        raise Refused(
            "filter.too_long",
            f"the filter has more than {tokens:,} words, values and signs (setting limits.filter_tokens); split it "
            "over several subscriptions, or give it as a tree, the member expression",
            place_in(text, beyond),
        )


class _Builder(OperandRules, ConditionRules[Built], Transformer[Token, Built]):
    """One method an alternative of the grammar; each takes the parts of the text that the grammar keeps."""

    def leaf(self, operand: Operand, condition: Condition) -> Built:
        return condition.of(operand)

    def or_chain(self, parts: list[Any]) -> Built:
        return _joined(Or, parts[::2], parts[1])

    def and_chain(self, parts: list[Any]) -> Built:
        return _joined(And, parts[::2], parts[1])

    def function(self, parts: list[Any]) -> Built:
        return _joined(And if parts[0].type == "ALL" else Or, parts[1:], parts[0])

    def negated(self, parts: list[Any]) -> Built:
        token, (arg, depth) = parts
        return Not(arg), _deeper(depth, token)

    def constant(self, parts: list[Token]) -> Built:
        return And(()) if value_of(parts[0]) else Or(()), 0


def _joined(kind: type[And | Or], parts: Sequence[Built], token: Token) -> Built:
    depth = _deeper(max(depth for _, depth in parts), token)
    return kind(tuple(tree for tree, _ in parts)), depth


def _deeper(depth: int, token: Token) -> int:
    if depth >= MAX_DEPTH:
        raise Refused(
            "expression.too_deep",
            f"the filter is nested deeper than {MAX_DEPTH:,} levels; leave out double negations and parentheses around "
            "an and inside an and, or an or inside an or",
            place_of(token),
        )
    return depth + 1
