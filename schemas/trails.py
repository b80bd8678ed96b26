"""The way to a node of a tree, kept while walking at no cost, and spelled as a path on refusal only."""

from __future__ import annotations

Trail = tuple["Trail | None", int]
"""The parent's trail and the node's place in ``args``, -1 for ``arg``."""

ROOT: Trail = (None, 0)


def spell(trail: Trail, path: str) -> str:
    """Return a trail as text, after the path of the root."""
    steps: list[str] = []
    parent, place = trail
    while parent is not None:
        steps.append(".arg" if place < 0 else f".args[{place}]")
        parent, place = parent
    return path + "".join(reversed(steps))
