"""An event, what explains a filter against it, and what is told to be missing."""

from __future__ import annotations

from typing import Any

from index.explain.explanation import Explanation, explain
from index.explain.plain import as_plain
from schemas.filter_text import parse_filter
from schemas.records import Event, Subscription

EVENT = Event({"a": (1,), "b": ("x", "y"), "text": ("A storm is coming",)}, {"b": (0.5, 2.0)}, time=1_000_000)


def explained(filter_: str, event: Event = EVENT, **members: Any) -> Explanation:
    return explain(Subscription("s", parse_filter(filter_), **members), event)


def missing(explanation: Explanation) -> list[str]:
    plain = as_plain(explanation)
    return [plain["nodes"][place]["filter"] for place in plain["missing"]]
