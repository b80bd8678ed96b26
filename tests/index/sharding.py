"""Segments of an index with several shards, as the tasks of a micro-batch write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from index.byte_rows import ByteRows
from index.directory import IndexDirectory
from index.engine import Engine
from index.segment import SegmentInfo, write_segment
from index.shards import shard_numbers
from schemas.records import Subscription


def write_segments(
    index: Path | IndexDirectory, engine: Engine, shards: int, subscriptions: Sequence[Subscription]
) -> list[SegmentInfo]:
    """Write a segment of each shard that has some of the subscriptions."""
    of = shard_numbers(ByteRows.of([s.id.encode() for s in subscriptions]), shards).tolist()
    parts = [[s for s, number in zip(subscriptions, of, strict=True) if number == shard] for shard in range(shards)]
    return [write_segment(index, engine, part, shard) for shard, part in enumerate(parts) if part]
