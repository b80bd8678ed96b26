"""Event patterns of Amazon EventBridge and filter policies of Amazon SNS as expression trees.

Both are objects: nested members become dotted attributes, all of which must hold, and a list holds what an attribute
may be, any of which is enough; ``$or`` lists patterns. One rule differs: there null is a value, here it is absent.
``anything-but`` wants the attribute to be present and no value of it to be among the excluded ones, whatever form they
have. That is what SNS documents for arrays; where a service takes one other value to be enough, it matches more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.check import check_expression
from schemas.expression import And, Expression, In, NotExists, Or
from schemas.imports.event_matchers import matcher
from schemas.imports.parts import below, joined, members, scalar, unsupported
from schemas.limits import shown


def from_event_pattern(pattern: Any) -> Expression:
    """Return the tree that an event pattern or a filter policy stands for.

    Parameters
    ----------
    pattern
        The pattern as plain JSON.

    Raises
    ------
    Refused
        ``import.unsupported`` with the path of what has no counterpart, or a code of `schemas.check`.
    """
    expression = _pattern(pattern, "", "$", 0)
    check_expression(expression)
    return expression


def _pattern(pattern: Any, prefix: str, path: str, depth: int) -> Expression:
    depth = below(depth, path)
    if pattern == {}:
        raise unsupported("the pattern is empty; name at least one attribute", path)
    args: list[Expression] = []
    for name, found in members(pattern, path).items():
        place = f"{path}.{name:.40}"
        if found == []:
            raise unsupported("the list is empty; list at least one value, or leave it out", place)
        if name == "$or" and isinstance(found, list):
            branches = [_pattern(branch, prefix, f"{place}[{i}]", depth) for i, branch in enumerate(found)]
            args.append(joined(Or, branches))
        elif name.startswith("$") and not prefix:
            raise unsupported(f"no event has a member {name!r:.40}; known is $or, with a list of patterns", place)
        elif isinstance(found, list):
            args.append(joined(Or, list(_alternatives(prefix + name, found, place))))
        elif not isinstance(found, dict):
            raise unsupported(f"what an attribute may be stands in a list, but {shown(found)} stands alone", place)
        else:
            args.append(_pattern(found, f"{prefix}{name}.", place, depth))
    return joined(And, args)


def _alternatives(attribute: str, found: list[Any], path: str) -> Iterator[Expression]:
    """Yield what an attribute may be: the plain values in one list, then null and the matchers as written."""
    plain = [(place, value) for place, value in enumerate(found) if isinstance(value, str | bool | int | float)]
    values = tuple(scalar(value, f"{path}[{place}]") for place, value in plain)
    if values:
        yield In(attribute, values)
    for place, written in enumerate(found):
        if written is None:
            yield NotExists(attribute)
        elif not isinstance(written, str | bool | int | float):
            yield matcher(attribute, written, f"{path}[{place}]")
