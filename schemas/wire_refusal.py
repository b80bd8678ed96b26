"""Why a subscription does not have the form of the public contract: the first thing wrong, as a code, sentence, path.

The typed decoder is quick but only says what it wanted. When it fails, the plain record is walked here to find out
what a person would call the mistake: an operator that is unknown, a misspelt member.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, get_args

import msgspec

from schemas.errors import Refused
from schemas.expression import Derive, Expression
from schemas.json_syntax import SUCH_AS
from schemas.limits import shown
from schemas.wire_subscription import Members

MEMBERS = (*Members.__struct_fields__, "expression")
"""The members of a subscription."""

NODE_MEMBERS: dict[str, tuple[str, ...]] = {
    node.__struct_config__.tag: node.__struct_fields__ for node in get_args(Expression)
}
"""The operators and the members of each, ``op`` aside."""

DERIVE_MEMBERS = Derive.__struct_encode_fields__
"""The members of a derived attribute."""

_OPERATORS_BY_MEANING = {
    "in": "eq equal equals = == contains_any",
    "not_in": "ne neq nin notin not_equal not_equals != <>",
    "range": "gt gte ge lt lte le between > >= < <=",
    "matches": "regex regexp rlike",
    "glob": "like wildcard pattern",
    "starts_with": "prefix begins_with",
    "ends_with": "suffix",
    "not_exists": "missing isnull is_null",
    "within": "subset",
    "contains_all": "superset",
    "keywords": "has text",
    "cidr": "ip",
    "and": "all",
    "or": "any",
    "not": "none",
    "": "nor nand xor xnor",
}
_MEMBERS_BY_MEANING = {
    "ge": "gte min from since",
    "le": "lte max to until",
    "attribute": "name field key path",
}


def _meanings(words_by_meaning: dict[str, str]) -> dict[str, str]:
    return {word: meaning for meaning, words in words_by_meaning.items() for word in words.split()}


OTHER_OPERATORS = _meanings(_OPERATORS_BY_MEANING)
"""Operators of other languages, which may look like others here, and what they are here, "" for nothing."""

OTHER_MEMBERS = _meanings(_MEMBERS_BY_MEANING)
"""The same for members."""

_NODE = (
    """, as in {"op": "in", "attribute": "origin", "values": ["JFK"]}; a query of Elasticsearch, or a policy of """
    "EventBridge or SNS, is made such a tree by the functions of schemas.imports"
)
"""What a node without an operator may be."""

_PLACE = re.compile(r" - at `(.*)`$")


def members_refusal(error: msgspec.ValidationError, record: Any) -> Refused:
    """Return why a plain record is no subscription.

    Parameters
    ----------
    error
        What the typed decoder said about the record.
    record
        The same record as plain Python values.
    """
    if not isinstance(record, dict):
        return Refused(
            "subscription.type", f"a subscription is an object{SUCH_AS['subscription']}; {str(error).lower()}", "$"
        )
    for name in record:
        if name not in MEMBERS:
            return _unknown_member(name, "a subscription", MEMBERS, f"$.{name:.40}")
    labels = record.get("labels")
    if isinstance(labels, dict):
        for name, label in labels.items():
            if not isinstance(label, str):
                return Refused(
                    "subscription.type",
                    f"the label {name!r:.40} is {shown(label)}; labels are strings, so put it in double quotes or "
                    "leave it out",
                    f"$.labels.{name:.40}",
                )
    return expression_refusal(error, record.get("expression"), "$.expression", "$")


def expression_refusal(error: msgspec.ValidationError, tree: Any, path: str, root: str) -> Refused:
    """Return why a plain tree is no expression, or, when the tree is in order, what else the typed decoder found.

    Parameters
    ----------
    error
        What the typed decoder said.
    tree
        The tree as plain Python values.
    path
        The tree's path in the record.
    root
        The path in the record of what the typed decoder calls ``$``.
    """
    return first_mistake(tree, path) or type_refusal(error, root)


def first_mistake(tree: Any, path: str) -> Refused | None:
    """Return the first operator or member of a plain tree that does not exist, None when all of them do."""
    return next(_mistakes(tree, path), None)


def _mistakes(tree: Any, path: str) -> Iterator[Refused]:
    """Yield what is wrong with the nodes' operators and members, as written; wrong types are the typed decoder's."""
    stack: list[tuple[Any, str]] = [(tree, path)]
    while stack:
        node, place = stack.pop()
        if not isinstance(node, dict):
            continue
        operator = node.get("op")
        if isinstance(operator, str):
            yield from _operator_mistakes(operator, node, place)
        args = node.get("args")
        if isinstance(args, list):
            stack.extend((args[i], f"{place}.args[{i}]") for i in range(len(args) - 1, -1, -1))
        stack.append((node.get("arg"), f"{place}.arg"))


def _operator_mistakes(operator: str, node: dict[str, Any], place: str) -> Iterator[Refused]:
    if operator not in NODE_MEMBERS:
        yield Refused(
            "operator.unknown",
            f"there is no operator {operator!r:.40}; {_nearest(operator, NODE_MEMBERS, OTHER_OPERATORS)}",
            f"{place}.op",
        )
    else:
        known = ("op", *NODE_MEMBERS[operator])
        unknown = (name for name in node if name not in known)
        yield from (_unknown_member(name, f"{operator!r}", known, f"{place}.{name:.40}") for name in unknown)
        yield from _derive_mistakes(node.get("attribute"), f"{place}.attribute")


def _derive_mistakes(attribute: Any, place: str) -> Iterator[Refused]:
    """Yield the members of functions that do not exist, from the outermost function inwards."""
    while isinstance(attribute, dict):
        for name in attribute:
            if name not in DERIVE_MEMBERS:
                yield _unknown_member(name, "a derived attribute", DERIVE_MEMBERS, f"{place}.{name:.40}")
        attribute = attribute.get("of")
        place += ".of"


def _unknown_member(name: str, owner: str, known: Iterable[str], path: str) -> Refused:
    cure = _nearest(name, known, OTHER_MEMBERS)
    return Refused("subscription.unknown_member", f"{owner} has no member {name!r:.40}; {cure}", path)


def _nearest(name: str, known: Iterable[str], others: dict[str, str]) -> str:
    """Return a sentence with the known name that another or a misspelt one means, or with all of them."""
    names = list(known)
    near = get_close_matches(others.get(name.lower(), name.lower()), names, 1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(names)}"


def type_refusal(error: msgspec.ValidationError, root: str) -> Refused:
    """Return what the typed decoder said, its ``$`` being the path ``root``."""
    text = str(error)
    found = _PLACE.search(text)
    path = root if found is None else root + found[1].removeprefix("$")
    message = text if found is None else text[: found.start()]
    if message.startswith("Object missing required field"):
        example = _NODE if "`op`" in message else ""
        return Refused("subscription.missing_member", f"{message[:1].lower()}{message[1:]}; add it{example}", path)
    if "out of range" in message:
        return Refused("value.number_range", "a number is beyond the range of a double, which ends at 1.8e308", path)
    return Refused("subscription.type", f"wrong type or form: {message[:1].lower()}{message[1:]}", path)
