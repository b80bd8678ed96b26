"""The matchers of event patterns, such as ``{"prefix": "JF"}``, as leaves."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from schemas.expression import (
    And,
    Cidr,
    EndsWith,
    Exists,
    Expression,
    Glob,
    In,
    Not,
    NotExists,
    NotIn,
    Range,
    StartsWith,
)
from schemas.filter_like import literal_glob
from schemas.imports.parts import escaped, members, number, only, scalar, text, unsupported
from schemas.limits import shown

SIGNS: Final = {">": "gt", ">=": "ge", "<": "lt", "<=": "le"}


def matcher(attribute: str, written: Any, path: str) -> Expression:
    """Return what an object such as ``{"prefix": "JF"}`` asks of an attribute.

    Raises
    ------
    Refused
        ``import.unsupported``.
    """
    if len(members(written, path)) != 1:
        raise unsupported(f"a matcher is an object of one member, but {shown(written)} was found", path)
    ((name, operand),) = written.items()
    if name not in MATCHERS:
        raise unsupported(f"there is no matcher {name!r:.40} here; known are {', '.join(MATCHERS)}", path)
    return MATCHERS[name](attribute, operand, f"{path}.{name}")


def _exists(attribute: str, operand: Any, path: str) -> Expression:
    if not isinstance(operand, bool):
        raise unsupported(f"exists takes true or false, not {shown(operand)}", path)
    return Exists(attribute) if operand else NotExists(attribute)


def _cidr(attribute: str, operand: Any, path: str) -> Expression:
    return Cidr(attribute, (text(operand, path),))


def _prefix(attribute: str, operand: Any, path: str) -> Expression:
    return StartsWith(attribute, *_cased(operand, path))


def _suffix(attribute: str, operand: Any, path: str) -> Expression:
    return EndsWith(attribute, *_cased(operand, path))


def _cased(operand: Any, path: str) -> tuple[str, bool]:
    """Return a text and whether its case is ignored."""
    if isinstance(operand, dict):
        only(operand, ("equals-ignore-case",), path)
        return text(operand.get("equals-ignore-case"), path), True
    return text(operand, path), False


def _same_but_for_case(attribute: str, operand: Any, path: str) -> Expression:
    return Glob(attribute, literal_glob(text(operand, path)), True)


def _wildcard(attribute: str, operand: Any, path: str) -> Expression:
    """A star is any text there too, and a backslash stands before a star or a backslash only."""
    pattern = text(operand, path)
    if not re.fullmatch(r"(?:[^\\]|\\[*\\])*+", pattern):
        raise unsupported("a backslash stands before * or another backslash only; write it twice", path)
    return Glob(attribute, escaped(pattern, "?["))


def _numeric(attribute: str, operand: Any, path: str) -> Expression:
    if not isinstance(operand, list) or len(operand) not in (2, 4):
        raise unsupported(f'numeric takes one sign and number or two, as in [">", 0], not {shown(operand)}', path)
    bounds: dict[str, Any] = {}
    for sign, bound in zip(operand[::2], operand[1::2], strict=True):
        if sign == "=" and len(operand) == 2:
            return In(attribute, (number(bound, path),))
        if text(sign, path) not in SIGNS or SIGNS[sign] in bounds:
            raise unsupported(f"{sign!r:.20} is no sign here, or the second of two", path)
        bounds[SIGNS[sign]] = number(bound, path)
    return Range(attribute, **bounds)


def _anything_but(attribute: str, operand: Any, path: str) -> Expression:
    """The attribute is present, and no value of it is excluded, whether by itself, its beginning, or its form."""
    if not isinstance(operand, dict):
        excluded = operand if isinstance(operand, list) else [operand]
        return NotIn(attribute, tuple(scalar(one, path) for one in excluded), strong=True)
    only(operand, ("prefix", "suffix", "wildcard", "equals-ignore-case"), path)
    each = [(name, found if isinstance(found, list) else [found]) for name, found in operand.items()]
    if not each or not all(listed for _, listed in each):
        raise unsupported("anything-but is empty, or a list in it; say but what", path)
    unwanted = [matcher(attribute, {name: one}, path) for name, listed in each for one in listed]
    return And((Exists(attribute), *map(Not, unwanted)))


MATCHERS: Final[dict[str, Callable[[str, Any, str], Expression]]] = {
    "prefix": _prefix,
    "suffix": _suffix,
    "equals-ignore-case": _same_but_for_case,
    "wildcard": _wildcard,
    "anything-but": _anything_but,
    "numeric": _numeric,
    "exists": _exists,
    "cidr": _cidr,
}
