"""The layout of an index directory: where each kind of file lives."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from urllib.parse import quote

from index import files
from index.files import Location
from index.remote_path import RemotePath

SEGMENT, DEAD, MANIFEST, PIN = ".seg", ".dead", ".json", ".pin"
INCREMENT, STATISTICS = ".seen", ".stats"
"""Suffixes of the kinds of file."""

SCHEME = "://"
"""What tells an address in an object store from a path."""

AnyPath = str | PathLike[str]


@dataclass(frozen=True)
class IndexDirectory:
    """Paths inside an index directory; nothing is touched on disk but by `create`."""

    root: Location

    @classmethod
    def of(cls, path: AnyPath | IndexDirectory) -> IndexDirectory:
        """Return the layout of the index directory at ``path``: a folder, or an address such as ``s3://bucket/prefix``."""
        if isinstance(path, IndexDirectory):
            return path
        if isinstance(path, str) and SCHEME in path:
            return cls(RemotePath.of(path))
        return cls(Path(path))

    @property
    def segments(self) -> Location:
        """Immutable segment files."""
        return self.root / "segments"

    @property
    def dead(self) -> Location:
        """Dead sets: ordinals of a segment that no longer match."""
        return self.root / "dead"

    @property
    def manifests(self) -> Location:
        """One file a version."""
        return self.root / "manifests"

    @property
    def pins(self) -> Location:
        """One folder an owner, one file a batch."""
        return self.root / "pins"

    @property
    def statistics(self) -> Location:
        """What was observed of events: one sum, and increments that are to be added to it."""
        return self.root / "statistics"

    @property
    def all_statistics(self) -> Location:
        """The sum."""
        return self.statistics / f"all{STATISTICS}"

    def segment(self, name: str) -> Location:
        """Return the path of a segment."""
        return self.segments / f"{name}{SEGMENT}"

    def dead_set(self, name: str) -> Location:
        """Return the path of a dead set."""
        return self.dead / f"{name}{DEAD}"

    def manifest(self, version: int) -> Location:
        """Return the path of a version's manifest; twenty digits, so that names sort like versions."""
        return self.manifests / f"{version:020d}{MANIFEST}"

    def pins_of(self, owner: str) -> Location:
        """Return the folder of an owner's pins; the prefix keeps any owner's name a plain file name."""
        return self.pins / f"owner-{quote(owner, safe='')}"

    def pin(self, owner: str, batch: int) -> Location:
        """Return the path of the pin of one batch."""
        return self.pins_of(owner) / f"{batch:020d}{PIN}"

    def create(self) -> None:
        """Make the folders that are missing, open to their owner only."""
        for folder in (self.root, self.segments, self.dead, self.manifests, self.pins, self.statistics):
            files.make_folder(folder)
