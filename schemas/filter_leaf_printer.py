"""One predicate as text: the attribute or what is derived from it, the operator, the values, the weights."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from schemas.expression import (
    Attribute,
    Cidr,
    Contains,
    ContainsAll,
    Derive,
    EndsWith,
    EqualsSet,
    Exists,
    Glob,
    In,
    Keywords,
    Leaf,
    Matches,
    NotExists,
    NotIn,
    Range,
    StartsWith,
    Version,
    Within,
)
from schemas.filter_functions import SIGNS
from schemas.values import Value

_BARE = re.compile(
    r"(?!(?:all|and|any|between|exists|false|in|is|not|null|or|strong|true)\Z)[^\W\d]\w*(?:\.\w+)*", re.IGNORECASE
)
"""Names that need no quotes, as the grammar has them."""

_SETS: Final[Mapping[type[Leaf], str]] = {ContainsAll: "contains all", Within: "within", EqualsSet: "equals"}
_TEXTS: Final[Mapping[type[Leaf], str]] = {StartsWith: "starts with", EndsWith: "ends with", Contains: "contains"}


def format_leaf(leaf: Leaf) -> str:
    """Return the text of an allowed leaf."""
    weight: float | None = getattr(leaf, "weight", None)
    return _predicate(leaf, format_attribute(leaf.attribute)) + ("" if weight is None else _weight(weight))


def format_attribute(attribute: Attribute) -> str:
    """Return a name, in quotes where it needs them, or the functions and signs around one."""
    around: list[Derive] = []
    while isinstance(attribute, Derive):
        around.append(attribute)
        attribute = attribute.of
    text = attribute if _BARE.fullmatch(attribute) else '"' + attribute.replace('"', '""') + '"'
    inner = ""
    for derived in reversed(around):
        args = list(map(format_value, derived.args))
        if derived.function in SIGNS:
            sign = SIGNS[derived.function]
            text = f"({text})" if inner in ("+", "-") and sign in ("*", "/", "%") else text
            text, inner = f"{text} {sign} {args[0]}", sign
        else:
            text, inner = f"{derived.function}({', '.join((text, *args))})", ""
    return text


def _predicate(leaf: Leaf, subject: str) -> str:
    """Return a leaf as text, without the weight that it has as a whole."""
    match leaf:
        case In(_, values, weights):
            return f"{subject} {_listed('=', 'in', values, weights)}"
        case NotIn(_, values, strong):
            return f"{subject} {'strong ' if strong else ''}{_listed('!=', 'not in', values)}"
        case Range():
            return _bounded(subject, leaf, "time " if leaf.type == "time" else "")
        case Version(_, eq) if eq is not None:
            return f"{subject} version = {format_value(eq)}"
        case Version():
            return _bounded(f"{subject} version", leaf, "")
        case Exists():
            return f"{subject} exists"
        case NotExists():
            return f"{subject} not exists"
        case ContainsAll() | Within() | EqualsSet():
            return f"{subject} {_SETS[type(leaf)]} {_in_parentheses(leaf.values)}"
        case Matches():
            return f"{subject} matches {format_value(leaf.pattern)}"
        case StartsWith() | EndsWith() | Contains():
            return f"{subject} {_TEXTS[type(leaf)]} {format_value(leaf.text)}{_case(leaf.ignore_case)}"
        case Glob():
            return f"{subject} glob {format_value(leaf.pattern)}{_case(leaf.ignore_case)}"
        case Cidr(_, networks):
            return f"{subject} in cidr {format_value(networks[0]) if len(networks) == 1 else _in_parentheses(networks)}"
        case Keywords():
            quantifier, words = ("any", leaf.any or ()) if leaf.all is None else ("all", leaf.all)
            return f"{subject} has {quantifier} {_in_parentheses(words, leaf.weights)}"


def _listed(one: str, several: str, values: Sequence[Value], weights: Sequence[float] | None = None) -> str:
    """Return a comparison with a value, or with a list of them."""
    listed = _in_parentheses(values, weights)
    return f"{one} {listed[1:-1]}" if len(values) == 1 else f"{several} {listed}"


def _in_parentheses(values: Sequence[Value], weights: Sequence[float] | None = None) -> str:
    texts = map(format_value, values)
    if weights is not None:
        texts = map(str.__add__, texts, map(_weight, weights))
    return f"({', '.join(texts)})"


def _bounded(subject: str, leaf: Range | Version, kind: str) -> str:
    """Return a range; ``kind`` stands before each of its bounds."""
    lower, lower_sign = (leaf.gt, "<") if leaf.gt is not None else (leaf.ge, "<=")
    upper, upper_sign = (leaf.lt, "<") if leaf.lt is not None else (leaf.le, "<=")
    if lower is None:
        assert upper is not None
        return f"{subject} {upper_sign} {kind}{format_value(upper)}"
    if upper is None:
        return f"{subject} {lower_sign.replace('<', '>')} {kind}{format_value(lower)}"
    if lower_sign == upper_sign == "<=":
        return f"{subject} between {kind}{format_value(lower)} and {kind}{format_value(upper)}"
    return f"{kind}{format_value(lower)} {lower_sign} {subject} {upper_sign} {kind}{format_value(upper)}"


def _case(ignored: bool) -> str:
    return " ignore case" if ignored else ""


def _weight(weight: float) -> str:
    return f"^{repr(float(weight)).removesuffix('.0')}"


def format_value(value: Value) -> str:
    """Return a value as a filter text writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
