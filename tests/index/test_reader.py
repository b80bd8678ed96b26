"""The reader: one exact answer from many segments, version by version, also while others publish and merge."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.byte_rows import ByteRows
from index.compaction import compact, due
from index.event_block import EventBlock
from index.files import DamagedFile
from index.found import combine
from index.garbage import collect
from index.manifest import latest, latest_version
from index.matches import MatchRows
from index.merge import merge
from index.merge_policy import MergePlan
from index.oracle import best_matches
from index.reader import IndexReader, Snapshot
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.expression import In, NotExists
from schemas.records import Event, Subscription
from schemas.values import SCORE_SCALE
from tests.index.oracle_engine import OracleEngine

ENGINE = OracleEngine()
FORK = multiprocessing.get_context("fork")


def wants(id_: str, weight: float = 1.0, value: str = "x", **labels: str) -> Subscription:
    return Subscription(id_, In("a", (value,), (weight,)), labels=labels)


def publish(index: Path, *deltas: Sequence[Subscription], removed: Sequence[str] = ()) -> int:
    infos = [write_segment(index, ENGINE, delta) for delta in deltas]
    return IndexWriter(index).publish(infos, removed, {})


def block(*tops: int, value: str = "x") -> EventBlock:
    return EventBlock.from_events([Event({"a": (value,)}, top=top) for top in tops])


def answers(snapshot: Snapshot, events: EventBlock) -> list[list[tuple[str, int, int]]]:
    """Return each event's (id, score, rank), as found."""
    found = snapshot.match(events)
    rows: list[list[tuple[str, int, int]]] = [[] for _ in range(events.size)]
    columns = (found.event.tolist(), snapshot.ids(found), found.score.tolist(), found.rank.tolist())
    for event, id_, score, rank in zip(*columns, strict=True):
        rows[event].append((id_.decode(), score, rank))
    return rows


def ids(snapshot: Snapshot, top: int = 0) -> list[str]:
    return [id_ for id_, _, _ in answers(snapshot, block(top))[0]]


def test_an_empty_index_matches_nothing(tmp_path: Path) -> None:
    snapshot = IndexReader(tmp_path / "none", [ENGINE]).at(0)
    found = snapshot.match(block(0, 3))
    assert [len(column) for column in found] == [0] * 5
    assert [column.dtype.name for column in found] == ["int32", "int32", "int32", "int64", "int32"]
    assert snapshot.ids(found) == snapshot.labels(found) == []
    assert snapshot.get("s") is None
    assert snapshot.stats.subscriptions == 0


def test_ties_across_segments_are_decided_by_id_in_code_point_order(tmp_path: Path) -> None:
    names = ["z", "a", "\U0001f600", "￿", "aa", "Z", "é", "b\x00", "b"]
    version = publish(tmp_path, *([wants(name)] for name in names), [wants("low", 0.5), wants("high", 2.0)])
    snapshot = IndexReader(tmp_path, [ENGINE]).at(version)
    expected = ["high", *sorted(names), "low"]
    assert ids(snapshot) == expected
    for top in range(1, 12):
        assert answers(snapshot, block(top)) == [
            [
                (id_, int({"high": 2.0, "low": 0.5}.get(id_, 1.0) * SCORE_SCALE), rank)
                for rank, id_ in enumerate(expected[:top], 1)
            ]
        ]


def test_each_event_of_a_block_has_its_own_top(tmp_path: Path) -> None:
    version = publish(tmp_path, [wants("b"), wants("d")], [wants("a"), wants("c")])
    snapshot = IndexReader(tmp_path, [ENGINE]).at(version)
    expected = ["a", "b", "c", "d"]
    assert [[i for i, _, _ in rows] for rows in answers(snapshot, block(1, 0, 3, 9))] == [
        expected[:1],
        expected,
        expected[:3],
        expected,
    ]


CANDIDATES = st.lists(
    st.tuples(st.binary(max_size=3), st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), max_size=40
)


