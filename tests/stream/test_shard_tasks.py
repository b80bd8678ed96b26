"""An index of several shards: what workers make of it, called directly and through Spark, is what one shard gives."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from index.manifest import latest
from index.shards import Shard
from index.writer import IndexWriter
from schemas.errors import Refused
from schemas.records import Event
from stream import matcher, pieces, rows, spool
from stream.absorber import AbsorbedPartition, absorb_batches
from stream.decoding import Decoding, EventDecoder, event_decoder
from stream.matcher import MatchTask, match_batches
from stream.parts import Parts, Row
from stream.shard_candidates import ORDER, SCHEMA, shard_candidates
from stream.shard_merge import merge_batches
from stream.shard_pass import match_shards
from stream.spool import SpoolPlan
from tests.stream.worker_records import absorb_task, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARDS = (1, 2, 5)


FILTERS: dict[str, Any] = {f"s{n:03}": {"filter": f"a in ({n % 3}^0.5, {3 + n % 5})"} for n in range(200)}
"""Every score is shared by many, so ids decide."""
FILTERS |= {f"é{n}": {"filter": "b > 3", "labels": {"n": str(n)}} for n in range(30)}
REMOVED = ["s000", "s111", "é7", "never there"]
REPLACED = {"s001": {"filter": "a exists ^0.25"}, "é8": {"filter": "a = 1", "labels": {"now": "ü"}}}


def index_of(root: Path, shards: int) -> MatchTask:
    """Return the task of an index that a load, a replacement and removals have made."""
    writer = IndexWriter(root, shards=shards)
    later = [*((id_, body) for id_, body in REPLACED.items()), *((id_, None) for id_ in REMOVED)]
    for number, entries in enumerate((list(FILTERS.items()), later), 1):
        found = absorb(root, [(id_.encode(), body) for id_, body in entries], shards)
        segments = [part.segment for part in found if part.segment is not None]
        version = writer.publish(segments, [id_ for part in found for id_ in part.removed], {0: number})
    return MatchTask(
        index=str(root),
        version=version,
        topic="events",
        decoding=Decoding(),
        top=0,
        emit="match",
        include_event=False,
        spool=SpoolPlan(str(root / "spool"), 1 << 20),
        shards=shards,
    )


def absorb(root: Path, entries: Sequence[tuple[bytes | None, Any]], shards: int) -> list[AbsorbedPartition]:
    task = absorb_task(root, shards=shards)
    found = list(absorb_batches(task, iter([records(*entries)])))
    return [msgspec.msgpack.decode(value, type=AbsorbedPartition) for value in rows.values_of(found, rows.SEGMENT)]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[MatchTask]:
    """The same subscriptions in an index of each number of shards."""
    return [index_of(tmp_path_factory.mktemp(f"shards-{shards}"), shards) for shards in SHARDS]


EVENTS: list[tuple[bytes | None, Any]] = [
    *((f"k{n}".encode(), {"a": [n % 9, n % 4], "b": n % 6}) for n in range(60)),
    (None, {"a": 1, "$top": 3}),
    (b"\xff", {"a": [0, 1, 2], "b": 9, "$top": 1, "$weights": {"a": {"2": 0.25}}}),
    (b"k", b"no event"),
    (None, None),
    (b"k", {"c": 1}),
    (None, b'{"a":'),
    (None, {"a": 6, "$top": 1000}),
]


def through(task: MatchTask, batches: Sequence[pa.RecordBatch], at_once: int = 50) -> list[pa.RecordBatch]:
    """Return the rows that workers make; what Spark does between the two stages is done here."""
    if task.shards == 1:
        return list(match_batches(task, iter(batches)))
    matched = [
        batch
        for number in reversed(range(task.shards))
        for batch in shard_candidates(task, Shard(number, task.shards), iter(batches))
    ]
    return merged(task, matched, at_once)


def merged(task: MatchTask, matched: Sequence[pa.RecordBatch], at_once: int = 50) -> list[pa.RecordBatch]:
    order = [(name, "ascending" if up else "descending") for name, up in ORDER]
    gathered = pa.Table.from_batches(matched, SCHEMA).sort_by(order)
    places = [gathered.filter(pc.field("place") == place) for place in sorted(set(gathered["place"].to_pylist()))]
    return [answer for table in places for answer in merge_batches(task, iter(table.to_batches(at_once)))]


def output(answers: Sequence[pa.RecordBatch]) -> list[Row]:
    """Return what is produced, in order."""
    every = (row for b in spool.expand(iter(answers)) for row in zip(*(c.to_pylist() for c in b.columns), strict=True))
    return [row for row in every if row[0] in (rows.NOTIFICATION, rows.DEAD_LETTER)]


def of_kind(found: Sequence[Row], kind: int) -> list[Row]:
    return [row for row in found if row[0] == kind]


VARIANTS: list[dict[str, Any]] = [
    {},
    {"top": 4},
    {"emit": "event", "include_event": True},
    {"include_event": True, "top": 2, "matches_at_once": 8},
    {"matches_at_once": 1, "committed": {0: 31}},
    {"emit": "event", "top": 5, "committed": {0: 45, 1: 5}},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_the_bytes_do_not_depend_on_the_number_of_shards(tasks: list[MatchTask], changes: dict[str, Any]) -> None:
    batches = [records(*EVENTS).slice(0, 25), records(*EVENTS).slice(25)]
    one, *others = [through(msgspec.structs.replace(task, **changes), batches) for task in tasks]
    assert len(of_kind(output(one), rows.NOTIFICATION)) >= 2
    for answers in others:
        for kind in (rows.NOTIFICATION, rows.DEAD_LETTER):
            assert of_kind(output(answers), kind) == of_kind(output(one), kind)
        told, expected = rows.total_counts(answers), rows.total_counts(one)
        assert [told.records, told.matches, told.dead_letters] == [
            expected.records,
            expected.matches,
            expected.dead_letters,
        ]
        assert rows.all_moments(answers) == rows.all_moments(one)


def schemaless(decoding: Decoding) -> EventDecoder:
    """Return the decoder of a worker whose registry does not answer for some events."""

    def decode(value: bytes, time: int | None) -> Event:
        if b"[3, 3]" in value:
            raise Refused("registry.unavailable", "down")
        return event_decoder(decoding)(value, time)

    return decode


@pytest.mark.parametrize("emit", ["match", "event"])
@pytest.mark.parametrize("refusing", [{0}, {1}, {4}, {0, 2, 3}, set(range(5))], ids=str)
def test_an_event_that_some_shard_can_not_decode_is_one_dead_letter_and_matches_nothing(
    tasks: list[MatchTask], monkeypatch: pytest.MonkeyPatch, refusing: set[int], emit: str
) -> None:
    """Each shard's task asks the registry for itself, and may get another answer than the others."""
    batches = [records(*EVENTS)]
    one, several = (msgspec.structs.replace(tasks[n], emit=emit) for n in (0, 2))
    matched: list[pa.RecordBatch] = []
    for number in range(several.shards):
        monkeypatch.setattr(matcher, "event_decoder", schemaless if number in refusing else event_decoder)
        matched += shard_candidates(several, Shard(number, several.shards), iter(batches))
    answers = merged(several, matched)
    monkeypatch.setattr(matcher, "event_decoder", schemaless)
    expected = through(one, batches)
    for kind in (rows.NOTIFICATION, rows.DEAD_LETTER):
        assert of_kind(output(answers), kind) == of_kind(output(expected), kind)
    told, wanted = rows.total_counts(answers), rows.total_counts(expected)
    assert (told.records, told.matches, told.dead_letters) == (wanted.records, wanted.matches, wanted.dead_letters)
    assert told.dead_letters == 4, "two of an unknown schema, two that are no events anyway"


