"""An expression tree as JSON, however deep: with a stack of its own where the quick codec would recurse too far.

The quick codec reaches some 500 levels of AND and OR; only trees that are deeper pay for the slow way.
"""

from __future__ import annotations

from typing import Any

import msgspec

from schemas.expression import And, Expression, Not, Or
from schemas.trails import ROOT, Trail, spell
from schemas.wire_refusal import first_mistake, type_refusal

Node = tuple[Any, Trail, int]
"""A node as plain values, the way to it, and how many arguments it has."""

_encode = msgspec.json.Encoder().encode


def expression_of(tree: Any, path: str) -> Expression:
    """Return the expression that a tree of plain values stands for.

    Parameters
    ----------
    tree
        Any value, as read from JSON.
    path
        The tree's path in the record.

    Raises
    ------
    Refused
        A code of `schemas.wire_refusal`.
    """
    mistake = first_mistake(tree, path)
    if mistake is not None:
        raise mistake
    results: list[Expression] = []
    for node, trail, arity in reversed(_nodes(tree)):
        cut = len(results) - arity
        args = tuple(results[cut:])
        del results[cut:]
        try:
            results.append(_joined(node, args))
        except msgspec.ValidationError as error:
            raise type_refusal(error, spell(trail, path)) from None
    return results.pop()


def _nodes(tree: Any) -> list[Node]:
    """Return the nodes, each before its arguments and the last of these first."""
    nodes: list[Node] = []
    pending: list[tuple[Any, Trail]] = [(tree, ROOT)]
    while pending:
        node, trail = pending.pop()
        args = _arguments(node)
        nodes.append((node, trail, len(args)))
        pending += [(arg, (trail, place)) for place, arg in args]
    return nodes


def _arguments(node: Any) -> list[tuple[int, Any]]:
    """Return a node's arguments with their places; none when it has not the form of a connective."""
    operator = node.get("op") if isinstance(node, dict) else None
    if operator in ("and", "or") and isinstance(node.get("args"), list):
        return list(enumerate(node["args"]))
    return [(-1, node["arg"])] if operator == "not" and "arg" in node else []


def _joined(node: Any, args: tuple[Expression, ...]) -> Expression:
    """Return a node with its arguments, which stand in the order of the tree."""
    if not args:
        found: Expression = msgspec.convert(node, Expression)
        return found
    if node["op"] == "not":
        return Not(args[0])
    return And(args) if node["op"] == "and" else Or(args)


def encode_expression(expression: Expression) -> bytes:
    """Return a tree as JSON."""
    try:
        return _encode(expression)
    except RecursionError:
        return b"".join(_pieces(expression))


def _pieces(expression: Expression) -> list[bytes]:
    """Return the text of a tree in pieces, what follows a node waiting below it on the stack."""
    pieces: list[bytes] = []
    pending: list[Expression | bytes] = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, bytes):
            pieces.append(node)
        elif isinstance(node, Not):
            pieces.append(b'{"op":"not","arg":')
            pending += (b"}", node.arg)
        elif isinstance(node, And | Or) and node.args:
            pieces.append(b'{"op":"and","args":[' if isinstance(node, And) else b'{"op":"or","args":[')
            pending.append(b"]}")
            for arg in reversed(node.args[1:]):
                pending += (arg, b",")
            pending.append(node.args[0])
        else:
            pieces.append(_encode(node))
    return pieces
