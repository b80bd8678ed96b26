"""What runs in Spark's workers, called directly: absorbing a partition, matching one, and the spool between the two."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from index.writer import IndexWriter
from schemas.limits import Limits
from schemas.records import DeadLetter
from stream import rows, spool
from stream.absorber import AbsorbedPartition, absorb_batches, partition_decoder
from stream.decoding import Decoding, RegistryFailure
from stream.matcher import GREGORIAN_MILLIS, MatchTask, match_batches
from stream.spool import SpoolPlan
from tests.stream.worker_records import absorb_task, records


def _absorb(index: Path, *batches: pa.RecordBatch) -> tuple[AbsorbedPartition, list[DeadLetter]]:
    found = list(absorb_batches(absorb_task(index), iter(batches)))
    (part,) = rows.values_of(found, rows.SEGMENT)
    return msgspec.msgpack.decode(part, type=AbsorbedPartition), _letters(found)


def _letters(found: list[pa.RecordBatch]) -> list[DeadLetter]:
    return [msgspec.msgpack.decode(value, type=DeadLetter) for value in rows.values_of(found, rows.DEAD_LETTER)]


def _task(index: Path, version: int, **changes: Any) -> MatchTask:
    task = MatchTask(
        index=str(index),
        version=version,
        topic="events",
        decoding=Decoding(),
        top=0,
        emit="match",
        include_event=False,
        spool=SpoolPlan(str(index / "spool"), 1 << 20),
    )
    return msgspec.structs.replace(task, **changes)


def _notifications(batches: list[pa.RecordBatch]) -> list[tuple[bytes | None, dict[str, Any]]]:
    return [
        (key, json.loads(value))
        for batch in spool.expand(iter(batches))
        for kind, key, value in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        if kind == rows.NOTIFICATION
    ]


@pytest.fixture
def index(tmp_path: Path) -> tuple[Path, int]:
    """Two subscriptions, of which ``a`` carries a label."""
    writer = IndexWriter(tmp_path)
    part, letters = _absorb(
        tmp_path, records((b"a", {"filter": "x = 1^0.5", "labels": {"who": "ann"}}), (b"b", {"filter": "x exists"}))
    )
    assert letters == []
    assert part.segment is not None
    return tmp_path, writer.publish([part.segment], part.removed, {0: 2})


def test_the_last_valid_record_of_an_id_wins_by_offset_in_whatever_order_the_rows_come(tmp_path: Path) -> None:
    later = records((b"s", {"filter": "v = 2"}), (b"s", b"broken"), (b"gone", None), first=10)
    earlier = records((b"s", {"filter": "v = 1"}), (b"gone", {"filter": "v = 1"}))
    part, letters = _absorb(tmp_path, later, earlier)
    assert part.removed == ["gone"]
    assert [(letter.key, letter.offset, letter.reason) for letter in letters] == [(b"s", 11, "subscription.json")]
    assert part.segment is not None
    assert part.segment.count == 1
    version = IndexWriter(tmp_path).publish([part.segment], part.removed, {0: 13})
    found = list(match_batches(_task(tmp_path, version), iter([records((None, {"v": 1}), (None, {"v": 2}))])))
    assert [body["event"]["offset"] for _, body in _notifications(found)] == [1]


def test_trees_of_2000_levels_are_absorbed_and_matched(tmp_path: Path) -> None:
    decoding = Decoding(limits=Limits(depth=2_000))
    text = b'{"op":"in","attribute":"v","values":[1]}'
    for level in range(2_000):
        text = b'{"op":"%s","args":[%s]}' % (b"or" if level % 2 else b"and", text)
    trees = {b"nots": b'{"filter":"%sv = 1"}' % (b"not " * 2_000), b"alternating": b'{"expression":%s}' % text}
    task = absorb_task(tmp_path, decoding=decoding)
    deeper = (b"deeper", b'{"filter":"%sv = 1"}' % (b"not " * 2_001))
    found = list(absorb_batches(task, iter([records(*trees.items(), deeper)])))
    assert [letter.reason for letter in _letters(found)] == ["expression.too_deep"]
    (part,) = map(partition_decoder.decode, rows.values_of(found, rows.SEGMENT))
    assert part.segment is not None
    version = IndexWriter(tmp_path).publish([part.segment], part.removed, {0: 3})
    matched = list(match_batches(_task(tmp_path, version), iter([records((None, {"v": 1}), (None, {"v": 2}))])))
    assert sorted(key for key, _ in _notifications(matched) if key) == sorted(trees)


def test_a_record_without_a_key_is_a_dead_letter(tmp_path: Path) -> None:
    part, letters = _absorb(tmp_path, records((None, {"filter": "v = 1"}), (b"s", {"filter": "v = 1"})))
    assert [letter.reason for letter in letters] == ["key.null"]
    assert part.segment is not None
    assert part.segment.count == 1


def test_what_was_refused_before_is_no_dead_letter_again_when_the_topic_is_read_anew(tmp_path: Path) -> None:
    """A rebuild of the index reads records whose dead letters were committed; what is right among them counts."""
    batch = records((b"a", {"filter": "x ="}), (b"b", {"filter": "x = 1"}), (b"c", {"filter": "x ="}))
    for committed, letters in (({}, [0, 2]), ({0: 1}, [2]), ({0: 3}, []), ({1: 3}, [0, 2])):
        task = absorb_task(tmp_path, committed=committed)
        found = list(absorb_batches(task, iter([batch])))
        assert [letter.offset for letter in _letters(found)] == letters
        (part,) = (partition_decoder.decode(value) for value in rows.values_of(found, rows.SEGMENT))
        assert part.segment is not None
        assert part.segment.count == 1


def test_the_counts_of_a_partition_are_of_all_that_its_task_was_given(tmp_path: Path) -> None:
    batches = [records((b"a", {"filter": "x ="}), (b"b", None)), records((b"c", b"broken"), first=2), records()]
    found = list(absorb_batches(absorb_task(tmp_path), iter(batches)))
    counts = rows.total_counts(found)
    assert (counts.records, counts.dead_letters) == (3, 2)
    assert len(_letters(found)) == 2


def test_of_very_many_records_that_are_refused_the_driver_gets_a_file(tmp_path: Path) -> None:
    """A topic that was filled by another format has hundreds of thousands, more than the driver or Arrow can hold."""
    batches = [records(*[(b"s", b"broken" * 100)] * 100, first=100 * n) for n in range(20)]
    batches.append(records((b"s", {"filter": "v = 1"}), first=2_000))
    task = absorb_task(tmp_path, spool=SpoolPlan(str(tmp_path / "spool"), 1_000))
    found = list(absorb_batches(task, iter(batches)))
    assert sum(batch.nbytes for batch in found) < 100 * 1_000, "the first batch's, and the name of the file"
    assert [letter.offset for letter in _letters(list(spool.expand(iter(found))))] == list(range(2_000))
    assert rows.total_counts(found).dead_letters == 2_000
    (part,) = map(partition_decoder.decode, rows.values_of(found, rows.SEGMENT))
    assert part.segment is not None


def test_a_partition_without_records_makes_no_rows(tmp_path: Path) -> None:
    assert list(absorb_batches(absorb_task(tmp_path), iter([records()]))) == []


def test_one_record_a_match_is_keyed_by_subscription_and_ranked(index: tuple[Path, int]) -> None:
    found = list(match_batches(_task(*index), iter([records((b"k", {"x": 1}), (None, {"y": 1}))])))
    ref = {"topic": "events", "partition": 0, "offset": 0, "key": "k", "time": "2023-11-14T22:13:20.000Z"}
    assert _notifications(found) == [
        (b"a", {"subscription": "a", "score": 0.5, "rank": 1, "event": ref, "labels": {"who": "ann"}}),
        (b"b", {"subscription": "b", "score": 0.0, "rank": 2, "event": ref, "labels": {}}),
    ]


def test_an_event_gets_its_best_matches_as_many_as_are_set_unless_it_says_so_itself(index: tuple[Path, int]) -> None:
    batch = records((None, {"x": 1}), (None, {"x": 1, "$top": 2}))
    found = _notifications(list(match_batches(_task(*index, top=1), iter([batch]))))
    assert [(body["event"]["offset"], body["subscription"]) for _, body in found] == [(0, "a"), (1, "a"), (1, "b")]


def test_a_subscription_is_valid_by_the_timestamps_of_the_events(tmp_path: Path) -> None:
    valid = {"filter": "x exists", "not_before": "2023-11-14T22:13:20.001Z", "not_after": "2023-11-14T22:13:20.002Z"}
    part, _ = _absorb(tmp_path, records((b"s", valid)))
    assert part.segment is not None
    version = IndexWriter(tmp_path).publish([part.segment], [], {0: 1})
    found = list(match_batches(_task(tmp_path, version), iter([records(*[(None, {"x": 1})] * 4)])))
    assert [body["event"]["offset"] for _, body in _notifications(found)] == [1, 2]


def test_the_body_of_an_event_in_avro_is_told_as_json(index: tuple[Path, int]) -> None:
    schema = {"type": "record", "name": "E", "fields": [{"name": "x", "type": "long"}, {"name": "s", "type": "string"}]}
    task = _task(*index, include_event=True, decoding=Decoding("avro", schema=json.dumps(schema)))
    found = _notifications(list(match_batches(task, iter([records((None, b"\x02\x04ab"))]))))
    assert [body["event_body"] for _, body in found] == [{"x": 1, "s": "ab"}] * 2


def test_one_record_an_event_is_keyed_like_the_event_and_carries_its_body_when_asked(index: tuple[Path, int]) -> None:
    task = _task(*index, emit="event", include_event=True)
    ((key, body),) = _notifications(list(match_batches(task, iter([records((b"k", {"x": 1}), (None, {"y": 1}))]))))
    assert key == b"k"
    assert [(match["subscription"], match["score"]) for match in body["matches"]] == [("a", 0.5), ("b", 0.0)]
    assert body["event_body"] == {"x": 1}


@pytest.mark.parametrize("emit", ["match", "event"])
def test_a_notification_is_one_line_however_the_event_in_it_was_written(index: tuple[Path, int], emit: Any) -> None:
    """Its values stay as they were written."""
    deep = b"[" * 60 + b"]" * 60
    pretty = b'{\r\n "x": 1.50,\n "n" : 12345678901234567,\n "s": "a\\n\\u00e9 b",\n "d": ' + deep + b"\n}\n"
    returns = b'{"x":\r1.50,"n":12345678901234567,"s":"a\\n\\u00e9 b",\r"d":' + deep + b"}"
    plain = b'{ "x" : 1.50, "n": 1e3 }'
    task = _task(*index, emit=emit, include_event=True)
    found = list(match_batches(task, iter([records((None, pretty), (None, returns), (None, plain))])))
    values = rows.values_of(found, rows.NOTIFICATION)
    assert not any(b"\n" in value or b"\r" in value for value in values)
    compact = b'{"x":1.50,"n":12345678901234567,"s":"a\\n\\u00e9 b","d":' + deep + b"}"
    assert [compact in value or plain in value for value in values] == [True] * len(values)
    assert {compact in value for value in values} == {True, False}


def test_a_record_without_a_value_is_passed_over_and_a_broken_one_is_a_dead_letter(index: tuple[Path, int]) -> None:
    found = list(match_batches(_task(*index), iter([records((b"n", None), (b"k", b'{"x":'), (None, {"x": 1}))])))
    assert [(letter.key, letter.value, letter.offset, letter.reason) for letter in _letters(found)] == [
        (b"k", b'{"x":', 1, "event.json"),
    ]
    assert {body["event"]["offset"] for _, body in _notifications(found)} == {2}
    assert rows.total_counts(found).dead_letters == 1


def test_a_timestamp_of_the_julian_calendar_is_refused_since_spark_tells_another_one(index: tuple[Path, int]) -> None:
    batch = records((b"old", {"x": 1}), (None, {"x": 1}))
    millis = pa.array([GREGORIAN_MILLIS - 1, GREGORIAN_MILLIS], pa.int64())
    found = list(match_batches(_task(*index), iter([batch.set_column(4, "millis", millis)])))
    assert [(letter.key, letter.reason) for letter in _letters(found)] == [(b"old", "event.time")]
    assert {body["event"]["time"] for _, body in _notifications(found)} == {"1582-10-15T00:00:00.000Z"}


def _avro_task(index: tuple[Path, int], failure: RegistryFailure) -> MatchTask:
    """A task whose schema registry nobody runs."""
    decoding = Decoding("avro_registry", registry=(("url", "http://127.0.0.1:1"),), registry_failure=failure)
    return _task(*index, decoding=decoding)


FRAMED = records(*[(None, b"\0\0\0\0\7\2")] * 3, (None, b"{}"))


def test_a_registry_that_does_not_answer_postpones_the_whole_batch(index: tuple[Path, int]) -> None:
    """Of the input nothing is left unread, and of a subscriptions batch no segment is written."""
    task = _avro_task(index, "wait")
    batches = iter([FRAMED, FRAMED, FRAMED])
    (reason,) = rows.values_of(list(match_batches(task, batches)), rows.POSTPONED)
    assert b"can't be reached for schema 7" in reason
    assert list(batches) == []
    keyed = records(*[(b"s", b"\0\0\0\0\7\2")] * 3)
    before = sorted((index[0] / "segments").iterdir())
    found = list(absorb_batches(absorb_task(index[0], decoding=task.decoding), iter([keyed, keyed])))
    assert [batch.column(0).to_pylist() for batch in found] == [[rows.POSTPONED]]
    assert sorted((index[0] / "segments").iterdir()) == before


def test_an_index_that_does_not_allow_an_answer_ends_the_job_with_its_sentence(index: tuple[Path, int]) -> None:
    batches = iter([FRAMED, FRAMED])
    found = list(match_batches(_task(index[0], 4711), batches))
    (reason,) = rows.values_of(found, rows.FAILED)
    assert b"4711.json is damaged: found no such file" in reason
    assert list(batches) == []


def test_a_registry_that_does_not_answer_makes_dead_letters_when_that_is_asked_for(index: tuple[Path, int]) -> None:
    found = list(match_batches(_avro_task(index, "dead-letter"), iter([FRAMED])))
    assert [letter.reason for letter in _letters(found)] == ["registry.unavailable"] * 3 + ["event.avro_prefix"]
    assert rows.values_of(found, rows.POSTPONED) == []


def test_spooled_rows_are_the_same_rows_in_the_same_order(index: tuple[Path, int]) -> None:
    """Past its limit a task writes a file and sends a path; the driver reads the rows back in their place."""
    batches = [records(*[(None, {"x": n % 2})] * 3, first=3 * n) for n in range(20)]
    inline = list(match_batches(_task(*index), iter(batches)))
    spooling = _task(*index, spool=SpoolPlan(str(index[0] / "spool"), 400))
    spooled = list(match_batches(spooling, iter(batches)))
    assert len(rows.values_of(spooled, rows.SPOOL)) == 1
    assert _notifications(spooled) == _notifications(inline)
    assert len(_notifications(inline)) == 20 * 3 + 30
    spool.clear(index[0] / "spool")
    assert list((index[0] / "spool").iterdir()) == []


@pytest.mark.parametrize("together", [False, True])
def test_rows_are_the_same_wherever_spooling_begins_and_however_spark_puts_rows_together(
    tmp_path: Path, together: bool
) -> None:
    """What goes by until then has a bound in all, and not each batch for itself."""
    batches = [
        rows.record_batch(rows.NOTIFICATION, [b"k"] * n, [b"%d" % (10 * n + i) for i in range(n)]) for n in (3, 2, 1, 4)
    ]
    expected = pa.Table.from_batches(batches).to_pylist()
    for limit in range(0, sum(batch.nbytes for batch in batches) + 10, 5):
        spooled = list(spool.bounded(SpoolPlan(str(tmp_path / "spool"), limit), iter(batches)))
        passed = [batch for batch in spooled if not rows.values_of([batch], rows.SPOOL)]
        assert sum(batch.nbytes for batch in passed[:-1]) <= limit
        answers = [*spooled, rows.struct_row(rows.COUNTS, rows.Counts())]
        if together:
            answers = pa.Table.from_batches(answers).combine_chunks().to_batches()
        (*found, counts) = [row for batch in spool.expand(iter(answers)) for row in batch.to_pylist()]
        assert found == expected
        assert counts["kind"] == rows.COUNTS
    assert list((tmp_path / "spool").iterdir()) != []
    assert stat.S_IMODE((tmp_path / "spool").stat().st_mode) == 0o700, "events are nobody else's"


def test_a_replay_of_the_same_task_gives_the_same_bytes(index: tuple[Path, int]) -> None:
    batch = records(*[(b"k%d" % n, {"x": n % 3}) for n in range(50)])
    first, second = (
        [b.to_pylist() for b in match_batches(_task(*index), iter([batch])) if b.column(0)[0].as_py() != rows.COUNTS]
        for _ in range(2)
    )
    assert len(_notifications([pa.RecordBatch.from_pylist(b, schema=rows.SCHEMA) for b in first])) > 0
    assert first == second
