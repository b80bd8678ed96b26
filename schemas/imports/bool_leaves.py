"""Queries of Elasticsearch about one field as leaves."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from schemas.expression import Expression, Glob, In, Keywords, Matches, Or, Range, StartsWith
from schemas.filter_like import literal_glob
from schemas.imports.lucene_patterns import re2_pattern
from schemas.imports.parts import escaped, flag, only, scalar, text, unsupported, weight
from schemas.instants import instant
from schemas.limits import shown
from schemas.texts import tokens
from schemas.values import Value

BOUNDS: Final = {"gt": "gt", "gte": "ge", "lt": "lt", "lte": "le"}


def leaf(name: str, body: dict[str, Any], path: str) -> Expression:
    """Return the leaf for a query of `LEAVES` about one field.

    Parameters
    ----------
    name
        The query's name.
    body
        Its field, with a value or an object of options; beside it, in ``terms``, the boost.
    path
        The body's path in the whole query.

    Raises
    ------
    Refused
        ``import.unsupported``.
    """
    fields = {field: found for field, found in body.items() if (name, field) != ("terms", "boost")}
    if len(fields) != 1:
        raise unsupported(f"{name} is about one field, but {', '.join(fields) or 'none'} was found", path)
    ((field, found),) = fields.items()
    path = f"{path}.{field:.40}"
    options = found if isinstance(found, dict) else {"query" if name == "match" else "value": found}
    if name == "terms":
        options = {"value": found, **{other: boost for other, boost in body.items() if other != field}}
    build, known = LEAVES[name]
    only(options, known, path)
    return build(field, options, path)


def _term(field: str, options: dict[str, Any], path: str) -> Expression:
    value = scalar(options.get("value"), path)
    if flag(options, "case_insensitive", path):
        if "boost" in options:
            raise unsupported("a term that ignores case has no boost here; leave one of the two out", path)
        return Glob(field, literal_glob(text(value, path)), True)
    return In(field, (value,), _weights(options, 1, path))


def _terms(field: str, options: dict[str, Any], path: str) -> Expression:
    found = options.get("value")
    if not isinstance(found, list):
        raise unsupported(f"terms takes a list of values, but {shown(found)} was found", path)
    values = tuple(scalar(value, path) for value in found)
    return In(field, values, _weights(options, len(values), path)) if values else Or(())


def _range(field: str, options: dict[str, Any], path: str) -> Expression:
    """Strings that are all times or dates are compared as such."""
    bounds = {BOUNDS[name]: scalar(bound, path) for name, bound in options.items() if bound is not None}
    if any(isinstance(bound, str) and re.match(r"now|.*\|\|", bound) for bound in bounds.values()):
        raise unsupported("times that depend on the present are not known here; write them out", path)
    times = {name: _time(bound, name in ("gt", "le")) for name, bound in bounds.items()}
    timed = None not in times.values()
    given: Any = times if timed else bounds
    return Range(field, **given, type="time" if timed else None)


def _time(bound: Value, end: bool) -> str | None:
    """Return a time with its zone, UTC when it has none; a date alone is its first or its last microsecond."""
    if not isinstance(bound, str):
        return None
    if end and instant(f"{bound}T00:00:00Z") is not None:
        return f"{bound}T23:59:59.999999Z"
    return next((written for written in (bound, f"{bound}Z") if instant(written) is not None), None)


def _prefix(field: str, options: dict[str, Any], path: str) -> Expression:
    return StartsWith(field, text(options.get("value"), path), flag(options, "case_insensitive", path))


def _wildcard(field: str, options: dict[str, Any], path: str) -> Expression:
    if {"value", "wildcard"} <= options.keys():
        raise unsupported("value and wildcard are two names of the pattern; keep one", path)
    pattern = text(options.get("value", options.get("wildcard")), path)
    return Glob(field, escaped(pattern, "["), flag(options, "case_insensitive", path))


def _regexp(field: str, options: dict[str, Any], path: str) -> Expression:
    pattern = re2_pattern(text(options.get("value"), path), path)
    return Matches(field, ("(?i)" if flag(options, "case_insensitive", path) else "") + f"(?s:{pattern})")


def _match(field: str, options: dict[str, Any], path: str) -> Expression:
    words = tokens(text(options.get("query"), path))
    weights = _weights(options, len(words), path)
    operator = text(options.get("operator", "or"), path).lower()
    if operator not in ("and", "or"):
        raise unsupported(f"the operator of match is and or or, but {shown(operator)} was found", path)
    if not words:
        return Or(())
    every = operator == "and"
    return Keywords(field, words if every else None, None if every else words, weights)


def _weights(options: dict[str, Any], count: int, path: str) -> tuple[float, ...] | None:
    return (weight(options["boost"], path),) * count if "boost" in options else None


LEAVES: Final[dict[str, tuple[Callable[[str, dict[str, Any], str], Expression], tuple[str, ...]]]] = {
    "term": (_term, ("value", "case_insensitive", "boost")),
    "terms": (_terms, ("value", "boost")),
    "range": (_range, tuple(BOUNDS)),
    "prefix": (_prefix, ("value", "case_insensitive")),
    "wildcard": (_wildcard, ("value", "wildcard", "case_insensitive")),
    "regexp": (_regexp, ("value", "case_insensitive")),
    "match": (_match, ("query", "operator", "boost")),
}
"""How the queries about one field become leaves, and which options each may have."""