def test_rows_beyond_what_is_passed_inline_go_to_a_file_in_their_place(tasks: list[MatchTask], tmp_path: Path) -> None:
    batches = [records(*EVENTS)]
    expected = output(through(tasks[0], batches))
    spooling = msgspec.structs.replace(tasks[1], spool=SpoolPlan(str(tmp_path), 2_000))
    answers = through(spooling, batches)
    assert len(rows.values_of(answers, rows.SPOOL)) == 1
    assert rows.total_counts(answers).records == len(EVENTS), "counts are not in the file"
    assert sorted(output(answers)) == sorted(expected)
    assert of_kind(output(answers), rows.NOTIFICATION) == of_kind(expected, rows.NOTIFICATION)


def test_transactions_end_between_events_and_not_far_apart(tasks: list[MatchTask]) -> None:
    """Each part has whole events, and begins where the one before has ended."""
    task = msgspec.structs.replace(tasks[2], matches_at_once=400)
    parts = Parts(through(task, [records(*EVENTS)], at_once=10_000), {0: 100}, most=400, seconds=1e9)
    taken: list[Row] = []
    begin, count = 0, 0
    while not parts.done:
        part = list(parts.rows())
        events = {json.loads(value)["event"]["offset"] for kind, _, value in part if kind == rows.NOTIFICATION}
        assert all(begin <= offset < parts.offsets[0] for offset in events)
        assert len(part) <= 400 + 400 // 4 + len(FILTERS)
        taken, begin, count = taken + part, parts.offsets[0], count + 1
        parts.accept()
    assert begin == 100
    assert count > 3
    assert of_kind(taken, rows.NOTIFICATION) == of_kind(
        output(through(tasks[0], [records(*EVENTS)])), rows.NOTIFICATION
    )


