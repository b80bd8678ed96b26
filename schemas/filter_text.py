"""The text form of a filter, read into an expression tree; its grammar is ``filter.lark``.

While the parser runs, a finished part of the text is a pair: its tree and the tree's depth. Values stay tokens until
their predicate is complete, so that a refusal can point at the one that is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, Final, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput

from schemas.check import check_expression
from schemas.errors import Refused
from schemas.expression import And, Exists, Expression, In, Leaf, Not, NotExists, NotIn, Or, Range
from schemas.filter_printer import MAX_DEPTH, TEXT_LIMITS, format_filter
from schemas.filter_refusal import place_of, syntax_refusal
from schemas.values import INT64_MAX, INT64_MIN, Number, Value

__all__ = ["format_filter", "parse_filter"]

Built = tuple[Expression, int]
"""A tree and its depth; a predicate alone has depth 1."""

Item = Token | tuple[Token, Token]
"""A value of a list, or a value and its weight."""

BOUND: Final = {">": "gt", ">=": "ge", "<": "lt", "<=": "le"}
BOUND_REVERSED: Final = {"<": "gt", "<=": "ge", ">": "lt", ">=": "le"}

MESSAGES: Final = {
    "range.inverted": "no value lies between these bounds; exchange them, or write the one value with =",
    "range.type": "bounds are two numbers or two strings; ask for a boolean with =",
}
"""What is said here instead of a sentence of `schemas.check` that uses the names of a tree's members."""

_INDEX = re.compile(r"\[(\d+)\]$")


def parse_filter(text: str) -> Expression:
    """Return the tree that a filter text stands for.

    Everything of a single predicate is checked here, because only here its line and column are known; the limits of a
    subscription are `schemas.check`'s.

    Parameters
    ----------
    text
        The filter. Any text may be given; the parser keeps its own stack, so no nesting is too deep for it.

    Raises
    ------
    Refused
        With a path such as ``line 1, column 12`` and one of the codes ``filter.empty``, ``filter.syntax``,
        ``operator.unknown``, ``operator.unsupported``, ``expression.too_deep``, ``attribute.name``,
        ``value.empty_list``, ``value.integer_range``, ``value.number_range``, ``range.inverted``, ``range.type``,
        ``weights.position``, ``weights.conflict`` or ``weights.range``.
    """
    parser = _parser()
    try:
        tree, _ = cast(Built, parser.parse(text))
    except UnexpectedInput:
        raise syntax_refusal(parser, text) from None
    return tree


