"""Shards: ids spread over them for good, each with segments and merges of its own, and one answer from all."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.byte_rows import ByteRows
from index.compaction import compact, due, stats_of
from index.event_block import EventBlock
from index.inspection import broken, damage
from index.manifest import EMPTY, SegmentEntry, latest, publish, versions
from index.merge import merge
from index.merge_policy import FACTOR, MergePlan, SegmentStat, everything, plan
from index.oracle import best_matches
from index.reader import IDLE_VERSIONS, IndexReader, Snapshot
from index.segment import Segment, write_segment
from index.shards import Shard, shard_numbers
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.expression import In
from schemas.records import Event, Subscription
from tests.index.oracle_engine import OracleEngine
from tests.index.sharding import write_segments

ENGINE = OracleEngine()


def numbers(ids: list[str], shards: int) -> list[int]:
    found: list[int] = shard_numbers(ByteRows.of([id_.encode() for id_ in ids]), shards).tolist()
    return found


def wants(id_: str, *values: int, weight: float = 1.0) -> Subscription:
    return Subscription(id_, In("a", values, (weight,) * len(values)))


def block(events: list[Event]) -> EventBlock:
    return EventBlock.from_events(events)


Answers = list[list[tuple[str, int]]]


def answers(snapshot: Snapshot, events: list[Event]) -> Answers:
    """Return each event's (id, score), as found."""
    found = snapshot.match(block(events))
    rows: Answers = [[] for _ in events]
    for event, id_, score in zip(found.event.tolist(), snapshot.ids(found), found.score.tolist(), strict=True):
        rows[event].append((id_.decode(), score))
    return rows


def test_where_an_id_belongs_never_changes() -> None:
    """These numbers are part of the format: what is written today must be found by every later version."""
    ids = ["", "a", "b", "s0", "s1", "abcdefghijklmnopqrstuvwxyz", "é", "\U0001f514"]
    assert [numbers(ids, shards) for shards in (1, 2, 5, 256)] == FROZEN


FROZEN = [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 1, 0, 1, 1, 1, 1, 1],
    [2, 0, 4, 2, 4, 4, 3, 0],
    [38, 91, 208, 135, 233, 147, 59, 159],
]


@pytest.mark.parametrize("shards", [2, 5, 8])
@pytest.mark.parametrize("form", ["s{}", "{:08}", "user-{}/alert", "{}{}"])
def test_shards_have_about_as_many_ids_each(shards: int, form: str) -> None:
    counts = Counter(numbers([form.format(2 * n, n % 2) for n in range(8_000)], shards))
    assert len(counts) == shards
    assert max(counts.values()) < 1.15 * 8_000 / shards


DELTAS = st.lists(
    st.dictionaries(
        st.text("ab☂é", max_size=3),
        st.none() | st.tuples(st.frozensets(st.integers(0, 3), min_size=1), st.sampled_from([0.5, 1.0])),
        max_size=8,
    ),
    min_size=1,
    max_size=5,
)
"""Id to the values that a subscription asks for and their weight, or to its removal."""

EVENTS = [Event({"a": (n,)}, top=top) for n in range(4) for top in (None, 1, 3)] + [Event({"a": (0, 1, 2, 3)}, top=2)]


@settings(max_examples=20, deadline=None)
@given(deltas=DELTAS, merged=st.booleans())
def test_all_shards_together_answer_as_one_does(
    tmp_path_factory: pytest.TempPathFactory, deltas: list[dict[str, object]], merged: bool
) -> None:
    """The whole snapshot does, and so does the merge of each shard's own first matches by score and id."""
    model: dict[str, Subscription] = {}
    roots = {shards: tmp_path_factory.mktemp("index") for shards in (1, 2, 5)}
    for delta in deltas:
        bodies = [wants(id_, *sorted(b[0]), weight=b[1]) for id_, b in delta.items() if isinstance(b, tuple)]
        removed = [id_ for id_, body in delta.items() if body is None]
        for id_ in removed:
            model.pop(id_, None)
        model |= {s.id: s for s in bodies}
        for shards, root in roots.items():
            IndexWriter(root, shards=shards).publish(write_segments(root, ENGINE, shards, bodies), removed, {})
    expected = [best_matches(model.values(), event, event.top) for event in EVENTS]
    for shards, root in roots.items():
        if merged:
            for merging in everything(stats_of(latest(root).segments)):
                merge(root, merging, ENGINE)
            assert len(latest(root).segments) <= shards
        reader, version = IndexReader(root, [ENGINE]), latest(root).version
        assert answers(reader.at(version), EVENTS) == expected
        apart = [answers(reader.at(version, Shard(number, shards)), EVENTS) for number in range(shards)]
        for event, *lists in zip(EVENTS, *apart, strict=True):
            together = sorted((pair for found in lists for pair in found), key=lambda pair: (-pair[1], pair[0]))
            assert together[: event.top] == best_matches(model.values(), event, event.top)
        assert list(damage(root, versions(root))) == []
        assert list(broken(root, latest(root))) == []


def test_merges_stay_within_a_shard(tmp_path: Path) -> None:
    """Many small deltas, merged as they fall due: each shard goes its own way, and nothing gets lost."""
    writer = IndexWriter(tmp_path, shards=3)
    for n in range(3 * FACTOR):
        bodies = [wants(f"s{n}-{m}", m) for m in range(4)]
        writer.publish(write_segments(tmp_path, ENGINE, 3, bodies), [f"s{n - 1}-0"], {0: n + 1})
        for merging in due(tmp_path):
            merge(tmp_path, merging, ENGINE)
    assert compact(tmp_path, ENGINE) == []
    manifest = latest(tmp_path)
    assert manifest.shards == 3
    per_shard = Counter(entry.segment.shard for entry in manifest.segments)
    assert set(per_shard) == {0, 1, 2}
    assert max(per_shard.values()) < FACTOR
    assert list(broken(tmp_path, manifest)) == []
    assert IndexReader(tmp_path, [ENGINE]).at(manifest.version).stats.subscriptions == 3 * FACTOR * 3 + 1