@pytest.mark.parametrize("number", range(len(SHARDS)), ids=lambda number: f"shards={SHARDS[number]}")
def test_a_part_of_several_partitions_commits_the_offsets_of_each_event_that_it_has(
    tasks: list[MatchTask], number: int
) -> None:
    """The last events of a partition too: what a part has beyond its offsets would be matched again after a crash."""
    batches = [records(*EVENTS, partition=partition) for partition in range(3)]
    if SHARDS[number] == 1:
        answers = [answer for batch in batches for answer in through(tasks[number], [batch])]
    else:
        answers = through(tasks[number], batches, at_once=10_000)
    end = dict.fromkeys(range(3), 100)
    written = len(of_kind(output(answers), rows.NOTIFICATION))
    assert written > 0
    for most in range(1, written, written // 9):
        parts = Parts(answers, end, most, seconds=1e9)
        reached, notifications = dict.fromkeys(end, 0), 0
        while not parts.done:
            taken = of_kind(list(parts.rows()), rows.NOTIFICATION)
            now = reached | parts.offsets
            for place in (json.loads(value)["event"] for _, _, value in taken):
                assert reached[place["partition"]] <= place["offset"] < now[place["partition"]]
            assert max(now.values()) <= 100
            reached, notifications = now, notifications + len(taken)
            parts.accept()
        assert reached == end
        assert notifications == written


def test_a_part_may_end_after_each_batch_that_was_merged_and_no_more_often_than_matches_ask_for(
    tasks: list[MatchTask],
) -> None:
    """With few matches a part ends by time, and each mark cuts what is written into pieces."""
    answers = through(tasks[2], [records(*EVENTS)], at_once=100)
    merged_batches = sum(batch.num_rows for batch in answers) // 100
    assert len(rows.values_of(answers, rows.MARK)) > merged_batches / 2
    assert len(rows.values_of(answers, rows.MARK)) <= merged_batches + 5
    early = Parts(answers, {0: 100}, most=10**9, seconds=0)
    list(early.rows())
    assert early.offsets[0] < len(EVENTS) / 4
    task = msgspec.structs.replace(tasks[2], matches_at_once=4_000)
    answers = through(task, [records(*EVENTS)], at_once=10**6)
    marks, matches = len(rows.values_of(answers, rows.MARK)), rows.total_counts(answers).matches
    assert matches / 1_000 / 2 < marks < matches / 1_000 + 5


def test_large_answers_are_passed_on_piece_by_piece(tasks: list[MatchTask], monkeypatch: pytest.MonkeyPatch) -> None:
    task = msgspec.structs.replace(tasks[1], include_event=True)
    monkeypatch.setattr(pieces, "BYTES_AT_ONCE", 2_000)
    answers = through(task, [records(*EVENTS)], at_once=10_000)
    assert max(batch.nbytes for batch in answers) < 4_000
    assert len(answers) < 3 * sum(batch.nbytes for batch in answers) / 2_000, "nor row by row"
    whole = through(msgspec.structs.replace(tasks[0], include_event=True), [records(*EVENTS)])
    assert of_kind(output(answers), rows.NOTIFICATION) == of_kind(output(whole), rows.NOTIFICATION)


def test_a_task_writes_a_segment_a_shard_and_each_id_lies_in_its_own(tmp_path: Path) -> None:
    entries: list[tuple[bytes | None, Any]] = [(id_.encode(), body) for id_, body in FILTERS.items()]
    found = absorb(tmp_path, [*entries, (b"gone", None)], 5)
    infos = [part.segment for part in found if part.segment is not None]
    assert [info.shard for info in infos] == list(range(5))
    assert sum(info.count for info in infos) == len(FILTERS)
    assert min(info.count for info in infos) > len(FILTERS) / 10
    assert [part.removed for part in found if part.removed] == [["gone"]]
    IndexWriter(tmp_path, shards=5).publish(infos, ["gone"], {})
    assert latest(tmp_path).shards == 5


def test_what_can_not_be_answered_is_told_from_every_shard(tasks: list[MatchTask]) -> None:
    """Of an index that does not allow an answer, and of one of another number of shards."""
    for changes, said in (({"version": 4711}, b"4711.json is damaged"), ({"shards": 2}, b"job.shards is 2")):
        answers = through(msgspec.structs.replace(tasks[2], **changes), [records(*EVENTS)])
        assert all(said in reason for reason in rows.values_of(answers, rows.FAILED))
        assert len(rows.values_of(answers, rows.FAILED)) == changes.get("shards", 5)
    registry = Decoding("avro_registry", registry=(("url", "http://127.0.0.1:1"),))
    waiting = msgspec.structs.replace(tasks[1], decoding=registry)
    answers = through(waiting, [records((None, b"\0\0\0\0\7\2"))])
    assert len(rows.values_of(answers, rows.POSTPONED)) == 2


def test_spark_merges_as_one_shard_answers_whatever_the_order_of_the_tasks(
    spark: SparkSession, tasks: list[MatchTask]
) -> None:
    """Partition by partition, and when the plan is made again."""
    rng = random.Random(5)
    partitions = [[(None, {"a": rng.randrange(9), "b": rng.randrange(6)}) for _ in range(60)] for _ in range(2)]
    batches = [records(*entries, partition=partition) for partition, entries in enumerate(partitions)]
    expected = [row for batch in batches for row in output(through(tasks[0], [batch]))]
    table = pa.Table.from_batches(reversed(batches))
    frame = spark.createDataFrame(table).repartitionById(2, "partition")
    for _ in range(2):
        answers = match_shards(frame, tasks[1], partitions=2).toArrow().to_batches()
        assert output(answers) == expected
        assert rows.total_counts(answers).records == 120
        assert rows.total_counts(answers).matches == len(expected)