@settings(deadline=None)
@given(CANDIDATES, st.lists(st.integers(0, 5), min_size=4, max_size=4))
def test_combining_is_sorting(candidates: list[tuple[bytes, int, int, int]], top: list[int]) -> None:
    """Candidates are (id, score, event, segment); an id lives in one segment and matches an event once."""
    home: dict[bytes, int] = {}
    points: dict[tuple[bytes, int], int] = {}
    for id_, score, event, segment in candidates:
        home.setdefault(id_, segment)
        points.setdefault((id_, event), score)
    members = [sorted(id_ for id_ in home if home[id_] == k) for k in range(4)]
    matches = []
    for k in range(4):
        rows = sorted((e, -s, members[k].index(i)) for (i, e), s in points.items() if home[i] == k)
        by_event = [[row for row in rows if row[0] == e][: top[e] or None] for e in range(4)]
        columns = np.array([row for rows in by_event for row in rows], np.int64).reshape(-1, 3)
        matches.append(
            MatchRows(columns[:, 0].astype(np.int32), columns[:, 2].astype(np.int32), -columns[:, 1]).matches(4)
        )
    found = combine(np.array(top, np.int32), matches, [ByteRows.of(names) for names in members])
    expected = []
    for e in range(4):
        ordered = sorted((-score, id_) for (id_, event), score in points.items() if event == e)[: top[e] or None]
        expected += [(e, id_, -negated, rank) for rank, (negated, id_) in enumerate(ordered, 1)]
    places = (found.event.tolist(), found.segment.tolist(), found.subscription.tolist())
    assert [
        (e, members[k][o], s, r)
        for e, k, o, s, r in zip(*places, found.score.tolist(), found.rank.tolist(), strict=True)
    ] == expected


def test_ids_labels_and_bodies_belong_to_the_match(tmp_path: Path) -> None:
    old = wants("b", 9.0, colour="red")
    version = publish(tmp_path, [old, wants("d", 3.0)], [wants("a", 2.0, note="é"), wants("c", 4.0)])
    snapshot = IndexReader(tmp_path, [ENGINE]).at(version)
    found = snapshot.match(block(0))
    assert snapshot.ids(found) == [b"b", b"c", b"d", b"a"]
    assert snapshot.labels(found) == [b'{"colour":"red"}', b"{}", b"{}", '{"note":"é"}'.encode()]
    assert snapshot.text_bytes(found).tolist() == [17, 1, 1, 14]
    assert snapshot.get("b") == old
    assert snapshot.get("e") is None


def test_a_replaced_body_and_a_removed_id_are_gone_from_the_next_version_only(tmp_path: Path) -> None:
    first = publish(tmp_path, [wants("a", 3.0), wants("b", 2.0), wants("c", 1.0)])
    second = publish(tmp_path, [wants("a", value="y")], removed=["b", "never seen"])
    reader = IndexReader(tmp_path, [ENGINE])
    assert ids(reader.at(second)) == ["c"]
    assert reader.at(second).get("a") == wants("a", value="y")
    assert reader.at(second).get("b") is None
    assert ids(reader.at(first)) == ["a", "b", "c"]
    assert ids(reader.at(second), top=1) == ["c"], "the dead displace nobody"
    assert (reader.at(second).stats.subscriptions, reader.at(second).stats.dead) == (2, 2)


def test_within_a_delta_the_later_segment_wins_and_a_removal_reaches_older_segments_only(tmp_path: Path) -> None:
    publish(tmp_path, [wants("a", 5.0)])
    version = publish(tmp_path, [wants("a", 1.0), wants("b", 1.0)], [wants("a", 2.0)], removed=["a"])
    snapshot = IndexReader(tmp_path, [ENGINE]).at(version)
    assert answers(snapshot, block(0)) == [[("a", 2 * SCORE_SCALE, 1), ("b", SCORE_SCALE, 2)]]


def test_versions_share_what_they_have_in_common(tmp_path: Path) -> None:
    first = publish(tmp_path, [wants("a"), wants("b")], [wants("c")])
    second = publish(tmp_path, [wants("d")], removed=["a"])
    reader = IndexReader(tmp_path, [ENGINE])
    before, after = reader.at(first), reader.at(second)
    assert before is not after
    assert reader.at(second) is after
    assert [s.matcher for s in after.segments[:2]] == [s.matcher for s in before.segments]
    assert after.segments[1] is before.segments[1]
    assert ids(before) == ["a", "b", "c"], "an open snapshot stays as it was"


def test_a_replayed_delta_is_published_once(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path, "cluster/topic")
    version = writer.publish([write_segment(tmp_path, ENGINE, [wants("a")])], [], {0: 10, 1: 4})
    newer = writer.publish([write_segment(tmp_path, ENGINE, [wants("a", value="y")])], [], {0: 12})
    replay = write_segment(tmp_path, ENGINE, [wants("a")])
    assert writer.publish([replay], [], {0: 10, 1: 4}) == newer > version
    assert ids(IndexReader(tmp_path, [ENGINE]).at(newer)) == []
    assert latest(tmp_path).absorbed == {0: 12, 1: 4}


