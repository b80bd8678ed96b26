"""Warming up: a tiny index is built and matched, so that every module is loaded and every kernel compiled.

``python -m stream.warm_up`` after an installation fills Numba's cache on disk: compiling takes a minute, once. A job
does so where nobody did. An engine other than the default one is named behind it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import msgspec
import pyarrow as pa

from index.block.ranking import HEAP_MOST
from index.byte_rows import ByteRows
from index.engines import engine_named
from index.event_block import EventBlock
from index.reader import Snapshot
from index.segment import SegmentInfo, write_segment
from index.shards import shard_numbers
from index.writer import IndexWriter
from schemas.expression import And, Expression, In, Range
from schemas.filter_text import parse_filter
from schemas.records import Event, Subscription
from schemas.values import Value
from stream import absorber, matcher, rows
from stream.decoding import Decoding
from stream.kernel_mark import mark
from stream.spool import SpoolPlan

FILTERS = (
    "a = 'x' ^0.5 and b >= 1 and not c in ('y', 'z')",
    "a in ('x', 'y') and (b between 1 and 3 or d exists)",
    "e is null or a != 'x'",
    "flag = true and n = 7",
    "a = 'x' and flag = true or b = 2 and flag = true",
    "a between 'k' and 'y'",
    "lower(a) = 'x' and b % 2 = 0",
    "a contains 'x' or a contains 'yz'",
    "a = 'x' ^2 or flag = true",
    "a = 'x' ^2 or flag = true",
)
EVENTS = (
    b'{"a": ["x", "y"], "b": 2, "$weights": {"a": {"x": 0.5}}}',
    b'{"a": "z", "b": 2.5, "d": {"e": 1}, "flag": true, "n": 7, "$top": 1}',
    b"not an event",
)

PLAIN = b'{"a": "x", "b": 2, "flag": true}'
"""An event that has one value an attribute and no weights."""

BLOCKS_OF_PLAIN = ((PLAIN,), (PLAIN,) * 30, (PLAIN,) * 400, (PLAIN, *EVENTS[:1] * 100))
"""Matches that few such events share are ordered by other kernels than those that many share."""

SCORED = ("m in (0 ^0.5, 1 ^0.25) and (k >= 1 or k exists)", *["m = 0 ^2 or k >= 1"] * 2)
"""One that has to be scored event by event, and two that are alike, of which an event may meet two clauses."""

MONTHS, LEVELS = 12, 90
"""Of so many subscriptions, one for each pair, a block that is longer than a chunk is matched month by month."""

LEVELS_MET = (5, 15, 40)
"""How many of a month's subscriptions an event meets: a few, some and many matches are written by different kernels."""

TOPS = (2, HEAP_MOST + 1)
"""The best that events want there: few are held otherwise than many."""

TOPICS, ALIKE = 20, 70
"""So many subscriptions ask for each topic: events that share few of their matches list and sort them by themselves."""

SORTED, LONG = 600, 2100
"""Events of a block that is sorted, and of one whose chunks are long, since all its events are of one month."""

BLOCKS = (1, 400)
"""How often the events are repeated in a block: kernels for few events and for many are compiled apart."""


def warm_up(engine: str = "block") -> None:
    """Take subscriptions and events through the code that Spark's workers run, on the kinds of arrays they meet.

    Parameters
    ----------
    engine
        The engine that builds and matches, as in ``job.engine``.
    """
    with tempfile.TemporaryDirectory(prefix="tocsin-warm-up-") as folder:
        index = str(Path(folder) / "index")
        writer = IndexWriter(index)
        for part in range(2):  # two segments, so that merging their matches is warm too
            ids = [f"{part}-{i}".encode() for i in range(len(FILTERS))]
            shard_numbers(ByteRows.of(ids), shards=2)  # what job.shards needs beyond the rest
            values = [msgspec.json.encode({"filter": text, "labels": {"of": "warm-up"}}) for text in FILTERS]
            version = writer.publish([absorb(index, ids, values, engine)], [], {0: part + 1})
        for emit, top, repeats in product(("match", "event"), (0, 2), BLOCKS):
            match(index, version, EVENTS * repeats, top, emit, engine)
        for events in BLOCKS_OF_PLAIN:
            match(index, version, events, 0, "match", engine)
        if engine == "block":  # no other one sorts
            _match_sorted(str(Path(folder) / "sorted"))
            _match_alike(str(Path(folder) / "alike"))
        matcher.index_reader.cache_clear()


