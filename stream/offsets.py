"""Offsets of a topic's partitions: how far somebody has come, or where something ends."""

from __future__ import annotations

Offsets = dict[int, int]
"""Partition to the next offset: everything below it is read, written or absorbed, nothing where none is named."""


def covers(reached: Offsets, end: Offsets) -> bool:
    """Return whether everything below ``end`` is below ``reached`` too."""
    return all(reached.get(partition, 0) >= offset for partition, offset in end.items())
