"""An explanation as plain data for programs; nodes are a flat list, since trees may be nested deeper than JSON goes."""

from __future__ import annotations

from typing import Any

import msgspec

from index.explain.explanation import Explanation
from index.explain.outline import NEVER
from index.flat_tree import is_leaf
from index.oracle import as_score
from schemas.filter_leaf_printer import format_leaf
from schemas.values import Value


def as_plain(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as what JSON can hold; `docs/guide.md` tells what the members mean."""
    subscription = explanation.subscription
    plain: dict[str, Any] = {
        "subscription": subscription.id,
        "matches": explanation.matches,
        "score": None if explanation.points is None else as_score(explanation.points),
        "priority": as_score(explanation.priority),
        "mode": subscription.mode,
        "in_time": explanation.in_time,
        "distance": _finite(explanation.distance),
        "is_least": explanation.turning.is_least,
        "missing": list(explanation.missing),
    }
    weighing = explanation.weighing
    if weighing is not None and weighing.met is not None and weighing.wanted is not None:
        plain |= {"share": float(weighing.met), "threshold": float(weighing.wanted)}
    return plain | {"nodes": [_node(explanation, place) for place in range(len(explanation.tree.nodes))]}


def _node(explanation: Explanation, place: int) -> dict[str, Any]:
    tree = explanation.tree
    node, parent = tree.nodes[place], tree.parents[place]
    plain: dict[str, Any] = {
        "node": place,
        "parent": None if parent < 0 else parent,
        "op": type(node).__struct_config__.tag,
        "holds": tree.holds[place],
        "flips": _finite(tree.flips[place]),
    }
    if explanation.scores is not None:
        points = explanation.scores.points[place]
        plain |= {"score": None if points is None else as_score(points), "counts": explanation.scores.counts[place]}
    elif explanation.weighing is not None and place in explanation.weighing.points:
        points = explanation.weighing.points[place]
        plain |= {"score": None if points is None else as_score(points), "counts": points is not None}
    return plain | _leaf(explanation, place) if is_leaf(node) else plain


def _leaf(explanation: Explanation, place: int) -> dict[str, Any]:
    leaf: Any = explanation.tree.nodes[place]
    found = explanation.evidence[place]
    return {
        "filter": format_leaf(leaf),
        "predicate": msgspec.to_builtins(leaf),
        "values": _values(found.values),
        "met": _values(found.met),
        "against": _values(found.against),
        "lacking": _values(found.missing),
        "terms": [
            {
                "value": term.value,
                "event_weight": term.event_weight,
                "weight": term.weight,
                "score": as_score(term.points),
            }
            for term in explanation.terms[place]
        ],
    }


def _values(values: tuple[Value, ...]) -> list[Value]:
    return list(values)


def _finite(flips: float) -> int | None:
    return None if flips == NEVER else int(flips)
