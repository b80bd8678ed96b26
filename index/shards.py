"""Shards: which part of an index a subscription belongs to, by a hash of its id that never changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from index.byte_rows import ByteRows
from index.directory import AnyPath, IndexDirectory
from index.manifest import Manifest
from schemas.errors import TocsinError


class Shard(NamedTuple):
    """One of the shards of an index, counted from 0."""

    number: int
    of: int


def shard_numbers(ids: ByteRows, shards: int) -> npt.NDArray[np.int64]:
    """Return for each id, UTF-8, the shard it belongs to.

    Segments are written by this, so the hash is part of the format of an index with several shards: `ByteRows.hashes`
    (FNV-1a, whose low bits depend on few bits of an id), then the finaliser of MurmurHash3.
    """
    if shards == 1:
        return np.zeros(len(ids), np.int64)
    mixed = ids.hashes()
    mixed ^= mixed >> np.uint64(33)
    mixed *= np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    mixed *= np.uint64(0xC4CEB9FE1A85EC53)
    mixed ^= mixed >> np.uint64(33)
    return (mixed % np.uint64(shards)).astype(np.int64)


def check_shards(directory: AnyPath | IndexDirectory, manifest: Manifest, shards: int) -> None:
    """See that a version has so many shards; the empty index goes with any number.

    Raises
    ------
    TocsinError
        It has another number: its segments hold other subscriptions than those that are asked for.
    """
    if manifest.version and manifest.shards != shards:
        raise TocsinError(
            f"The index {IndexDirectory.of(directory).root} was built with shards = {manifest.shards}, and job.shards "
            f"is {shards}. Set job.shards back, or remove the index directory: the subscriptions are then read again."
        )
