"""Pins: which version a micro-batch is matched with, written once, so that a replay is matched with the same."""

from __future__ import annotations

import secrets

import msgspec

from index import checked_json, files
from index.directory import PIN, AnyPath, IndexDirectory
from index.files import DamagedFile, Location
from index.manifest import latest_since


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a pin's file.

    Attributes
    ----------
    version
        The version that the batch is bound to.
    token
        Drawn anew for each pin, which no other therefore equals: a store takes what equals the content that is to be
        written for a try of its own. Empty in pins of earlier releases.
    """

    version: int
    token: str = ""


def pin_latest(directory: AnyPath | IndexDirectory, owner: str, batch: int, known: int) -> int:
    """Bind an owner's batch to the latest version unless it is bound already; return the version it is bound to.

    Garbage collection keeps a pinned version and all of its files until `unpin_before` lets go of the batch. Of a
    version that is pinned and after that still the latest, none can have decided before that it is to go, and every
    later one sees the pin. One that is not the latest any more may be on its way out, so the pin goes to the one that
    is.

    Parameters
    ----------
    directory
        The index directory; others may publish, and collect garbage, at any moment.
    owner, batch
        Who matches, and the number of the micro-batch.
    known
        A version that was published; in most cases it is the latest, and nothing has to be done twice.

    Raises
    ------
    IndexGone
        Neither that version nor a later one is there.
    """
    layout = IndexDirectory.of(directory)
    files.make_folder(layout.pins_of(owner))
    path, version = layout.pin(owner, batch), known
    while files.create_exclusive(path, checked_json.encode(Pin(version=version, token=secrets.token_hex(8)))):
        latest = latest_since(layout, version)
        if latest == version:
            return version
        files.remove(path)
        version = latest
    return checked_json.decode(files.read(path), Pin, path).version


def unpin_before(directory: AnyPath | IndexDirectory, owner: str, batch: int) -> None:
    """Let go of the owner's batches before ``batch``."""
    layout = IndexDirectory.of(directory)
    for pinned in files.numbers(layout.pins_of(owner), PIN):
        if pinned < batch:
            files.remove(layout.pin(owner, pinned))


def pinned_versions(directory: AnyPath | IndexDirectory) -> set[int]:
    """Return the versions that some owner's batch is bound to.

    Raises
    ------
    DamagedFile
        A pin is torn or altered.
    """
    return {version for path in pins(directory) if (version := read_pin(path)) is not None}


def pins(directory: AnyPath | IndexDirectory) -> list[Location]:
    """Return the pins of all owners."""
    layout = IndexDirectory.of(directory)
    return [
        layout.pins / owner / name
        for owner in files.folders(layout.pins)
        for name in files.names(layout.pins / owner, PIN)
    ]


def read_pin(path: Location) -> int | None:
    """Return the version that a pin names, or None when it was let go of meanwhile.

    Raises
    ------
    DamagedFile
        It is torn or altered.
    """
    try:
        data = files.read(path)
    except DamagedFile:
        return None
    return checked_json.decode(data, Pin, path).version
