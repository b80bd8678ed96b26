"""The shared cases made ready for one running job: each case gets ids and attribute names of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASES: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parents[1] / "data" / "cases.json").read_text())


def rename(node: Any, prefix: str) -> Any:
    """Return an expression tree with every attribute renamed."""
    if isinstance(node, list):
        return [rename(item, prefix) for item in node]
    if isinstance(node, dict):
        return {k: prefix + v if k == "attribute" else rename(v, prefix) for k, v in node.items()}
    return node


def rename_event(event: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return an event with every attribute renamed, in ``$weights`` too."""
    renamed: dict[str, Any] = {}
    for name, value in event.items():
        if name == "$weights":
            renamed[name] = {prefix + attribute: weight for attribute, weight in value.items()}
        else:
            renamed[name if name.startswith("$") else prefix + name] = value
    return renamed


def bodies(subscriptions: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return subscription bodies under ids of their own."""
    return {prefix + id_: rename(body, prefix) for id_, body in subscriptions.items()}


def own(ids: list[str], prefix: str) -> list[str]:
    """Return the ids of one case, without its prefix, in their order."""
    return [id_.removeprefix(prefix) for id_ in ids if id_.startswith(prefix)]
