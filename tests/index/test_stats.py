"""Statistics of a version: sizes by part, the commonest predicates, the always-list."""

from __future__ import annotations

from pathlib import Path

import pytest

from index import stats
from index.block.engine import BlockEngine
from index.event_block import EventBlock
from index.live import alive, open_version, read
from index.observed.collector import Collector
from index.segment import write_segment
from index.stats import contents, frequent, parts, sizes
from index.writer import IndexWriter
from schemas.expression import Exists, In
from schemas.filter_text import parse_filter
from schemas.records import Event, Subscription

FILTERS = {
    "a": "x = 1^2 and y > 3",
    "b": "x = 1^5 and z = 'q'",
    "c": "not x = 1 and y not exists",
    "d": "z = 'q' or w != 1",
    "e": "x = true or x = 1",
}


def subscriptions() -> list[Subscription]:
    return [Subscription(id_, parse_filter(text)) for id_, text in FILTERS.items()]


def test_sizes_and_parts_add_up(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    writer.publish([write_segment(tmp_path, BlockEngine(), subscriptions())], [], {})
    writer.publish([write_segment(tmp_path, BlockEngine(), [Subscription("f", In("x", (1,)))])], ["a"], {})
    snapshot = open_version(tmp_path)
    known = sizes(snapshot)
    assert (known.version, known.subscriptions, known.dead, known.segments) == (2, 5, 1, 2)
    assert (known.tail_segments, known.tail_subscriptions) == (2, 5)
    assert known.bytes == sum(file.stat().st_size for file in (tmp_path / "segments").iterdir())
    found = {part.name: part.bytes for part in parts(snapshot)}
    assert {"ids", "bodies", "labels"} < found.keys()
    assert sum(found.values()) == sum(
        array.nbytes for live in snapshot.segments for array in live.segment.file.arrays.values()
    )
    assert contents(read(snapshot, alive(snapshot)), 3).scanned == 5


def test_predicates_are_counted_without_their_weights_and_once_a_subscription() -> None:
    found = contents([*subscriptions(), Subscription("f", parse_filter("x = 1 and (y > 3 or x = 1)"))], 3)
    assert [(common.leaf, common.subscriptions) for common in found.common] == [
        (In("x", (1,)), 5),
        (In("z", ("q",)), 2),
        (parse_filter("y > 3"), 2),
    ]


def test_the_worst_offenders_have_the_most_predicates() -> None:
    found = contents(subscriptions(), 1)
    assert (found.always, len(found.offenders)) == (2, 1)
    assert found.offenders[0].subscription.id == "c"
    assert found.offenders[0].leaves == 2


def test_rare_predicates_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "COUNTED_PREDICATES", 10)
    many = [Subscription(f"s{n}", parse_filter(f"common = 1 and rare = {n}")) for n in range(100)]
    (first, *_) = contents(many, 2).common
    assert (first.leaf, first.subscriptions) == (In("common", (1,)), 100)


def test_the_most_frequent_predicates_of_observed_events() -> None:
    collector = Collector()
    held = [{"x": (True, 1.5)}, {"x": (1.5,)}, {"y": ("q",)}, {"x": ("v" * 99,), "n" * 99: (1,)}]
    collector.see(EventBlock.from_events([Event(attributes) for attributes in held]))  # type: ignore[arg-type]
    assert frequent(collector.take(), 9) == [
        (Exists("x"), 0.75),
        (In("x", (1.5,)), 0.5),
        (In("x", (True,)), 0.25),
        (Exists("y"), 0.25),
        (In("y", ("q",)), 0.25),
    ]
