"""Whether the subscriptions topic may have forgotten removals that the index lacks: it keeps them for a time.

A compacted topic keeps the last record of each id for ever, but a removal only for ``delete.retention.ms``. Who stands
still for longer may miss one, and would match for ever what was removed. So the index remembers when it last held all
that was on the topic, and is built anew when that is too long ago.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import msgspec

from schemas.errors import TocsinError
from stream.offsets import Offsets, covers

FILE = "caught-up.json"

RUNNING_SECONDS = 600.0
"""The least time after which a job that runs takes itself for one that has stood still."""


class CaughtUp(msgspec.Struct, frozen=True):
    """The content of the file: at this time, in seconds after 1970, the index held all that was on the topic."""

    time: float


_decoder = msgspec.json.Decoder(CaughtUp)


class Removals:
    """Keeps track of how long ago the index held all that was on the topic.

    Parameters
    ----------
    folder
        Where it is written down: that of the index, see `stream.index_place.IndexPlace`.
    topic
        The subscriptions topic.
    kept_seconds
        For how long that keeps removals.
    absorbed
        What the index has absorbed.
    published
        When its latest version was published, in seconds after 1970.
    """

    def __init__(self, folder: Path, topic: str, kept_seconds: float, absorbed: Offsets, published: float) -> None:
        self._file = folder / FILE
        self._topic = topic
        self._kept = kept_seconds
        self._known = dict(absorbed)
        self._at = _written(folder, published)
        self._pending: tuple[float, Offsets] | None = None

    def forgotten(self, end: Offsets) -> str | None:
        """Say, when the job starts, that what the index has yet to absorb before ``end`` may lack removals."""
        now = time.time()
        if covers(self._known, end):  # nothing was written since, whenever that was
            self._note(now, self._known)
            return None
        if now - self._at > self._kept:
            return self._said(now - self._at)
        self._pending = now, end
        return None

    def begin(self) -> None:
        """Tell that the index begins now, with the topic's first record."""
        self._note(time.time(), {})

    def look(self, absorbed: Offsets, end: Offsets) -> None:
        """Tell what the index has absorbed, and where the topic ends, while the job runs.

        Raises
        ------
        TocsinError
            The index did not go on for so long that removals may be missing: the host slept, say.
        """
        now = time.time()
        if self._pending is not None and covers(absorbed, self._pending[1]):
            self._note(*self._pending)  # which was not too late: who is told so later ends, or begins anew
            self._pending = None
        moved = not (covers(self._known, absorbed) and covers(absorbed, end))
        if moved and now - self._at > self._longest:
            raise TocsinError(f"{self._said(now - self._at)}; start the job again, it builds the index anew")
        if covers(absorbed, end):
            self._note(now, absorbed)
        elif self._pending is None:
            self._pending = now, end

    @property
    def _longest(self) -> float:
        return max(self._kept, RUNNING_SECONDS)

    def _said(self, age: float) -> str:
        return (
            f"the index did not hold all of {self._topic} for {age:,.0f} s, and the topic keeps removals for "
            f"{self._kept:,.0f} s (delete.retention.ms): some that the index has not seen may be gone"
        )

    def _note(self, at: float, absorbed: Offsets) -> None:
        self._at, self._known = at, dict(absorbed)
        written = self._file.with_suffix(".new")
        with contextlib.suppress(OSError):  # a full disk: the time before then stands for longer, which is safe
            written.write_bytes(msgspec.json.encode(CaughtUp(at)))
            written.rename(self._file)


def _written(folder: Path, published: float) -> float:
    """Return the time that the file says.

    Without it the last batch that was absorbed says when the job still ran, as in an index of an earlier release, or
    the latest version, as where an index in an object store has outlived the checkpoint.
    """
    try:
        return _decoder.decode((folder / FILE).read_bytes()).time
    except (OSError, msgspec.DecodeError):
        commits = (folder / "progress" / "commits").glob("*")
        return max((commit.stat().st_mtime for commit in commits), default=published)
