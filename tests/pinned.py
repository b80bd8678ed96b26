"""Pins as they are left by batches that were matched with a version when it was the latest."""

from __future__ import annotations

from index import checked_json, files
from index.directory import AnyPath, IndexDirectory
from index.pins import Pin


def pinned_before(directory: AnyPath | IndexDirectory, owner: str, batch: int, version: int) -> None:
    """Write the pin of an owner's batch, whatever version is the latest now."""
    layout = IndexDirectory.of(directory)
    files.make_folder(layout.pins_of(owner))
    assert files.create_exclusive(layout.pin(owner, batch), checked_json.encode(Pin(version=version)))
