"""The setting ``job.engine``, from the settings to the workers: what is taken, what is refused, what fits together."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from index.engines import ENGINES, check_builder
from index.manifest import latest
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.records import DeadLetter
from stream import daemon, rows, spool
from stream.absorber import AbsorbedPartition, absorb_batches
from stream.decoding import Decoding
from stream.matcher import MatchTask, match_batches
from stream.session import spark_settings
from stream.settings import load_settings
from stream.spool import SpoolPlan
from tests.stream.worker_records import absorb_task

Answer = tuple[AbsorbedPartition, list[DeadLetter]]

AFTER_WARM_UP = """
import json, sys, tempfile
from index.engines import ENGINES
from index.writer import IndexWriter
from stream.warm_up import absorb, match, warm_up
from tests.stream.test_warm_up import compiled

left = {}
for engine in sorted(ENGINES):
    warm_up(engine)
    before = compiled()
    assert any(kernel.startswith("index.classic.") for kernel in before) or engine == "block"
    with tempfile.TemporaryDirectory() as index:
        texts = [f"a = {i % 7} ^0.5 and (b < {i} or c != 'x')" for i in range(60)] + ["a > 3", "not a in (1, 2)"]
        ids, bodies = zip(*((f"{i}".encode(), json.dumps({"filter": text}).encode()) for i, text in enumerate(texts)))
        version = IndexWriter(index).publish([absorb(index, ids, bodies, engine)], [], {0: 1})
        events = [json.dumps({"a": [i % 9, "x"], "b": i % 50}).encode() for i in range(300)]
        for top in (0, 3):
            assert match(index, version, events, top, engine=engine)
    left |= {kernel: engine for kernel in compiled() - before}
print(json.dumps(left))
"""


def records(*entries: tuple[bytes | None, dict[str, Any]], first: int = 0) -> pa.RecordBatch:
    count = len(entries)
    return pa.record_batch(
        {
            "key": pa.array([key for key, _ in entries], pa.binary()),
            "value": pa.array([json.dumps(value).encode() for _, value in entries], pa.binary()),
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(first, first + count), pa.int64()),
            "millis": pa.array([0] * count, pa.int64()),
        }
    )


def absorb(index: Path, engine: str, batch: pa.RecordBatch) -> Answer:
    found = list(absorb_batches(absorb_task(index, engine=engine), iter([batch])))
    (part,) = rows.values_of(found, rows.SEGMENT)
    letters = [msgspec.msgpack.decode(value, type=DeadLetter) for value in rows.values_of(found, rows.DEAD_LETTER)]
    return msgspec.msgpack.decode(part, type=AbsorbedPartition), letters


def publish(index: Path, engine: str, *filters: tuple[bytes, str], first: int = 0) -> tuple[int, list[DeadLetter]]:
    part, letters = absorb(index, engine, records(*((key, {"filter": text}) for key, text in filters), first=first))
    segments = [] if part.segment is None else [part.segment]
    return IndexWriter(index).publish(segments, part.removed, {0: first + len(filters)}), letters


def matched(index: Path, engine: str, version: int, event: dict[str, Any]) -> list[str]:
    task = MatchTask(
        str(index), version, "events", Decoding(), 0, "match", False, SpoolPlan(str(index / "spool"), 1 << 20), engine
    )
    found = spool.expand(match_batches(task, iter([records((None, event))])))
    return sorted(
        json.loads(value)["subscription"]
        for batch in found
        for kind, value in zip(batch.column(0).to_pylist(), batch.column(2).to_pylist(), strict=True)
        if kind == rows.NOTIFICATION
    )


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_the_workers_absorb_and_match_with_the_engine_that_is_set(engine: str, tmp_path: Path) -> None:
    version, letters = publish(tmp_path, engine, (b"one", "a = 1 and b != 2"), (b"two", "a in (1, 2) or c exists"))
    assert letters == []
    assert matched(tmp_path, engine, version, {"a": 1, "b": 3}) == ["one", "two"]
    assert matched(tmp_path, engine, version, {"a": 2, "b": 2}) == ["two"]
    check_builder(tmp_path, latest(tmp_path).segments, engine)


def test_what_the_engine_cannot_express_is_a_dead_letter_and_the_earlier_version_stays(
    tmp_path: Path,
) -> None:
    version, letters = publish(
        tmp_path, "kindex-dnf", (b"s", "a = 1"), (b"t", "a = 1"), (b"s", "a contains 'x'"), (b"u", "a matches 'x+'")
    )
    assert [(letter.key, letter.reason) for letter in letters] == [
        (b"s", "engine.unsupported"),
        (b"u", "engine.unsupported"),
    ]
    assert "the subscription 's' holds the test contains of attribute 'a'" in letters[0].message
    assert "the engine 'block' does" in letters[0].message
    assert matched(tmp_path, "kindex-dnf", version, {"a": [1, "x"]}) == ["s", "t"]


def test_an_index_goes_on_only_with_the_engine_that_built_it(tmp_path: Path) -> None:
    publish(tmp_path, "counting", (b"s", "a = 1"))
    with pytest.raises(TocsinError, match=r"built by the engine 'counting', and job.engine is 'block'. Let it be 'c"):
        check_builder(tmp_path, latest(tmp_path).segments, "block")


def test_the_compaction_builds_with_the_engine_it_is_told(tmp_path: Path) -> None:
    for i in range(8):
        publish(tmp_path, "scan", (f"s{i}".encode(), f"a = {i}"), first=i)
    command = [sys.executable, "-m", "index.compaction_process", str(tmp_path), "--engine", "scan"]
    subprocess.run(command, check=True, capture_output=True)
    manifest = latest(tmp_path)
    assert len(manifest.segments) == 1
    check_builder(tmp_path, manifest.segments, "scan")
    assert matched(tmp_path, "scan", manifest.version, {"a": [3, 5]}) == ["s3", "s5"]


def test_the_compaction_refuses_an_index_of_another_engine_and_changes_nothing(tmp_path: Path) -> None:
    for i in range(8):
        publish(tmp_path, "scan", (f"s{i}".encode(), f"a = {i}"), first=i)
    before = latest(tmp_path)
    for mode in ((), ("--watch",)):
        command = [sys.executable, "-m", "index.compaction_process", str(tmp_path), *mode]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert "was built by the engine 'scan', and --engine is 'block'. Let it be 'scan', or" in done.stderr
        assert latest(tmp_path) == before


def test_an_engine_that_does_not_exist_is_refused_with_the_names_of_those_that_do() -> None:
    assert load_settings(overrides=["job.engine=kindex-cnf"], environ={}).job.engine == "kindex-cnf"
    with pytest.raises(TocsinError, match=r"job.engine can't be 'fastest'.*\"block\" or .*\"kindex-dnf\""):
        load_settings(overrides=["job.engine=fastest"], environ={})


def test_after_its_warm_up_an_engine_compiles_no_kernel_more() -> None:
    """And the worker daemon is told which engine that is."""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", AFTER_WARM_UP], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}
    settings = load_settings(overrides=["job.engine=dewey"], environ={})
    assert spark_settings(settings, [])[f"spark.executorEnv.{daemon.ENGINE}"] == "dewey"


def test_the_option_of_run_sets_the_engine() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stream.cli", "run", "--engine", "fastest"], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "job.engine can't be 'fastest'" in done.stdout + done.stderr
