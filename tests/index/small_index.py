"""Small indexes: a segment, a history of versions, and files that are older than they are."""

from __future__ import annotations

import os
from pathlib import Path

from index.directory import IndexDirectory
from index.segment import SegmentInfo, write_segment
from index.writer import IndexWriter
from schemas.expression import In
from schemas.records import Subscription
from tests.index.oracle_engine import OracleEngine


def segment(layout: IndexDirectory, *ids: str) -> SegmentInfo:
    return write_segment(layout, OracleEngine(), [Subscription(id_, In("a", (1,))) for id_ in ids])


def age(path: Path, seconds: float) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def history(layout: IndexDirectory) -> None:
    """Five versions; from the second on, each kills an id of the first segment."""
    writer = IndexWriter(layout)
    writer.publish([segment(layout, "a", "b", "c", "d", "e", "f")], [], {0: 1})
    for offset, id_ in enumerate("abcd", 2):
        writer.publish([segment(layout, f"x-{id_}")], [id_], {0: offset})
