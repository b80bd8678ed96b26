"""The trace of batches: a line each where a file is named, and nothing where none is."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from stream import failpoints
from stream.rows import Counts
from stream.trace import TRACE, VARIABLE, BatchTrace


def test_a_batch_is_a_line_with_the_moments_of_its_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "trace.jsonl"
    monkeypatch.setenv(VARIABLE, str(file))
    began = time.time()
    for place in failpoints.PLACES:
        failpoints.reach(place)
    TRACE.batch({0: 7}, Counts(records=3), 1, 2, 3)
    TRACE.batch({0: 9}, Counts(records=2), 1, 2, 3)
    first, second = (msgspec.json.decode(line, type=BatchTrace) for line in file.read_bytes().splitlines())
    assert (first.end, first.counts.records, second.end) == ({0: 7}, 3, {0: 9})
    assert list(first.places) == [place for place in failpoints.PLACES if place.startswith("events.")]
    assert began <= min(first.places.values()) <= max(first.places.values()) <= first.ended <= time.time()


def test_nothing_is_written_where_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    failpoints.reach("events.pinned")
    TRACE.batch({0: 7}, Counts(), 1, 2, 3)
    assert list(tmp_path.iterdir()) == []
