"""Open segments of one process, kept by name while some version in use names them."""

from __future__ import annotations

from collections.abc import Iterable

from index.directory import IndexDirectory
from index.manifest import SegmentEntry
from index.segment import Segment


class SegmentCache:
    """Opens each segment once, ``whole`` or not; segments are immutable, so a name always means the same content."""

    def __init__(self, layout: IndexDirectory, whole: bool = False) -> None:
        self._layout = layout
        self._whole = whole
        self._open: dict[str, Segment] = {}

    def get(self, entry: SegmentEntry) -> Segment:
        """Return an entry's segment.

        Raises
        ------
        DamagedFile
            Its file is missing, torn, altered as far as `Segment.open` looks, or not the one that the entry names.
        """
        name = entry.segment.name
        if name not in self._open:
            self._open[name] = Segment.open(self._layout, name, self._whole)
        self._open[name].expect(entry.segment)
        return self._open[name]

    def keep(self, entries: Iterable[SegmentEntry]) -> None:
        """Forget the segments that none of these entries names; their maps close with their last user."""
        wanted = {entry.segment.name for entry in entries}
        self._open = {name: segment for name, segment in self._open.items() if name in wanted}
