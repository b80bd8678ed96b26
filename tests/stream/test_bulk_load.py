"""A topic that is loaded in several slices answers as one that is loaded in one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from index.block.engine import BlockEngine
from index.event_block import EventBlock
from index.reader import IndexReader
from index.writer import IndexWriter
from schemas.records import Event
from stream import rows
from stream.absorber import absorb_batches, partition_decoder
from tests.stream.worker_records import absorb_task

Record = tuple[bytes, bytes | None]

SLICE = 40


def _body(rng: random.Random) -> bytes | None:
    """A tree, a filter text, a tombstone or something that is refused."""
    value, bound = rng.choice("xyz"), rng.randrange(4)
    leaf = {"op": "in", "attribute": "a", "values": [value]}
    trees = [leaf, {"op": "and", "args": [leaf, {"op": "range", "attribute": "b", "ge": bound}]}]
    bodies: list[bytes | None] = [msgspec.json.encode({"expression": tree}) for tree in trees]
    bodies.append(msgspec.json.encode({"expression": {"op": "or", "args": trees[1:] * 2}, "priority": 0.5}))
    bodies.append(msgspec.json.encode({"filter": f"a = '{value}' and b >= {bound}"}))
    return rng.choice([*bodies, None, b'{"expression": {"op": "inn"}}'])


def _load(index: Path, records: Sequence[Record], size: int) -> list[list[tuple[bytes, int]]]:
    """Absorb and publish slice by slice, one of them twice; return what events then match."""
    writer = IndexWriter(index)
    task = absorb_task(index)
    version = 0
    for first in range(0, len(records), size):
        for _ in range(2 if first == size else 1):
            taken = records[first : first + size]
            answers = list(absorb_batches(task, iter([_batch(taken, first)])))
            [made] = map(partition_decoder.decode, rows.values_of(answers, rows.SEGMENT))
            segments = [] if made.segment is None else [made.segment]
            version = writer.publish(segments, made.removed, {0: first + len(taken)})
    events = [Event({"a": (a,), "b": (b,)}) for a in "xyz" for b in range(4)]
    snapshot = IndexReader(index, [BlockEngine()]).at(version)
    found = snapshot.match(EventBlock.from_events(events, 0))
    matches: list[list[tuple[bytes, int]]] = [[] for _ in events]
    for event, id_, score in zip(found.event.tolist(), snapshot.ids(found), found.score.tolist(), strict=True):
        matches[event].append((id_, score))
    return matches


def _batch(records: Sequence[Record], first: int) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "key": pa.array([key for key, _ in records], pa.binary()),
            "value": pa.array([value for _, value in records], pa.binary()),
            "partition": pa.array([0] * len(records), pa.int32()),
            "offset": pa.array(range(first, first + len(records)), pa.int64()),
        }
    )


def test_slices_tombstones_refusals_and_a_replay_give_the_answers_of_one_load(tmp_path: Path) -> None:
    rng = random.Random(5)
    records: list[Record] = [(f"s{rng.randrange(60)}".encode(), _body(rng)) for _ in range(5 * SLICE)]
    at_once = _load(tmp_path / "one", records, len(records))
    assert sum(map(len, at_once)) > 50
    assert _load(tmp_path / "several", records, SLICE) == at_once