def test_the_policy_plans_shard_by_shard() -> None:
    def stats(*shards: int) -> list[SegmentStat]:
        return [SegmentStat(f"s{i}", 10 + i, 0, shard) for i, shard in enumerate(shards)]

    half = FACTOR // 2
    assert plan(stats(*([0] * half + [1] * half))) == []
    both = stats(*([1, 0] * FACTOR))
    assert plan(both) == [
        MergePlan(tuple(f"s{2 * i + 1}" for i in range(FACTOR))),
        MergePlan(tuple(f"s{2 * i}" for i in range(FACTOR))),
    ]
    assert everything(stats(2, 0, 2, 1)) == [MergePlan(("s0", "s2"))]
    dead = [SegmentStat("x", 3, 3, 0), SegmentStat("y", 2, 2, 1)]
    assert plan(dead) == [MergePlan(("x", "y"))]


def test_segments_that_are_dead_as_a_whole_are_dropped_whatever_their_shards(tmp_path: Path) -> None:
    ids = [f"s{n}" for n in range(8)]
    writer = IndexWriter(tmp_path, shards=2)
    writer.publish(write_segments(tmp_path, ENGINE, 2, [wants(id_, 1) for id_ in ids]), [], {})
    writer.publish([], ids, {})
    assert [entry.alive for entry in latest(tmp_path).segments] == [0, 0]
    compact(tmp_path, ENGINE)
    assert latest(tmp_path).segments == ()
    assert latest(tmp_path).shards == 2


def test_another_number_of_shards_is_refused(tmp_path: Path) -> None:
    IndexWriter(tmp_path, shards=2).publish(
        write_segments(tmp_path, ENGINE, 2, [wants("a", 1), wants("b", 1)]), [], {0: 1}
    )
    said = r"was built with shards = 2, and job\.shards is 3\. Set job\.shards back, or remove the index directory"
    with pytest.raises(TocsinError, match=said):
        IndexWriter(tmp_path, shards=3).publish([], ["a"], {0: 2})
    reader = IndexReader(tmp_path, [ENGINE])
    with pytest.raises(TocsinError, match=said):
        reader.at(1, Shard(0, 3))
    assert reader.at(1).stats.subscriptions == 2
    assert reader.at(0, Shard(2, 3)).segments == (), "the empty index goes with any number"
    strange = write_segment(tmp_path, ENGINE, [wants("c", 1)], 2)
    with pytest.raises(ValueError, match="none is that of a segment"):
        IndexWriter(tmp_path, shards=2).publish([strange], [], {})


def test_a_reader_of_one_shard_opens_its_segments_only_and_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = IndexWriter(tmp_path, shards=2)
    bodies = [wants(f"s{n}", 1) for n in range(10)]
    version = writer.publish(write_segments(tmp_path, ENGINE, 2, bodies), [], {})
    opened: list[int] = []
    open_ = Segment.open

    def watched(*arguments: object, **named: object) -> Segment:
        segment = open_(*arguments, **named)  # type: ignore[arg-type]
        opened.append(segment.info.shard)
        return segment

    monkeypatch.setattr(Segment, "open", watched)
    reader = IndexReader(tmp_path, [ENGINE])
    first = reader.at(version, Shard(1, 2))
    assert opened == [1]
    other = reader.at(version, Shard(0, 2))
    assert opened == [1, 0]
    assert first.stats.subscriptions + other.stats.subscriptions == 10
    # the next version, in which some of each are dead, opens nothing anew
    version = writer.publish([], ["s1", "s2", "s3", "s4"], {})
    again = [reader.at(version, Shard(number, 2)) for number in (0, 1, 0)]
    assert again[0] is again[2]
    assert sum(live.entry.alive for snapshot in again[:2] for live in snapshot.segments) == 6
    assert opened == [1, 0]
    # until a shard was not asked for in a long time
    for _ in range(IDLE_VERSIONS):
        version = writer.publish([], ["nobody"], {})
        reader.at(version, Shard(0, 2))
    reader.at(version, Shard(1, 2))
    assert opened == [1, 0, 1]


def test_an_id_in_another_shards_segment_breaks_an_invariant(tmp_path: Path) -> None:
    ids = [f"s{n}" for n in range(6)]
    info = write_segment(tmp_path, ENGINE, [wants(id_, 1) for id_ in ids], 1)
    publish(tmp_path, EMPTY.successor([SegmentEntry(info)], shards=2))
    (sentence,) = broken(tmp_path, latest(tmp_path))
    wrong = [id_ for id_, number in zip(ids, numbers(ids, 2), strict=True) if number != 1]
    assert f"{len(wrong)} of its ids belong to another shard than its own, 1; the first is {wrong[0]!r}" in sentence


def test_an_index_of_one_shard_is_written_as_before_there_were_any(tmp_path: Path) -> None:
    def content(root: Path) -> dict[str, object]:
        found: dict[str, object] = json.loads((root / "manifests" / f"{1:020}.json").read_bytes())["content"]
        return found

    for shards in (1, 2):
        root = tmp_path / str(shards)
        IndexWriter(root, shards=shards).publish(
            write_segments(root, ENGINE, shards, [wants("s0", 1), wants("s1", 1)]), [], {}
        )
    one, two = content(tmp_path / "1"), content(tmp_path / "2")
    assert set(two) - set(one) == {"shards"}
    assert '"shard"' not in json.dumps(one)
    assert np.array_equal(numbers(["s0", "s1"], 1), [0, 0])
