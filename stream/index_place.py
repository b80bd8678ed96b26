"""Where a job's index is: the address that the library takes, and the folder for what only this job uses."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from index.directory import SCHEME


class IndexPlace(NamedTuple):
    """An index directory, and what belongs to it.

    Attributes
    ----------
    address
        The index directory: an absolute path, or an address in an object store.
    folder
        Where the driver's lock, the subscription query's progress and spooled answers are: the same, or, beside an
        object store, a folder of the checkpoint that is named after the address.
    """

    address: str
    folder: Path

    @classmethod
    def of(cls, index_dir: str, checkpoint: Path) -> IndexPlace:
        """Return the place that ``job.index_dir`` names; the checkpoint's path is absolute."""
        if SCHEME not in index_dir:
            # The executors of a cluster run in folders of their own, where a relative path would mean another place.
            folder = Path(index_dir).absolute()
            return cls(str(folder), folder)
        address = index_dir.rstrip("/")
        return cls(address, checkpoint / f"index-{hashlib.sha256(address.encode()).hexdigest()[:16]}")

    @property
    def progress(self) -> Path:
        """The subscription query's checkpoint."""
        return self.folder / "progress"

    @property
    def is_remote(self) -> bool:
        """Whether it is in an object store."""
        return SCHEME in self.address