@cache
def _parser() -> Lark:
    """Return the parser; building it costs as much as parsing several hundred filters, so a process does it once."""
    grammar = resources.files("schemas").joinpath("filter.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=_Builder(), maybe_placeholders=False)


class _Builder(Transformer[Token, Built]):
    """One method an alternative of the grammar; each takes the parts of the text that the grammar keeps."""

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
        return And(()) if _value(parts[0]) else Or(()), 1

    def listed(self, parts: list[Any]) -> Built:
        return _listed(parts[0], parts[1:], None)

    def listed_reversed(self, parts: list[Any]) -> Built:
        return _listed(parts[1], parts[:1], None)

    def listed_with_weight(self, parts: list[Any]) -> Built:
        return _listed(parts[0], parts[1:-1], parts[-1])

    def weighted(self, parts: list[Token]) -> Item:
        return parts[0], parts[1]

    def excluded(self, parts: list[Token]) -> Built:
        return _excluded(parts[0], parts[1:], False)

    def excluded_reversed(self, parts: list[Token]) -> Built:
        return _excluded(parts[1], parts[:1], False)

    def excluded_strongly(self, parts: list[Token]) -> Built:
        return _excluded(parts[0], parts[1:], True)

    def not_listed(self, parts: list[Token]) -> Built:
        return _excluded(parts[0], parts[2:], False)

    def not_listed_strongly(self, parts: list[Token]) -> Built:
        return _excluded(parts[0], parts[2:], True)

    def compared(self, parts: list[Token]) -> Built:
        name, operator, value = parts
        return _range(name, {BOUND[operator]: value})

    def compared_reversed(self, parts: list[Token]) -> Built:
        value, operator, name = parts
        return _range(name, {BOUND_REVERSED[operator]: value})

    def compared_twice(self, parts: list[Token]) -> Built:
        first, left, name, right, second = parts
        if left[0] != right[0]:
            raise Refused(
                "filter.syntax",
                f'a chained comparison goes one way, but here "{left}" is followed by "{right}"; '
                "write it like 60 < delay <= 120, or as two comparisons joined by and",
                place_of(right),
            )
        return _range(name, {BOUND_REVERSED[left]: first, BOUND[right]: second})

    def between(self, parts: list[Token]) -> Built:
        return _range(parts[0], {"ge": parts[1], "le": parts[3]})

    def not_between(self, parts: list[Token]) -> Built:
        leaf, depth = _range(parts[0], {"ge": parts[2], "le": parts[4]})
        return Not(leaf), _deeper(depth, parts[1])

    def present(self, parts: list[Token]) -> Built:
        return _checked(Exists(_name(parts[0])), parts[0], ())

    def absent(self, parts: list[Token]) -> Built:
        return _checked(NotExists(_name(parts[0])), parts[0], ())


def _joined(kind: type[And | Or], parts: Sequence[Built], token: Token) -> Built:
    depth = _deeper(max(depth for _, depth in parts), token)
    return kind(tuple(tree for tree, _ in parts)), depth


def _deeper(depth: int, token: Token) -> int:
    if depth >= MAX_DEPTH:
        raise Refused(
            "expression.too_deep",
            f"the filter is nested deeper than {MAX_DEPTH} levels; leave out double negations and parentheses around "
            "an and inside an and, or an or inside an or",
            place_of(token),
        )
    return depth + 1


def _listed(name: Token, items: Sequence[Item], rest: Token | None) -> Built:
    """Build a membership; ``rest`` is the weight of the values that have none of their own."""
    tokens = [item[0] if isinstance(item, tuple) else item for item in items]
    weights: tuple[float, ...] | None = None
    if rest is not None or any(isinstance(item, tuple) for item in items):
        default = 1.0 if rest is None else float(rest)
        weights = tuple(float(item[1]) if isinstance(item, tuple) else default for item in items)
    return _checked(In(_name(name), tuple(map(_value, tokens)), weights), name, tokens)


def _excluded(name: Token, tokens: Sequence[Token], strong: bool) -> Built:
    return _checked(NotIn(_name(name), tuple(map(_value, tokens)), strong), name, tokens)


def _range(name: Token, bounds: dict[str, Token]) -> Built:
    values: dict[str, Any] = {bound: _value(token) for bound, token in bounds.items()}
    return _checked(Range(_name(name), **values), name, bounds)


def _checked(leaf: Leaf, name: Token, operands: Sequence[Token] | dict[str, Token]) -> Built:
    """Return a leaf that is allowed; the refusal of another points at the operand that the check's path names."""
    try:
        check_expression(leaf, TEXT_LIMITS, "")
    except Refused as refused:
        index = _INDEX.search(refused.path)
        if isinstance(operands, dict):
            token = operands.get(refused.path.removeprefix("."), name)
        else:
            token = operands[int(index[1])] if index else name
        raise Refused(refused.code, MESSAGES.get(refused.code, refused.message), place_of(token)) from None
    return leaf, 1


def _name(token: Token) -> str:
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote) if quote in '"`' else str(token)


def _value(token: Token) -> Value:
    if token.type == "STRING":
        return token[1:-1].replace("''", "'")
    if token.type == "NUMBER":
        return _number(token)
    return token.lower() == "true"


def _number(token: Token) -> Number:
    if any(mark in token for mark in ".eE"):
        number = float(token)
        if math.isinf(number):
            raise Refused(
                "value.number_range",
                f"the number {token:.40} is beyond the range of a double, which ends at 1.8e308; write a smaller one",
                place_of(token),
            )
        return number
    digits = token.lstrip("+-0") or "0"
    integer = int(digits) if len(digits) <= 19 else INT64_MAX + 2  # int() refuses thousands of digits
    if token[0] == "-":
        integer = -integer
    if not INT64_MIN <= integer <= INT64_MAX:
        raise Refused(
            "value.integer_range",
            f"the integer {token:.40} does not fit into 64 bits; integers go from {INT64_MIN} to {INT64_MAX}, so write "
            "it as a string, or as a float with a point",
            place_of(token),
        )
    return integer
