"""What the importers share: checks of foreign JSON, connectives of one argument, globs."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Final

from schemas.check_parts import check_number, check_weight
from schemas.errors import Refused
from schemas.expression import And, Expression, Or
from schemas.limits import shown
from schemas.values import Value

MAX_DEPTH: Final = 100
"""Levels of a foreign filter; the importers recurse."""


def unsupported(message: str, path: str) -> Refused:
    """Return the refusal of something that has no counterpart here, or has the wrong form."""
    return Refused("import.unsupported", message, path)


def members(found: Any, path: str) -> dict[str, Any]:
    """Return an object's members; what is no object is refused."""
    if not isinstance(found, dict):
        raise unsupported(f"an object was expected, but {shown(found)} was found", path)
    return found


def only(found: dict[str, Any], known: Collection[str], path: str) -> None:
    """Refuse a member that is not known here, since leaving it out could widen a match."""
    for name in found:
        if name not in known:
            cure = f"known are {', '.join(known)}" if known else "leave it out"
            raise unsupported(f"there is no {name!r:.40} here; {cure}", path)


def scalar(found: Any, path: str) -> Value:
    """Return a value that an attribute may have; what is none is refused, as is a number that no attribute holds."""
    if not isinstance(found, str | bool | int | float):
        raise unsupported(f"a string, a number, true or false was expected, but {shown(found)} was found", path)
    if not isinstance(found, str):
        check_number(found, path)
    return found


def text(found: Any, path: str) -> str:
    """Return a string; what is none is refused."""
    if not isinstance(found, str):
        raise unsupported(f"a string was expected, but {shown(found)} was found", path)
    return found


def below(depth: int, path: str) -> int:
    """Return the next level; one too deep is refused."""
    if depth >= MAX_DEPTH:
        raise Refused("expression.too_deep", f"the filter is nested deeper than {MAX_DEPTH} levels; flatten it", path)
    return depth + 1


def joined(connective: type[And | Or], args: Sequence[Expression]) -> Expression:
    """Return the arguments under a connective; one alone needs none."""
    return args[0] if len(args) == 1 else connective(tuple(args))


def number(found: Any, path: str) -> int | float:
    """Return a number that an attribute may have; what is none is refused."""
    given = _any_number(found, path)
    check_number(given, path)
    return given


def weight(found: Any, path: str) -> float:
    """Return a weight; what is none is refused."""
    given = _any_number(found, path)
    check_weight(given, path)
    return float(given)


def _any_number(found: Any, path: str) -> int | float:
    if isinstance(found, int | float) and not isinstance(found, bool):
        return found
    raise unsupported(f"a number was expected, but {shown(found)} was found", path)


def flag(options: dict[str, Any], name: str, path: str) -> bool:
    """Return an option that is true or false, and false when it is left out; what is neither is refused."""
    found = options.get(name, False)
    if not isinstance(found, bool):
        raise unsupported(f"{name} is true or false, but {shown(found)} was found", path)
    return found


def escaped(pattern: str, signs: str) -> str:
    """Return a pattern with a backslash before signs that mean something in a glob only."""
    return re.sub(rf"(\\.)|[{re.escape(signs)}]", lambda found: found[1] or f"\\{found[0]}", pattern, flags=re.DOTALL)
