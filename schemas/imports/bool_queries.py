"""Boolean queries of Elasticsearch and OpenSearch as expression trees.

Known are ``bool``, ``term``, ``terms``, ``range``, ``exists``, ``prefix``, ``wildcard``, ``regexp``, ``match``,
``match_all`` and ``match_none``. A boost becomes the weight of a ``term``, ``terms`` or ``match``. Scores are those of
this system: an optional ``should`` adds the best of its branches, not all of them. Field mappings are not known here,
so ``match`` asks for whole words and ``term`` for whole values.
"""

from __future__ import annotations

import re
from typing import Any, Final

from schemas.check import check_expression
from schemas.expression import And, Exists, Expression, Not, Or
from schemas.imports.bool_leaves import LEAVES, leaf
from schemas.imports.parts import below, joined, members, only, text, unsupported
from schemas.limits import shown

CLAUSES: Final = ("must", "filter", "should", "must_not", "minimum_should_match")


def from_bool_query(query: Any) -> Expression:
    """Return the tree that a query stands for.

    Parameters
    ----------
    query
        The query as plain JSON, with or without the member ``query`` around it.

    Raises
    ------
    Refused
        ``import.unsupported`` with the path of what has no counterpart, or a code of `schemas.check`.
    """
    inside = isinstance(query, dict) and query.keys() == {"query"}
    expression = _query(query["query"] if inside else query, "$.query" if inside else "$", 0)
    check_expression(expression)
    return expression


def _query(query: Any, path: str, depth: int) -> Expression:
    if len(members(query, path)) != 1:
        raise unsupported(f"a query is an object of one member, but {shown(query)} was found", path)
    ((name, body),) = query.items()
    path = f"{path}.{name:.40}"
    if name == "bool":
        return _bool(members(body, path), path, below(depth, path))
    if name in ("match_all", "match_none"):
        only(members(body, path), (), path)
        return And(()) if name == "match_all" else Or(())
    if name == "exists":
        only(members(body, path), ("field",), path)
        return Exists(text(body.get("field"), path))
    if name in LEAVES:
        return leaf(name, members(body, path), path)
    known = ", ".join(("bool", "exists", "match_all", "match_none", *LEAVES))
    raise unsupported(f"there is no query {name!r:.40} here; known are {known}", path)


def _bool(body: dict[str, Any], path: str, depth: int) -> Expression:
    def clauses(name: str) -> list[Expression]:
        found = body.get(name, [])
        listed = found if isinstance(found, list) else [found]
        return [_query(query, f"{path}.{name}[{i}]", depth) for i, query in enumerate(listed)]

    only(body, CLAUSES, path)
    must, only_filters, should = clauses("must"), clauses("filter"), clauses("should")
    least = _least(body, len(should), bool(must or only_filters), path)
    # What only filters does not score, as under two negations.
    args = [*must, *(Not(Not(arg)) for arg in only_filters), *map(Not, clauses("must_not"))]
    if should:
        branches = [And(()), *should] if least == 0 else should
        args.append(joined(And if least > 1 else Or, branches))
    return joined(And, args)


def _least(body: dict[str, Any], branches: int, others: bool, path: str) -> int:
    """Return how many branches of ``should`` must hold: where nothing else must, one at least, also when 0 is written.

    An empty ``must`` or ``filter`` is nothing that must hold.
    """
    wanted = body.get("minimum_should_match", 0)
    if isinstance(wanted, str) and re.fullmatch("[0-9]{1,9}", wanted):  # as Elasticsearch takes it
        wanted = int(wanted)
    if type(wanted) is not int or wanted not in (0, min(1, branches), branches):
        raise unsupported(
            f"minimum_should_match is 0, 1 or the number of branches, and no more than there are; here are {branches}, "
            f"but {shown(wanted)} was found",
            path,
        )
    return wanted if others else max(wanted, 1)
