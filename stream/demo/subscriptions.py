"""The demo's hand-written subscriptions, from ``subscriptions.toml``: who asks, what and why."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("subscriptions.toml")


def written_subscriptions() -> dict[str, dict[str, Any]]:
    """Return the subscriptions by id, such as ``traveller/honolulu``, each as the body its record carries."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {f"{role}/{name}": _body(role, **entry) for role, named in entries.items() for name, entry in named.items()}


def _body(role: str, *, why: str, filter: str, priority: float) -> dict[str, Any]:
    return {"filter": filter.strip(), "priority": priority, "labels": {"who": role, "why": why}}
