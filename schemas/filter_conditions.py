"""The predicates of a filter text: what follows an attribute becomes a condition, and both together a checked leaf."""

# ruff: noqa: D102 - what the rules' methods stand for is written in the grammar, beside their names

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from lark import Token

from schemas.check import check_expression
from schemas.errors import Refused
from schemas.expression import (
    Cidr,
    Contains,
    ContainsAll,
    EndsWith,
    EqualsSet,
    Exists,
    Expression,
    Glob,
    In,
    Keywords,
    Leaf,
    Matches,
    Not,
    NotExists,
    NotIn,
    Range,
    StartsWith,
    Version,
    Within,
)
from schemas.filter_like import like_leaf
from schemas.filter_operands import Instant, Operand, place_of, text_of, value_of
from schemas.filter_printer import TEXT_LIMITS

Built: TypeAlias = tuple[Expression, int]
"""A tree and its depth; a predicate alone has depth 0."""

Part = TypeVar("Part")
"""What a finished part of the text becomes."""

Item: TypeAlias = Token | tuple[Token, Token]
"""A value of a list, or a value and its weight."""

Bound: TypeAlias = Token | Instant

BOUND: Final = {">": "gt", ">=": "ge", "<": "lt", "<=": "le"}
BOUND_REVERSED: Final = {"<": "gt", "<=": "ge", ">": "lt", ">=": "le"}

MESSAGES: Final = {
    "range.inverted": "no value lies between these bounds; exchange them, or write the one value with =",
    "range.type": "bounds are two numbers or two strings; ask for a boolean with =",
    "weights.position": "in the mode all only the values of =, in and has have weights; leave this one out, or set the "
    "mode relaxed or threshold",
}
"""What is said here instead of a sentence of `schemas.check` that uses the names of a tree's members."""

_PLACE = re.compile(r"\.(\w+)(?:\[(\d+)\])?")


class Condition(NamedTuple):
    """A leaf without its attribute: its kind, its members, and the tokens that a refusal of a member points at."""

    kind: type[Leaf]
    members: Mapping[str, Any] = {}
    tokens: Mapping[str, Sequence[Token]] = {}
    negated: bool = False

    def weighing(self, weight: Token) -> Condition:
        """Return the condition with a weight for the predicate as a whole."""
        members = {**self.members, "weight": float(weight)}
        return self._replace(members=members, tokens={**self.tokens, "weight": (weight,)})

    def of(self, operand: Operand) -> Built:
        """Return the leaf, when it is allowed; else the refusal points at the token that the check's path names."""
        leaf: Any = self.kind(operand.attribute, **self.members)
        try:
            check_expression(leaf, TEXT_LIMITS, "")
        except Refused as refused:
            message = MESSAGES.get(refused.code, refused.message)
            raise Refused(refused.code, message, place_of(self.place(refused.path, operand))) from None
        return (Not(leaf), 1) if self.negated else (leaf, 0)

    def place(self, path: str, operand: Operand) -> Token:
        """Return the token that a path in the leaf means."""
        found = _PLACE.match(path)
        if found is None:
            return operand.token
        if found[1] == "attribute":
            return operand.place(path.removeprefix(".attribute"))
        held = self.tokens.get(found[1])
        if held is None:
            return operand.token
        return held[int(found[2])] if found[2] else operand.token if len(held) > 1 else held[0]


class Items(NamedTuple):
    """A list of values with their weights, None when none has one; one without a weight of its own stands for it."""

    tokens: Sequence[Token]
    weights: tuple[float, ...] | None
    weighed: Sequence[Token]

    def condition(self, kind: type[Leaf], member: str = "values", negated: bool = False) -> Condition:
        """Return the condition that has these values as a member."""
        members: dict[str, Any] = {member: tuple(map(value_of, self.tokens))}
        if self.weights is not None:
            members["weights"] = self.weights
        return Condition(kind, members, {member: self.tokens, "weights": self.weighed}, negated)


