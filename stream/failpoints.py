"""Named places between two steps of the commit protocol, where a test lets the driver die or stand still."""

from __future__ import annotations

from index import failpoints
from index.failpoints import VARIABLE
from stream.trace import TRACE

__all__ = ["PLACES", "VARIABLE", "reach"]

PLACES = (
    "subscriptions.published",
    "subscriptions.produced",
    "subscriptions.offsets-sent",
    "subscriptions.committed",
    "events.pinned",
    "events.produced",
    "events.offsets-sent",
    "events.committed",
)
"""In the order of the steps, each query's for itself."""


def reach(place: str) -> None:
    """Note that the driver came here, and die or stand still where a test says so."""
    TRACE.passed(place)
    failpoints.reach(place)