def _match_sorted(index: str) -> None:
    """Match blocks of several chunks, sorted by month or of one month, with few matches an event, some and many."""
    levels = (_levels(i % MONTHS, i // MONTHS) for i in range(MONTHS * LEVELS))
    snapshot = _published(index, [*map(parse_filter, SCORED), *levels])
    kinds = [*((level, 0) for level in LEVELS_MET), *((LEVELS_MET[0], top) for top in TOPS)]
    for (level, top), (events, months) in product(kinds, ((SORTED, MONTHS), (LONG, 1))):
        snapshot.match(_block([{"m": (i % months,), "k": (level,)} for i in range(events)], top))


def _match_alike(index: str) -> None:
    """Match events of which each meets many subscriptions that say the same, and others meet others."""
    snapshot = _published(index, [In("m", (i % TOPICS,)) for i in range(TOPICS * ALIKE)])
    snapshot.match(_block([{"m": (i % TOPICS,)} for i in range(5 * TOPICS)], 0))


def _levels(month: int, least: int) -> Expression:
    return And((In("m", (month,)), Range("k", ge=least)))


def _block(attributes: list[dict[str, tuple[Value, ...]]], top: int) -> EventBlock:
    return EventBlock.from_events([Event(values) for values in attributes], top)


def _published(index: str, expressions: Sequence[Expression]) -> Snapshot:
    """Publish an index of subscriptions that are these, and open it; thousands are not worth their JSON."""
    subscriptions = [Subscription(f"{i:04d}", expression) for i, expression in enumerate(expressions)]
    segment = write_segment(index, engine_named("block"), subscriptions)
    return matcher.index_reader(index).at(IndexWriter(index).publish([segment], [], {0: 1}))


def absorb(index: str, ids: Sequence[bytes], values: Sequence[bytes], engine: str = "block") -> SegmentInfo:
    """Write a segment of these subscriptions, as a worker does."""
    task = absorber.AbsorbTask(index, "subscriptions", Decoding(), SpoolPlan(index, sys.maxsize), engine)
    answers = list(absorber.absorb_batches(task, iter([_records(ids, values)])))
    [made] = rows.values_of(answers, rows.SEGMENT)
    segment = absorber.partition_decoder.decode(made).segment
    if segment is None:
        raise ValueError("all of the subscriptions were refused")
    return segment


def match(
    index: str, version: int, events: Sequence[bytes], top: int, emit: str = "match", engine: str = "block"
) -> list[pa.RecordBatch]:
    """Match these events, as a worker does."""
    task = msgspec.convert(
        {
            "index": index,
            "version": version,
            "topic": "events",
            "decoding": Decoding(),
            "top": top,
            "emit": emit,
            "include_event": True,
            # Nothing is spooled: the file is written by a thread of Arrow's, and the daemon is about to fork.
            "spool": SpoolPlan(index, sys.maxsize),
            "engine": engine,
        },
        matcher.MatchTask,
        from_attributes=True,
    )
    return list(matcher.match_batches(task, iter([_records([None] * len(events), events)])))


def _records(keys: Sequence[bytes | None], values: Sequence[bytes]) -> pa.RecordBatch:
    """Return records as Spark hands them over."""
    count = len(values)
    return pa.record_batch(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(count), pa.int64()),
            "millis": pa.array([0] * count, pa.int64()),
        }
    )


if __name__ == "__main__":
    warm_up(*sys.argv[1:])
    mark(*sys.argv[1:2] or ("block",))