class ConditionRules(Generic[Part]):
    """The grammar's rules for predicates; each method takes the parts of the text that the grammar keeps."""

    def leaf(self, operand: Operand, condition: Condition) -> Part:
        """Return what a predicate becomes."""
        raise NotImplementedError

    def tested(self, parts: list[Any]) -> Part:
        operand: Operand
        condition: Condition
        operand, condition, *weight = (*parts[0], *parts[1:]) if type(parts[0]) is tuple else parts
        return self.leaf(operand, condition.weighing(*weight) if weight else condition)

    def denied(self, parts: list[Any]) -> Part:
        operand: Operand = parts[0]
        condition: Condition = parts[2]
        return self.leaf(operand, condition._replace(negated=not condition.negated))

    def items(self, parts: list[Item]) -> Items:
        return _items(parts, None)

    def items_with_weight(self, parts: list[Any]) -> Items:
        return _items(parts[:-1], parts[-1])

    def weighted(self, parts: list[Token]) -> Item:
        return parts[0], parts[1]

    def listed(self, parts: list[Any]) -> Condition:
        items = parts[0] if isinstance(parts[0], Items) else _items(parts, None)
        return items.condition(In)

    def excluded(self, parts: list[Any]) -> Condition:
        condition = (parts[-1] if isinstance(parts[-1], Items) else _items(parts[-1:], None)).condition(NotIn)
        strong = parts[0].type == "STRONG" if isinstance(parts[0], Token) else False
        return condition._replace(members={**condition.members, "strong": strong})

    def equal_reversed(self, parts: list[Any]) -> Part:
        bound, operand = parts
        return self.leaf(operand, self.equal([bound]) if isinstance(bound, Instant) else self.listed([bound]))

    def unequal_reversed(self, parts: list[Any]) -> Part:
        bound, operand = parts
        return self.leaf(operand, self.unequal([bound]))

    def unequal(self, parts: list[Bound]) -> Condition:
        return self.equal(parts)._replace(negated=True) if isinstance(parts[0], Instant) else self.excluded(parts)

    def equal(self, parts: list[Bound]) -> Condition:
        return _range({"ge": parts[0], "le": parts[0]}, None)

    def version_equal(self, parts: list[Token]) -> Condition:
        return Condition(Version, {"eq": text_of(parts[1])}, {"eq": parts[1:]})

    def version_unequal(self, parts: list[Token]) -> Condition:
        return self.version_equal(parts)._replace(negated=True)

    def version_not_between(self, parts: list[Any]) -> Condition:
        version, _, low, _, high = parts
        return _range({"ge": low, "le": high}, version)._replace(negated=True)

    def compared(self, parts: list[Any]) -> Condition:
        *version, operator, bound = parts
        return _range({BOUND[operator]: bound}, *version[:1])

    def compared_reversed(self, parts: list[Any]) -> tuple[Operand, Condition]:
        bound, operator, operand, *version = parts
        return operand, _range({BOUND_REVERSED[operator]: bound}, *version)

    def compared_twice(self, parts: list[Any]) -> tuple[Operand, Condition]:
        first, left, operand, *version, right, second = parts
        if left[0] != right[0]:
            raise Refused(
                "filter.syntax",
                f'a chained comparison goes one way, but here "{left}" is followed by "{right}"; '
                "write it like 60 < delay <= 120, or as two comparisons joined by and",
                place_of(right),
            )
        return operand, _range({BOUND_REVERSED[left]: first, BOUND[right]: second}, *version)

    def between(self, parts: list[Any]) -> Condition:
        *version, low, _, high = parts
        return _range({"ge": low, "le": high}, *version)

    def present(self, parts: list[Token]) -> Condition:
        return Condition(Exists)

    def absent(self, parts: list[Token]) -> Condition:
        return Condition(NotExists)

    def contains_all(self, parts: list[Any]) -> Condition:
        items: Items = parts[-1]
        return items.condition(ContainsAll)

    def within(self, parts: list[Items]) -> Condition:
        return parts[0].condition(Within)

    def equals_set(self, parts: list[Items]) -> Condition:
        return parts[0].condition(EqualsSet)

    def matches(self, parts: list[Token]) -> Condition:
        return Condition(Matches, {"pattern": text_of(parts[0])}, {"pattern": parts})

    def starts_with(self, parts: list[Token]) -> Condition:
        return _textual(StartsWith, "text", parts)

    def ends_with(self, parts: list[Token]) -> Condition:
        return _textual(EndsWith, "text", parts)

    def contains(self, parts: list[Token]) -> Condition:
        return _textual(Contains, "text", parts)

    def glob(self, parts: list[Token]) -> Condition:
        return _textual(Glob, "pattern", parts)

    def like(self, parts: list[Token]) -> Condition:
        operator, pattern, *rest = parts
        escape = rest[0] if rest and rest[0].type == "STRING" else None
        try:
            kind, text = like_leaf(text_of(pattern), "\\" if escape is None else text_of(escape))
        except Refused as refused:
            place = escape if escape is not None and len(text_of(escape)) > 1 else pattern
            raise Refused(refused.code, refused.message, place_of(place)) from None
        members: dict[str, Any] = {"pattern" if kind is Glob else "text": text}
        if operator.type == "ILIKE" or (rest and rest[-1].type == "IGNORE"):
            members["ignore_case"] = True
        return Condition(kind, members, {"pattern": (pattern,), "text": (pattern,)})

    def cidr(self, parts: list[Token]) -> Condition:
        return Condition(Cidr, {"networks": tuple(map(text_of, parts))}, {"networks": parts})

    def has(self, parts: list[Any]) -> Condition:
        quantifier = parts[0].type if len(parts) > 1 else "ALL"
        items = parts[-1] if isinstance(parts[-1], Items) else _items(parts, None)
        return items.condition(Keywords, "all" if quantifier == "ALL" else "any", negated=quantifier == "NONE")


