"""What stands in a filter text for an attribute and for a value: names, functions and arithmetic, literals.

Parts stay tokens until their predicate is complete, so that a refusal can point at the one that is wrong.
"""

# ruff: noqa: D102 - what the rules' methods stand for is written in the grammar, beside their names

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from lark import Token

from schemas.check_parts import MAX_DERIVE_DEPTH
from schemas.derived import PUBLIC_FUNCTIONS
from schemas.errors import Refused
from schemas.expression import Attribute, Derive
from schemas.filter_functions import SIGN_FUNCTIONS, SYNONYMS, UNITS, WITHOUT_COUNTERPART
from schemas.filter_words import OTHER_WORDS, PHRASES, example_of, note_on
from schemas.instants import instant
from schemas.values import INT64_MAX, INT64_MIN, Number, Value

OPERATORS: Final = {word.replace("_", ""): meant for word, meant in OTHER_WORDS.items()} | {
    phrase.replace(" ", ""): phrase for phrase in PHRASES
}
"""Operators that may be taken for functions, by their names without blanks, here and in other languages."""

SUGGEST_FROM: Final = 0.65
"""How alike a word and a known one must be for a proposal: "inn" and "in" are, "an" and "in" are not."""


class Step(NamedTuple):
    """One function around an attribute: the token that names it and those of its arguments."""

    name: Token
    args: tuple[Token, ...]


class Operand(NamedTuple):
    """An attribute or what is derived from one, with its tokens; the outermost function comes first in ``steps``."""

    attribute: Attribute
    name: Token
    steps: tuple[Step, ...] = ()

    @property
    def token(self) -> Token:
        """The token that a refusal of the whole points at."""
        return self.steps[0].name if self.steps else self.name

    def within(self, function: str, step: Step) -> Operand:
        """Return what a function makes of this; refused here is only what could go on without end."""
        if len(self.steps) == MAX_DERIVE_DEPTH:
            raise Refused(
                "derive.too_deep",
                f"more than {MAX_DERIVE_DEPTH} functions or signs are applied one to another; apply fewer",
                place_of(step.name),
            )
        derived = Derive(function, self.attribute, tuple(map(value_of, step.args)))
        return Operand(derived, self.name, (step, *self.steps))

    def place(self, path: str) -> Token:
        """Return the token that a path means: the name's such as ``.of.of``, or arguments' such as ``.of.args``."""
        level = path.count(".of")
        if level == len(self.steps):
            return self.name
        name, args = self.steps[level]
        return args[0] if args else name


class Instant(NamedTuple):
    """The literal ``time '…'``."""

    kind: Token
    text: Token

    @property
    def value(self) -> str:
        """The text that a range of times has as its bound; a time without a zone is meant in UTC, as a date is."""
        text = text_of(self.text)
        return text if instant(f"{text}Z") is None else f"{text}Z"


class OperandRules:
    """The grammar's rules for operands; each method takes the parts of the text that the grammar keeps."""

    def attribute(self, parts: list[Token]) -> Operand:
        return Operand(name_of(parts[0]), parts[0])

    def callee(self, parts: list[Token]) -> Token:
        refused = unknown_function(parts[0])
        if refused is not None:
            raise refused
        return parts[0]

    def called(self, parts: list[Any]) -> Operand:
        name: Token = parts[0]
        operand: Operand = parts[1]
        if name.lower() == "extract":
            raise Refused("filter.syntax", "extract is written like extract(year from created)", place_of(name))
        function = SYNONYMS.get(name.lower(), name.lower())
        return operand.within(function, Step(name, tuple(parts[2:])))

    def extracted(self, parts: list[Any]) -> Operand:
        name: Token = parts[0]
        unit: Operand = parts[1]
        operand: Operand = parts[2]
        if name.lower() != "extract":
            raise Refused(
                "filter.syntax",
                "from stands in substring(name from 1 for 3) and in extract(year from created)",
                place_of(name),
            )
        if unit.steps or unit.name.lower() not in UNITS:
            near = get_close_matches(unit.name.lower(), UNITS, 1, SUGGEST_FROM)
            cure = f'did you mean "{near[0]}"?' if near else f"known are {', '.join(UNITS)}"
            raise Refused("filter.syntax", f'extract knows no "{unit.token:.40}"; {cure}', place_of(unit.token))
        return operand.within(unit.name.lower(), Step(name, ()))

    def calculated(self, parts: list[Any]) -> Operand:
        operand: Operand = parts[0]
        sign: Token = parts[1]
        return operand.within(SIGN_FUNCTIONS[sign.lower()], Step(sign, (parts[2],)))

    def calculated_reversed(self, parts: list[Any]) -> Operand:
        number: Token = parts[0]
        sign: Token = parts[1]
        operand: Operand = parts[2]
        if sign == "-":
            operand = operand.within("multiply", Step(sign, (sign.update(value="-1"),)))
            sign = sign.update(value="+")
        return operand.within(SIGN_FUNCTIONS[sign], Step(sign, (number,)))

    def instant(self, parts: list[Token]) -> Instant:
        return Instant(parts[0], parts[1])


def unknown_function(name: Token) -> Refused | None:
    """Return why a token names no function, None when it names one."""
    names = [*PUBLIC_FUNCTIONS, *SYNONYMS, "extract"]
    if name.lower() in names:
        return None
    operator = OPERATORS.get(name.lower().rpartition(".")[2].replace("_", ""))  # some languages have name.contains('x')
    near = get_close_matches(name.lower(), [*names, "all", "any", "not"], 1, SUGGEST_FROM)
    if name.lower() in WITHOUT_COUNTERPART:
        cure = WITHOUT_COUNTERPART[name.lower()]
    elif operator is not None:
        cure = f'the operator "{operator}" stands after the attribute, as in {example_of(operator)}{note_on(operator)}'
    else:
        cure = f'did you mean "{near[0]}"?' if near else f"known are {', '.join(PUBLIC_FUNCTIONS)}"
    return Refused("derive.function", f'there is no function "{name:.40}"; {cure}', place_of(name))


def place_of(token: Token) -> str:
    """Return a token's place as the path of a refusal; lines and columns count from 1."""
    return f"line {token.line}, column {token.column}"


def name_of(token: Token) -> str:
    """Return the name that a token writes, with quotes or without."""
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote) if quote in '"`' else str(token)


def value_of(token: Token) -> Value:
    """Return the value that a token writes."""
    if token[0] == "'":
        return token[1:-1].replace("''", "'")
    if token[0].isalpha():
        return token.lower() == "true"
    return _number(token)


def text_of(token: Token) -> str:
    """Return the text that a string writes."""
    return str(value_of(token))


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