def test_offsets_that_would_bring_back_older_records_are_refused(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    writer.publish([], [], {0: 10, 1: 4})
    with pytest.raises(TocsinError, match=r"partitions \[0\] would bring back older records. Start reading at"):
        writer.publish([], ["a"], {0: 9, 1: 5})
    assert latest(tmp_path).absorbed == {0: 10, 1: 4}


def test_an_index_of_another_source_is_refused(tmp_path: Path) -> None:
    IndexWriter(tmp_path, "one/topic").publish([], [], {0: 1})
    with pytest.raises(TocsinError, match=r"was filled from one/topic, not from two/topic. Name another index"):
        IndexWriter(tmp_path, "two/topic").publish([], [], {0: 2})


def test_a_segment_cannot_be_published_twice(tmp_path: Path) -> None:
    info = write_segment(tmp_path, ENGINE, [wants("a")])
    IndexWriter(tmp_path).publish([info], [], {})
    with pytest.raises(ValueError, match="published once"):
        IndexWriter(tmp_path).publish([info], [], {})


def test_a_version_with_a_missing_file_is_not_opened_in_part(tmp_path: Path) -> None:
    publish(tmp_path, [wants("a"), wants("b")], [wants("c")])
    version = publish(tmp_path, [wants("d")], removed=["a"])
    for folder in ("segments", "dead", "manifests"):
        for path in sorted((tmp_path / folder).iterdir()):
            if path.name == "00000000000000000001.json":
                continue
            path.rename(tmp_path / "away")
            with pytest.raises(DamagedFile, match="no such file") as caught:
                IndexReader(tmp_path, [ENGINE]).at(version)
            assert str(path) in str(caught.value)
            (tmp_path / "away").rename(path)


def test_a_segment_swapped_with_another_is_found(tmp_path: Path) -> None:
    version = publish(tmp_path, [wants("a")], [wants("b")])
    one, other = sorted((tmp_path / "segments").iterdir())
    other.write_bytes(one.read_bytes())
    with pytest.raises(DamagedFile):
        IndexReader(tmp_path, [ENGINE]).at(version)


def test_an_unknown_engine_is_named(tmp_path: Path) -> None:
    version = publish(tmp_path, [wants("a")])
    with pytest.raises(TocsinError, match="built by engine 'oracle', and this job knows"):
        IndexReader(tmp_path, []).at(version)


def test_a_merge_keeps_every_answer_and_leaves_one_segment(tmp_path: Path) -> None:
    subscriptions = [wants(f"s{i:02}", weight=float(i % 3), n=str(i)) for i in range(30)]
    for i in range(0, 30, 3):
        publish(tmp_path, subscriptions[i : i + 3])
    before = publish(tmp_path, removed=["s04", "s05", "s29"])
    reader = IndexReader(tmp_path, [ENGINE])
    expected = answers(reader.at(before), block(0, 5))
    (after,) = compact(tmp_path, ENGINE)
    snapshot = reader.at(after)
    assert answers(snapshot, block(0, 5)) == expected
    assert [snapshot.get(s.id) for s in subscriptions] == [
        None if s.id in ("s04", "s05", "s29") else s for s in subscriptions
    ]
    assert (snapshot.stats.segments, snapshot.stats.subscriptions, snapshot.stats.dead) == (1, 27, 0)
    assert due(tmp_path) == []


def test_what_dies_or_moves_during_a_merge_stays_dead_after_it(tmp_path: Path) -> None:
    publish(tmp_path, [wants("b"), wants("d"), wants("f")], [wants("a"), wants("e")], [wants("c")])
    plan = MergePlan(tuple(entry.segment.name for entry in latest(tmp_path).segments))

    class Interrupted(OracleEngine):
        def build(self, subscriptions: Sequence[Subscription]) -> dict[str, np.ndarray]:
            publish(tmp_path, [wants("b", 7.0)], removed=["a", "e"])
            publish(tmp_path, removed=["f"])
            return dict(super().build(subscriptions))

    version = merge(tmp_path, plan, Interrupted())
    assert version == latest_version(tmp_path) == 4
    snapshot = IndexReader(tmp_path, [ENGINE]).at(4)
    assert answers(snapshot, block(0)) == [[("b", 7 * SCORE_SCALE, 1), ("c", SCORE_SCALE, 2), ("d", SCORE_SCALE, 3)]]
    assert [s.entry.segment.count for s in snapshot.segments] == [6, 1]


def test_a_merge_whose_input_is_gone_changes_nothing(tmp_path: Path) -> None:
    publish(tmp_path, [wants("a")], [wants("b")], [wants("c")])
    names = [entry.segment.name for entry in latest(tmp_path).segments]

    class Outrun(OracleEngine):
        def build(self, subscriptions: Sequence[Subscription]) -> dict[str, np.ndarray]:
            assert merge(tmp_path, MergePlan((names[1], names[2])), ENGINE) == 2
            return dict(super().build(subscriptions))

    assert merge(tmp_path, MergePlan((names[0], names[1])), Outrun()) is None
    assert latest_version(tmp_path) == 2
    assert ids(IndexReader(tmp_path, [ENGINE]).at(2)) == ["a", "b", "c"]
    assert len(list((tmp_path / "segments").iterdir())) == 4, "the loser's segment is removed"
    assert merge(tmp_path, MergePlan((names[0], names[1])), ENGINE) is None


def test_a_merge_of_nothing_alive_leaves_no_segment(tmp_path: Path) -> None:
    publish(tmp_path, [wants("a"), wants("b")], [wants("c")])
    publish(tmp_path, removed=["a", "b", "c"])
    assert compact(tmp_path, ENGINE) == [3]
    assert latest(tmp_path).segments == ()
    assert IndexReader(tmp_path, [ENGINE]).at(3).stats.segments == 0


def test_everything_that_dies_during_a_merge_leaves_no_segment(tmp_path: Path) -> None:
    publish(tmp_path, [wants("a")], [wants("b")])
    plan = MergePlan(tuple(entry.segment.name for entry in latest(tmp_path).segments))

    class Interrupted(OracleEngine):
        def build(self, subscriptions: Sequence[Subscription]) -> dict[str, np.ndarray]:
            publish(tmp_path, removed=["a", "b"])
            return dict(super().build(subscriptions))

    assert merge(tmp_path, plan, Interrupted()) == 3
    assert latest(tmp_path).segments == ()


def test_a_merge_does_not_copy_damage(tmp_path: Path) -> None:
    many = [wants(f"s{i:06}", value="v" * 200) for i in range(5000)]
    publish(tmp_path, many, [wants("a")])
    path = max((tmp_path / "segments").iterdir(), key=lambda p: p.stat().st_size)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    plan = MergePlan(tuple(entry.segment.name for entry in latest(tmp_path).segments))
    with pytest.raises(DamagedFile):
        merge(tmp_path, plan, ENGINE)
    assert latest_version(tmp_path) == 1


def _write_while_read(index: Path, told: Path) -> None:
    """Publish 50 deltas and at least 10 merges; tell each version's content when all is done."""
    rng = np.random.default_rng(7)
    bodies: dict[str, Subscription] = {}
    contents: dict[int, list[Subscription]] = {}
    merges = 0
    for _ in range(50):
        delta = {f"s{i}": wants(f"s{i}", float(rng.integers(4))) for i in rng.choice(40, 3, replace=False)}
        removed = [f"s{i}" for i in rng.choice(40, 2) if f"s{i}" not in delta]
        bodies = {k: v for k, v in (bodies | delta).items() if k not in removed}
        contents[publish(index, list(delta.values()), removed=removed)] = list(bodies.values())
        segments = [entry.segment.name for entry in latest(index).segments]
        if len(segments) > 4:
            merged = merge(index, MergePlan(tuple(segments[-4:])), ENGINE)
            assert merged is not None
            contents[merged] = list(bodies.values())
            merges += 1
            collect(index, superseded=5, unpublished=5)
    assert merges >= 10
    told.write_bytes(msgspec.msgpack.encode(contents))


def test_a_reader_of_a_changing_index_sees_whole_versions_only(tmp_path: Path) -> None:
    """Every answer taken while another process publishes, merges and collects is the answer of the version asked."""
    index, told = tmp_path / "index", tmp_path / "told"
    process = FORK.Process(target=_write_while_read, args=(index, told))
    process.start()
    reader = IndexReader(index, [ENGINE])
    seen: dict[int, list[list[tuple[str, int, int]]]] = {}
    while process.is_alive():
        version = latest_version(index)
        seen[version] = answers(reader.at(version), block(0, 3))
    process.join()
    assert process.exitcode == 0
    assert len(seen) > 10
    contents = {0: [], **msgspec.msgpack.decode(told.read_bytes(), type=dict[int, list[Subscription]])}
    for version, rows in seen.items():
        for top, row in zip((None, 3), rows, strict=True):
            assert [(i, s) for i, s, _ in row] == best_matches(contents[version], Event({"a": ("x",)}), top)


def test_an_event_block_without_any_value_still_meets_negative_subscriptions(tmp_path: Path) -> None:
    version = publish(tmp_path, [Subscription("n", NotExists("a"))], [wants("p")])
    snapshot = IndexReader(tmp_path, [ENGINE]).at(version)
    rows = answers(snapshot, EventBlock.from_events([Event({}), Event({"a": ("x",)})]))
    assert [[i for i, _, _ in row] for row in rows] == [["n"], ["p"]]
