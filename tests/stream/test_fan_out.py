"""Events that match very many subscriptions: what is held and committed at a time has a bound, nothing gets lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import psutil
import pyarrow as pa
import pytest

from index.reader import Snapshot
from index.writer import IndexWriter
from stream import pieces, rows, spool
from stream.absorber import AbsorbedPartition, absorb_batches
from stream.decoding import Decoding
from stream.matcher import MatchTask, Run, answer_batches, match_batches
from stream.parts import Parts, Row
from stream.spool import SpoolPlan
from tests.stream.worker_records import absorb_task, records

SUBSCRIPTIONS = 1_000
AT_ONCE = 2_500
EVENTS = 12
END = {0: EVENTS + 3}
"""Beyond the last event, as after a transaction's marker."""


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> MatchTask:
    """A worker's task with an index in which every subscription matches every event."""
    index = tmp_path_factory.mktemp("index")
    writer = IndexWriter(index)
    entries = [(f"s{n:04}".encode(), {"filter": "x >= 0"}) for n in range(SUBSCRIPTIONS)]
    found = list(absorb_batches(absorb_task(index), iter([records(*entries)])))
    (part,) = (msgspec.msgpack.decode(v, type=AbsorbedPartition) for v in rows.values_of(found, rows.SEGMENT))
    assert part.segment is not None
    return MatchTask(
        index=str(index),
        version=writer.publish([part.segment], [], {0: SUBSCRIPTIONS}),
        topic="events",
        decoding=Decoding(),
        top=0,
        emit="match",
        include_event=False,
        spool=SpoolPlan(str(index / "spool"), 100_000),
        matches_at_once=AT_ONCE,
    )


def _events() -> pa.RecordBatch:
    return records(*((None, {"x": n}) for n in range(EVENTS)))


def _notifications(taken: list[Row]) -> list[tuple[int, str]]:
    """Return event offset and subscription of notifications, in order."""
    decoded = [json.loads(value) for kind, _, value in taken if kind == rows.NOTIFICATION]
    return [(n["event"]["offset"], n["subscription"]) for n in decoded]


ALL = [(offset, f"s{n:04}") for offset in range(EVENTS) for n in range(SUBSCRIPTIONS)]


