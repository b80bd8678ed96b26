"""File operations of an index directory in an object store, with copies on the local disk to map.

A store shows an object under its name when all of it is there. Where a disk has a hard link to take a name that must be
free, a store has a write on that condition (``If-None-Match: *`` in S3), which Amazon S3, Google Cloud Storage, Azure
and most of their like know. `pyarrow.fs` has no such write, so `obstore` does all of it. Addresses, keys and regions
come from the environment, as its documentation has it: ``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL`` and so on.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore, from_url

from index import failpoints, local_files
from index.cache_folder import cache_folder
from index.damaged_file import DamagedFile
from index.local_files import Bytes, Check
from index.remote_path import TOUCHED, RemotePath
from schemas.errors import TocsinError, first_line

SLICE = 8 * 2**20
"""Bytes that are sent or fetched at a time: parts of an upload have at least five mebibytes in S3."""

ABANDONED_SECONDS = 3 * 3600.0
"""From that age on a copy that is still being written is taken for that of a fetcher which was killed.

A fetcher makes its copy young with each slice; between the last one and the copy's name there are only the check and
the sync.
"""


class RemoteFiles:
    """The operations of `index.files` for one index directory in an object store.

    Copies of segments and dead sets are kept by name: these never change. A copy is checked before it has its name, so
    none is half-written or unchecked, whichever process fetched it. One that turns out damaged is fetched once more
    (`forget`), and copies of objects that are gone are removed when something new is fetched, as are those that were
    never finished.
    """

    def __init__(self, root: str) -> None:
        with _explained(root):
            self._store: ObjectStore = from_url(root)
        self._cache = cache_folder() / hashlib.sha256(root.encode()).hexdigest()[:16]

    def make_folder(self, path: RemotePath) -> None:
        """Do nothing: there are no folders, only names."""

    def write_new(self, path: RemotePath, chunks: Iterable[Bytes]) -> None:
        """Write an object."""
        with _explained(path), failpoints.around("put", path):
            self._store.put(path.key, _slices(chunks))

    def create_exclusive(self, path: RemotePath, content: bytes) -> bool:
        """Write an object unless its name is taken; return whether it was written.

        A write whose answer was lost on the way is tried again and then finds the name taken, by itself.
        """
        try:
            with _explained(path), failpoints.around("link", path):
                self._store.put(path.key, content, mode="create")
        except FileExistsError:
            return self._is(path, content)
        return True

    def read(self, path: RemotePath) -> bytes:
        """Return an object's content."""
        with _explained(path):
            return bytes(self._store.get(path.key).bytes())

    def map_readonly(self, path: RemotePath, check: Check) -> npt.NDArray[np.uint8]:
        """Map the copy of an object; when there is none it is fetched, and ``check`` looks at what came."""
        copy = self._copy(path)
        try:
            if not local_files.is_there(copy):
                self._fetch(path, copy, check)
            return local_files.map_readonly(copy)
        except DamagedFile as error:
            raise DamagedFile(path, error.found, error.wanted) from None

    def forget(self, path: RemotePath) -> bool:
        """Remove the copy of an object, if there is one; return that it can be fetched anew."""
        local_files.remove(self._copy(path))
        return True

    def remove(self, path: RemotePath) -> None:
        """Remove an object; one that is gone already is fine."""
        with _explained(path), failpoints.around("remove", path):
            self._delete(path.key)
            self._delete(path.key + TOUCHED)

    def touch(self, path: RemotePath) -> None:
        """Make an object young again."""
        with _explained(path), failpoints.around("touch", path):
            self._store.put(path.key + TOUCHED, b"")

    def ages(self, folder: RemotePath, suffix: str) -> dict[str, float]:
        """Return the names in a folder that end in ``suffix``, ascending, with the seconds since each was written."""
        now = time.time()
        with _explained(folder):
            listed = self._store.list_with_delimiter(folder.key)["objects"]
        start = f"{folder.key}/"  # some servers list an object for an empty folder
        times: dict[str, datetime] = {
            entry["path"].removeprefix(start): entry["last_modified"]
            for entry in listed
            if entry["path"].startswith(start)
        }
        return {
            name: now - max(written, times.get(name + TOUCHED, written)).timestamp()
            for name, written in sorted(times.items())
            if name.endswith(suffix)
        }

    def folders(self, folder: RemotePath) -> list[str]:
        """Return the names of the folders in a folder, ascending."""
        with _explained(folder):
            listed = self._store.list_with_delimiter(folder.key)["common_prefixes"]
        return sorted(name.rstrip("/").rpartition("/")[2] for name in listed)

    def age(self, path: RemotePath) -> float:
        """Return the seconds since an object was written or touched; 0 for one that is gone."""
        return self.ages(path.parent, path.name).get(path.name, 0.0)

    def length(self, path: RemotePath) -> int:
        """Return the length of an object; 0 for one that is gone."""
        try:
            with _explained(path):
                return int(self._store.head(path.key)["size"])
        except DamagedFile:
            return 0

    def _is(self, path: RemotePath, content: bytes) -> bool:
        try:
            return self.read(path) == content
        except DamagedFile:  # removed meanwhile
            return False

    def _delete(self, key: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._store.delete(key)

    def _copy(self, path: RemotePath) -> Path:
        return self._cache / path.key

    def _fetch(self, path: RemotePath, copy: Path, check: Check) -> None:
        """Fetch an object, and remove the copies of those that are gone and what killed fetchers have left of theirs.

        Copies are listed before objects: what another process fetches meanwhile is of an object that the list may lack.
        """
        local_files.make_folder(copy.parent)
        with _explained(path):
            found = self._store.get(path.key)
            local_files.write_new(copy, (bytes(part) for part in found.stream(min_chunk_size=SLICE)), check)
        copies = local_files.names(copy.parent)
        kept = self.ages(path.parent, "")
        for name in copies:
            if name not in kept and not name.endswith(local_files.TEMPORARY):
                local_files.remove(copy.parent / name)
        for name, age in local_files.ages(copy.parent, local_files.TEMPORARY).items():
            if age > ABANDONED_SECONDS:
                local_files.remove(copy.parent / name)


def _slices(chunks: Iterable[Bytes]) -> Iterator[bytes]:
    """Yield what the chunks hold in pieces of at most `SLICE` bytes, joined as far as that allows."""
    waiting = bytearray()
    for chunk in chunks:
        view = memoryview(chunk)
        for start in range(0, len(view), SLICE):
            waiting += view[start : start + SLICE]
            if len(waiting) >= SLICE:
                yield bytes(waiting)
                waiting.clear()
    if waiting:
        yield bytes(waiting)


@contextlib.contextmanager
def _explained(path: RemotePath | str) -> Iterator[None]:
    """Turn the store's refusals into sentences: a missing object is damage, a name that is taken FileExistsError."""
    try:
        yield
    except FileNotFoundError:
        raise DamagedFile(path, "no such object", "the object") from None
    except AlreadyExistsError:
        raise FileExistsError from None
    except (BaseError, ValueError) as error:  # the latter of an address that is none
        told = first_line(error).partition(": <?xml")[0]
        raise TocsinError(
            f"{path} can't be reached: {told}. See that the address is right, that the store answers, and that the "
            "keys in the environment (AWS_ACCESS_KEY_ID and their like) allow to read and write."
        ) from error