def _items(items: Sequence[Item], rest: Token | None) -> Items:
    """Return a list; ``rest`` is the weight of the values that have none of their own."""
    tokens = [item[0] if isinstance(item, tuple) else item for item in items]
    if rest is None and not any(isinstance(item, tuple) for item in items):
        return Items(tokens, None, tokens)
    default = 1.0 if rest is None else float(rest)
    weights = tuple(float(item[1]) if isinstance(item, tuple) else default for item in items)
    return Items(tokens, weights, [item[1] if isinstance(item, tuple) else rest or item for item in items])


def _textual(kind: type[Leaf], member: str, parts: Sequence[Token]) -> Condition:
    members: dict[str, Any] = {member: text_of(parts[0])}
    if len(parts) > 1:
        members["ignore_case"] = True
    return Condition(kind, members, {member: parts[:1]})


def _range(bounds: Mapping[str, Bound], version: Token | None = None) -> Condition:
    """Return the condition of bounds: plain ones, instants, or versions."""
    timed = [bound for bound in bounds.values() if isinstance(bound, Instant)]
    texts = {name: bound.text if isinstance(bound, Instant) else bound for name, bound in bounds.items()}
    tokens = {name: (token,) for name, token in texts.items()}
    if version is not None:
        for bound in bounds.values():
            if isinstance(bound, Instant) or bound.type != "STRING":
                raise _not_a_version(bound)
        return Condition(Version, {name: text_of(token) for name, token in texts.items()}, tokens)
    if timed and len(timed) < len(bounds):
        plain = next(bound for bound in bounds.values() if isinstance(bound, Token))
        raise Refused("range.type", "one bound is a time and this one is not; write time before both", place_of(plain))
    members: dict[str, Any] = {
        name: bound.value if isinstance(bound, Instant) else value_of(bound) for name, bound in bounds.items()
    }
    return Condition(Range, {**members, "type": "time"} if timed else members, tokens)


def _not_a_version(bound: Bound) -> Refused:
    token = bound.kind if isinstance(bound, Instant) else bound
    return Refused(
        "range.type", "a version is a string in single quotes, as in build version >= '1.10.2'", place_of(token)
    )
