"""Paths in an object store: as much of `pathlib` as the layout of an index directory needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

TOUCHED = ".touched"
"""Suffix of the empty object beside one that was made young; an object's own time can't be changed."""


@dataclass(frozen=True, order=True)
class RemotePath:
    """An object, or what is common to the names of several.

    Attributes
    ----------
    root
        Address of the index directory, such as ``s3://bucket/prefix``.
    key
        Name below that; empty for the directory itself.
    """

    root: str
    key: str = ""

    @classmethod
    def of(cls, url: str) -> RemotePath:
        """Return the path of an index directory."""
        return cls(url.rstrip("/"))

    @property
    def name(self) -> str:
        """The last part."""
        return self._pure.name

    @property
    def stem(self) -> str:
        """The last part without its suffix."""
        return self._pure.stem

    @property
    def suffix(self) -> str:
        """What follows the last dot of the last part, and the dot."""
        return self._pure.suffix

    @property
    def parent(self) -> RemotePath:
        """What it stands in."""
        return RemotePath(self.root, str(self._pure.parent))

    def with_name(self, name: str) -> RemotePath:
        """Return its neighbour."""
        return self.parent / name

    def __truediv__(self, part: str) -> RemotePath:
        return RemotePath(self.root, str(self._pure / part))

    def __str__(self) -> str:
        return f"{self.root}/{self.key}" if self.key else self.root

    @property
    def _pure(self) -> PurePosixPath:
        return PurePosixPath(self.key)