def test_a_worker_holds_no_more_matches_than_it_may_unless_one_event_has_more(
    task: MatchTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[tuple[int, int]] = []
    match = Snapshot.match

    def watched(self: Snapshot, block: Any, most: int | None = None) -> Any:
        found = match(self, block, most)
        held.append((block.size, len(found.event)))
        return found

    monkeypatch.setattr(Snapshot, "match", watched)
    answers = list(match_batches(task, iter([_events()])))
    assert _notifications(_taken(answers)) == ALL
    assert sum(matches for _, matches in held) == len(ALL)
    assert max(matches for _, matches in held) <= AT_ONCE
    assert sum(batch.nbytes for batch in answers) < 400_000, "most of it is in the spool's file"

    held.clear()
    tight = msgspec.structs.replace(task, matches_at_once=10)
    assert _notifications(_taken(list(match_batches(tight, iter([_events()]))))) == ALL
    assert held == [(1, SUBSCRIPTIONS)] * EVENTS


def test_blocks_stay_as_short_as_the_matches_of_earlier_ones_made_them(
    task: MatchTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 64 events 2 fit: those of the first block are tried in 64, 32, 16, 8 and 4 once, not again and again."""
    tried: list[int] = []
    match = Snapshot.match

    def watched(self: Snapshot, block: Any, most: int | None = None) -> Any:
        tried.append(block.size)
        return match(self, block, most)

    monkeypatch.setattr(Snapshot, "match", watched)
    many = records(*((None, {"x": n}) for n in range(256)))
    answers = list(answer_batches(Run(task, events_at_once=64), iter([many])))
    assert len(_notifications(_taken(answers))) == 256 * SUBSCRIPTIONS
    assert tried == [64, 32, 16, 8, 4, *[2] * 128]


def test_the_spools_file_is_read_and_not_mapped_so_that_it_does_not_fill_the_drivers_memory(task: MatchTask) -> None:
    answers = list(match_batches(task, iter([_events()])))
    (file,) = (value.decode() for value in rows.values_of(answers, rows.SPOOL))
    expanded = spool.expand(iter(answers))
    held = [next(expanded) for _ in answers] + [next(expanded)]
    assert sum(batch.nbytes for batch in held) > 0
    assert Path(file).stat().st_size < sum(batch.nbytes for batch in spool.expand(iter(answers))) / 4, "compressed"
    assert file not in {mapped.path for mapped in psutil.Process().memory_maps()}


@pytest.mark.parametrize(("emit", "events", "body"), [("match", 3, 20_000), ("event", 12, 900_000)])
def test_notifications_with_large_bodies_are_passed_on_piece_by_piece(
    task: MatchTask, emit: Literal["match", "event"], events: int, body: int
) -> None:
    """So many rows with such bodies would be tens of megabytes at once, and with larger ones more than Arrow takes."""
    wide = msgspec.structs.replace(task, emit=emit, include_event=True, matches_at_once=10**6)
    batch = records(*((None, {"x": n, "text": "a" * body}) for n in range(events)))
    rows_seen = 0
    for answer in answer_batches(Run(wide), iter([batch])):
        assert answer.nbytes < 1.1 * pieces.BYTES_AT_ONCE
        rows_seen += sum(kind == rows.NOTIFICATION for kind in answer.column(0).to_pylist())
    assert rows_seen == events * (SUBSCRIPTIONS if emit == "match" else 1)


def test_an_event_s_notification_has_all_of_its_matches_wherever_pieces_end(
    task: MatchTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_event = msgspec.structs.replace(task, emit="event", matches_at_once=10**6)
    whole = _taken(list(match_batches(by_event, iter([_events()]))))
    monkeypatch.setattr(pieces, "BYTES_AT_ONCE", 250_000)
    cut = list(answer_batches(Run(by_event), iter([_events()])))
    assert _taken(cut) == whole
    assert [len(json.loads(value)["matches"]) for _, _, value in whole] == [SUBSCRIPTIONS] * EVENTS
    assert max(answer.num_rows for answer in cut) == 3


def test_pieces_are_bounded_by_rows_and_bytes_and_leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr(pieces, "BYTES_AT_ONCE", 10)
    sizes = np.array([1, 1, 1, 1, 5, 5, 5, 99, 0, 10], np.int64)
    assert list(pieces.pieces(sizes)) == [(0, 3), (3, 5), (5, 7), (7, 8), (8, 10)]
    assert list(pieces.pieces(sizes[:0])) == []


def test_a_large_batch_is_committed_in_parts_of_whole_events_and_a_part_may_be_taken_again(task: MatchTask) -> None:
    parts = Parts(list(match_batches(task, iter([_events()]))), END, AT_ONCE, seconds=1e9)
    taken: list[tuple[int, str]] = []
    reached = 0
    count = 0
    while not parts.done:
        first = _notifications(list(parts.rows()))
        assert _notifications(list(parts.rows())) == first
        _some_of(parts.rows())
        assert _notifications(list(parts.rows())) == first
        offset = parts.offsets[0]
        assert {event for event, _ in first} == set(range(reached, min(offset, EVENTS)))
        assert len(first) < 2 * AT_ONCE
        taken, reached, count = taken + first, offset, count + 1
        parts.accept()
    assert taken == ALL
    assert reached == END[0]
    assert count > EVENTS * SUBSCRIPTIONS / AT_ONCE / 2


def test_a_part_also_ends_after_some_time(task: MatchTask) -> None:
    parts = Parts(list(match_batches(task, iter([_events()]))), END, most=10**9, seconds=0)
    list(parts.rows())
    assert 0 < parts.offsets[0] < EVENTS


def test_a_part_that_is_cut_off_by_time_when_it_is_taken_again_is_not_the_last(
    task: MatchTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first try had reached the end of the batch before its transaction was aborted."""
    now = 0.0
    monkeypatch.setattr("stream.parts.time.monotonic", lambda: now)
    parts = Parts(list(match_batches(task, iter([_events()]))), END, most=10**9, seconds=1)
    assert _notifications(list(parts.rows())) == ALL
    again = parts.rows()
    taken = [next(again)]
    now = 2.0
    taken += again
    assert 0 < parts.offsets[0] < EVENTS
    parts.accept()
    assert not parts.done
    while not parts.done:
        taken += parts.rows()
        parts.accept()
    assert _notifications(taken) == ALL


def test_a_batch_that_was_committed_in_part_goes_on_there(task: MatchTask) -> None:
    done = EVENTS // 2
    again = msgspec.structs.replace(task, committed={0: done})
    answers = list(match_batches(again, iter([_events()])))
    assert _notifications(_taken(answers)) == [pair for pair in ALL if pair[0] >= done]
    assert rows.total_counts(answers).records == EVENTS - done
    assert sum(count for _, count in rows.all_moments(answers)) == EVENTS - done
    everything = msgspec.structs.replace(task, committed=END)
    answers = list(match_batches(everything, iter([_events()])))
    assert _taken(answers) == []
    assert rows.values_of(answers, rows.MARK) == [], "which would set the group back"


def test_rows_of_several_partitions_are_committed_with_the_offsets_of_each(task: MatchTask) -> None:
    answers = [
        *match_batches(task, iter([records(*[(None, {"x": 1})] * 2, partition=0)])),
        *match_batches(task, iter([records(*[(None, {"x": 1})] * 5, partition=1)])),
    ]
    parts = Parts(answers, {0: 9, 1: 9}, AT_ONCE, seconds=1e9)
    first = _notifications(list(parts.rows()))
    assert parts.offsets == {0: 2, 1: len(first) // SUBSCRIPTIONS - 2}
    parts.accept()
    assert len(first) + len(_notifications(list(parts.rows()))) == 7 * SUBSCRIPTIONS


def _taken(answers: list[pa.RecordBatch]) -> list[Row]:
    """Return the rows that are produced."""
    every: Iterator[Row] = (
        row
        for batch in spool.expand(iter(answers))
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    )
    return [row for row in every if row[0] in (rows.NOTIFICATION, rows.DEAD_LETTER)]


def _some_of(taken: Iterator[Row]) -> None:
    """A transaction that is aborted half-way."""
    next(taken)
