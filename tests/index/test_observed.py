"""Statistics of events: sketches count right within their bounds, files survive folding, merges are built by them."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import statistics_store
from index.block.engine import BlockEngine
from index.compaction import compact
from index.directory import IndexDirectory
from index.event_block import EventBlock
from index.files import names
from index.garbage import collect
from index.manifest import latest
from index.observed import collector, statistics
from index.observed.collector import BLOCK_STEP, EVENTS_PER_BLOCK, Collector
from index.observed.histogram import CELLS, Cumulative, Histogram
from index.observed.statistics import AttributeStatistics, EventStatistics, attribute_key, decode, encode, total
from index.observer import Observer
from index.segment import STATISTICS, Segment, write_segment
from index.terms import value_bytes
from index.writer import IndexWriter
from schemas.expression import Derive, In
from schemas.records import Event, Subscription
from schemas.values import Value, value_key
from tests.local import local
from tests.strategies import events


def counted(*blocks: EventBlock) -> EventStatistics:
    """Count each block as if it were its turn."""
    parts = []
    for block in blocks:
        own = Collector()
        own.see(block)
        parts.append(own.take())
    return total(parts)


def block(*attributes: Mapping[str, tuple[Value, ...]]) -> EventBlock:
    return EventBlock.from_events([Event(a) for a in attributes])


def of(found: EventStatistics, name: str) -> AttributeStatistics:
    return found.attributes[attribute_key(name)]


@settings(max_examples=40)
@given(st.lists(events(), min_size=1, max_size=12))
def test_attributes_and_values_of_the_chosen_events_are_counted_exactly(happened: list[Event]) -> None:
    found = counted(EventBlock.from_events(happened))
    assert found.events == found.seen == len(happened)
    presence = Counter(name for event in happened for name in event.attributes)
    assert {key: a.events for key, a in found.attributes.items()} == {attribute_key(n): c for n, c in presence.items()}
    for name in presence:
        of_values: Counter[bytes] = Counter()
        for event in happened:
            of_values.update({value_key(v): value_bytes(v) for v in event.attributes.get(name, ()) if v == v}.values())
        assert of(found, name).values == of_values
        assert of(found, name).texts == sum(n for key, n in of_values.items() if key.startswith(b"s"))


def test_one_block_of_sixteen_is_counted_and_of_a_large_one_few_events() -> None:
    own, again = Collector(), Collector()
    for i in range(3 * BLOCK_STEP):
        large = block(*({"a": (e, i)} for e in range(10 * EVENTS_PER_BLOCK)))
        own.see(large)
        again.see(large)
    found = own.take()
    assert found.events == 3 * EVENTS_PER_BLOCK
    assert encode(found) == encode(again.take())
    assert own.take() == EventStatistics()


def test_derived_attributes_are_counted_from_when_a_segment_names_them() -> None:
    engine = BlockEngine()
    lower = Derive("lower", "a")
    matcher = engine.open(engine.build([Subscription("s", In(lower, ("x",)))]))
    seen = block({"a": ("X", "x")}, {"a": ("y",)}, {"b": (1,)})
    own = Collector()
    own.see(block({"a": ("x",)}))
    for _ in range(BLOCK_STEP - 1):
        own.see(seen)
    matcher.match(seen)
    own.see(seen)
    (derived,) = (a for key, a in own.take().attributes.items() if key.startswith(b"\0"))
    assert (derived.asked, derived.events, derived.values) == (3, 2, {b"sx": 1, b"sy": 1})


@settings(max_examples=30)
@given(st.lists(st.lists(events(), min_size=1, max_size=4), max_size=5))
def test_counts_of_parts_add_up_to_those_of_the_whole(parts: list[list[Event]]) -> None:
    whole = counted(*(EventBlock.from_events(part) for part in parts))
    assert whole.events == sum(map(len, parts))
    one = counted(EventBlock.from_events([event for part in parts for event in part]))
    assert {k: (a.events, a.occurrences, a.values) for k, a in whole.attributes.items()} == {
        k: (a.events, a.occurrences, a.values) for k, a in one.attributes.items()
    }


def test_old_traffic_fades(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "EVENT_LIMIT", 100.0)
    known = EventStatistics()
    for value in [*["old"] * 20, *["new"] * 20]:
        known = total([known, counted(block(*[{"a": (value,)}] * 60))])
    assert known.seen == 2400
    assert known.events <= 100
    assert of(known, "a").values[b"snew"] > 50
    assert of(known, "a").values.get(b"sold", 0) < 0.01


def test_heavy_values_outlive_a_flood_of_rare_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "VALUE_LIMIT", 20)
    monkeypatch.setattr(collector, "HELD_VALUES", 100)
    own = Collector()
    for i in range(20 * BLOCK_STEP):
        own.see(block(*({"id": (1000 * i + e,), "kind": (e % 4,)} for e in range(EVENTS_PER_BLOCK))))
    found = own.take()
    assert sum(len(a.values) for a in found.attributes.values()) <= 20
    assert of(found, "kind").values == {value_bytes(kind): found.events / 4 for kind in range(4)}
    assert of(found, "id").occurrences == found.events == 20 * EVENTS_PER_BLOCK
    assert 1 <= found.dropped <= 40


def test_long_values_and_names_are_kept_as_digests() -> None:
    name, value = "n" * 1000, "v" * 100_000
    found = counted(block({name: (value,)}, {name: (value, "w")}))
    assert sorted(of(found, name).values.values()) == [1, 2]
    assert len(encode(found)) < 500


@pytest.mark.parametrize("parts", [1, 30])
def test_a_histogram_tells_the_share_of_a_range(parts: int) -> None:
    numbers = np.random.default_rng(3).normal(size=6000)
    known = Histogram()
    for part in np.split(numbers, parts):
        known = known.plus(Histogram.of(part, np.ones(len(part))))
    assert len(known.weight) <= 2 * CELLS + 1
    told = Cumulative(known)
    for low, high in ((-1, 1), (0, 0.1), (-9, 9), (2, 3), (5, 9)):
        share = (told.weight(high, True) - told.weight(low, False)) / len(numbers)
        assert share == pytest.approx(((numbers >= low) & (numbers <= high)).mean(), abs=0.02)


def test_a_histogram_tells_bounds_that_are_heavy_values_apart() -> None:
    numbers = np.array([1.0, 2.0, 2.0, 2.0, 3.0, np.nan, np.inf])
    told = Cumulative(Histogram.of(numbers, np.ones(len(numbers))))
    assert [told.weight(2, included) for included in (False, True)] == [1, 4]
    assert [told.weight(n, True) for n in (-np.inf, 0.5, 1, 2.5, 3, np.inf)] == [0, 0, 1, 4, 5, 5]
    ends = Cumulative(Histogram.of(np.array([-1.7e308, 1.7e308, 5e-324, 0.0]), np.ones(4)))
    assert 0 <= ends.weight(1.0, True) <= 4
    narrow = Cumulative(Histogram((0.0, -1e308), (1e-300, 1e308), (1.0, 2.0)))
    assert [narrow.weight(n, False) for n in (-1e308, 0.0, 5e-301, 1e-300, 1e308)] == [0, 1, 1.5, 2, 3]


@given(st.lists(events(), max_size=6))
def test_statistics_survive_their_encoding(happened: list[Event]) -> None:
    found = counted(EventBlock.from_events(happened))
    assert decode(encode(found)) == found


def test_what_cannot_be_read_is_no_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decode(b"") is None
    assert decode(encode(EventStatistics())[:-1]) is None
    assert decode(msgspec.msgpack.encode([1, ["x"]])) is None
    monkeypatch.setattr(statistics, "FORMAT", 2)
    later = encode(EventStatistics())
    monkeypatch.undo()
    assert decode(later) is None


def test_folding_changes_nothing_of_what_is_known_even_when_it_is_cut_off(tmp_path: Path) -> None:
    layout = IndexDirectory.of(tmp_path)
    assert statistics_store.gathered(layout) == EventStatistics()
    for value in range(3):
        statistics_store.add(layout, counted(block({"a": (value,)}, {"b": (1,)})))
    known = statistics_store.gathered(layout)
    assert (known.events, of(known, "a").events) == (6, 3)
    left = {name: local(layout.statistics / name).read_bytes() for name in names(layout.statistics, ".seen")}
    assert statistics_store.fold(layout) == 3
    assert statistics_store.gathered(layout) == known
    for name, content in left.items():  # as if the process had ended before it removed them
        local(layout.statistics / name).write_bytes(content)
    assert statistics_store.gathered(layout) == known
    statistics_store.add(layout, counted(block({"a": (0,)})))
    assert statistics_store.fold(layout) == 4
    assert statistics_store.gathered(layout).events == 7
    assert names(layout.statistics) == ["all.stats"]
    assert statistics_store.fold(layout) == 0


def test_a_damaged_file_is_passed_over(tmp_path: Path) -> None:
    layout = IndexDirectory.of(tmp_path)
    statistics_store.add(layout, counted(block({"a": (1,)})))
    statistics_store.fold(layout)
    statistics_store.add(layout, counted(block({"a": (1,)})))
    local(layout.statistics / "torn.seen").write_bytes(b"tocsin")
    assert statistics_store.gathered(layout).events == 2
    all_statistics = local(layout.all_statistics)
    all_statistics.write_bytes(all_statistics.read_bytes()[:-3])
    assert statistics_store.gathered(layout).events == 1
    assert statistics_store.fold(layout) == 2
    assert statistics_store.gathered(layout).events == 1


def test_an_observer_writes_at_most_one_increment_in_its_time(tmp_path: Path) -> None:
    clock = [0.0]
    observer = Observer(tmp_path, 30.0, lambda: clock[0])
    for _ in range(100):
        clock[0] += 1
        observer.see(block({"a": (1,)}))
    assert len(names(tmp_path / "statistics", ".seen")) == 3
    assert statistics_store.gathered(tmp_path).events == 6  # blocks 0, 16, 32, 48, 64, 80


def test_matching_goes_on_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    Observer(tmp_path / "file", 0.0).see(block({"a": (1,)}))
    assert (tmp_path / "file").read_text() == ""


def test_a_merge_is_built_by_the_statistics_and_the_segment_carries_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.segment.STATISTICS_FROM", 8)
    engine, writer = BlockEngine(), IndexWriter(tmp_path)
    for i in range(8):
        writer.publish([write_segment(tmp_path, engine, [Subscription(f"s{i}", In("a", (i,)))])], [], {})
    statistics_store.add(tmp_path, counted(block({"a": (1,)}, {"b": (1,)})))
    assert compact(tmp_path, engine)
    assert names(tmp_path / "statistics") == ["all.stats"]
    (entry,) = latest(tmp_path).segments
    segment = Segment.open(tmp_path, entry.segment.name)
    assert segment.statistics == statistics_store.gathered(tmp_path)
    built = engine.build([Subscription(f"s{i}", In("a", (i,))) for i in range(8)], segment.statistics)
    assert {name: part.tobytes() for name, part in segment.parts.items()} == {n: p.tobytes() for n, p in built.items()}
    (tmp_path / "statistics" / "all.stats").unlink()
    assert statistics_store.gathered(tmp_path) == segment.statistics
    statistics_store.add(tmp_path, counted(block({"a": (1,)})))
    statistics_store.fold(tmp_path)
    assert statistics_store.gathered(tmp_path).events == 3


def test_small_segments_and_engines_without_a_use_for_them_carry_none(tmp_path: Path) -> None:
    from index.segment import Rows, write_rows
    from tests.index.oracle_engine import OracleEngine

    population = [Subscription("s", In("a", (1,)))]
    for engine in (BlockEngine(), OracleEngine()):
        info = write_rows(tmp_path, engine, population, Rows.of(population), counted(block({"a": (1,)})))
        segment = Segment.open(tmp_path, info.name)
        assert segment.statistics is None
        assert STATISTICS not in segment.file.arrays


def test_increments_that_nobody_folds_are_garbage_in_the_end(tmp_path: Path) -> None:
    layout = IndexDirectory.of(tmp_path)
    statistics_store.add(layout, counted(block({"a": (1,)})))
    statistics_store.fold(layout)
    statistics_store.add(layout, counted(block({"a": (1,)})))
    assert collect(layout).files == 0
    for name in names(layout.statistics):
        os.utime(local(layout.statistics / name), (time.time() - 7200,) * 2)
    assert collect(layout).files == 1
    assert names(layout.statistics) == ["all.stats"]
