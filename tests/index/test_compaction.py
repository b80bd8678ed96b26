"""Compaction beside a running writer: the tail stays short, nothing is lost, and the process ends when it should."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from index import compaction, statistics_store
from index.block.engine import BlockEngine
from index.compaction import compact, due, startable, watch
from index.compaction_process import DAMAGED
from index.directory import IndexDirectory
from index.engine import Engine
from index.files import names
from index.garbage import UNPUBLISHED_SECONDS
from index.manifest import latest, versions
from index.merge_policy import MergePlan
from index.reader import IndexReader
from index.segment import write_segment
from index.writer import IndexWriter
from schemas.errors import TocsinError
from schemas.expression import In
from schemas.records import Subscription
from tests.index.oracle_engine import OracleEngine
from tests.waiting import wait_for

PATIENCE = 30.0


def publish(index: Path, engine: Engine, *ids: str) -> None:
    info = write_segment(index, engine, [Subscription(id_, In("a", ("x",))) for id_ in ids])
    IndexWriter(index).publish([info], [], {})


def test_watching_keeps_the_tail_short_and_collects_garbage_while_deltas_come(tmp_path: Path) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch, tmp_path, OracleEngine(), 0.01, stop.is_set, 1.0, 10.0)
        try:
            for i in range(40):
                publish(tmp_path, OracleEngine(), f"s{i:02}", "hot")
            wait_for(lambda: watching.done() or (not due(tmp_path) and len(versions(tmp_path)) == 1), PATIENCE)
        finally:
            stop.set()
        watching.result()
    assert len(latest(tmp_path).segments) < 8
    assert len(names(tmp_path / "dead")) <= len(latest(tmp_path).segments)
    snapshot = IndexReader(tmp_path, [OracleEngine()]).at(latest(tmp_path).version)
    assert snapshot.stats.subscriptions == 41
    assert all(snapshot.get(f"s{i:02}") is not None for i in range(40))


def test_large_merges_wait_for_each_other_and_small_ones_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in "ab":
        publish(tmp_path, OracleEngine(), *(f"{part}{i}" for i in range(6)))
    publish(tmp_path, OracleEngine(), "a0", "a1", "a2", "b0", "b1", "b2")
    plans = due(tmp_path)
    assert len(plans) == 2, "half of each of the first two is dead"
    assert startable(tmp_path, []) == plans
    with monkeypatch.context() as one_at_once:
        one_at_once.setattr(compaction, "MERGES_AT_ONCE", 1)
        assert startable(tmp_path, []) == plans[:1]
        assert startable(tmp_path, plans[:1]) == []
    monkeypatch.setattr(compaction, "LARGE", 2)
    assert startable(tmp_path, []) == plans[:1]
    assert startable(tmp_path, plans[:1]) == []
    monkeypatch.setattr(compaction, "LARGE", 3)
    assert startable(tmp_path, plans[:1]) == plans[1:]


def test_one_pass_goes_on_until_nothing_is_due_or_somebody_else_merges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = plans = [MergePlan((name,)) for name in "abc"]
    for versions_of_plans, expected in (((1, 2, 3), [1, 2, 3]), ((1, None, 2), [1, 2]), ((1, 2, None), [1, 2])):
        rounds = [[one, two], [three], []]
        outcomes = dict(zip(plans, versions_of_plans, strict=True))
        monkeypatch.setattr(compaction, "due", lambda _, rounds=rounds: rounds.pop(0))
        monkeypatch.setattr(compaction, "merge", lambda _, plan, engine, outcomes=outcomes: outcomes[plan])
        assert compact(tmp_path, OracleEngine()) == expected
        assert len(rounds) == (versions_of_plans[2] is None), "a race that was lost is the other's to go on with"


def test_merging_goes_on_without_the_statistics_that_can_not_be_folded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded: list[object] = []

    def full(directory: object) -> None:
        folded.append(directory)
        raise TocsinError("no space left")

    monkeypatch.setattr(statistics_store, "fold", full)
    for i in range(9):
        publish(tmp_path, OracleEngine(), f"s{i}")
    assert compact(tmp_path, OracleEngine()) == [10]
    assert folded == [tmp_path]


def test_a_merge_that_fails_ends_the_watch_and_one_that_is_published_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(9):
        publish(tmp_path, OracleEngine(), f"s{i}")
    timed: list[float] = []
    watch(tmp_path, OracleEngine(), 0.01, lambda: len(latest(tmp_path).segments) == 1, merged=timed.append)
    assert len(timed) == 1

    def failing(*_: object) -> int:
        raise TocsinError("damaged")

    monkeypatch.setattr(compaction, "merge", failing)
    monkeypatch.setattr(compaction, "startable", lambda _, running: [] if running else [MergePlan(("a",))])
    looks = iter(range(1000))
    for ends in (1, 1000):

        def ended(ends: int = ends) -> bool:
            return next(looks) >= ends

        with pytest.raises(TocsinError, match="damaged"):
            watch(tmp_path, OracleEngine(), 0.01, ended)


def test_a_merge_that_lost_a_race_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "merge", lambda *_: None)
    timed: list[float] = []
    assert compaction._merge(tmp_path, MergePlan(("a",)), OracleEngine(), timed.append) is None
    assert timed == []


def test_statistics_are_folded_and_garbage_is_collected_each_in_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    did: list[tuple[float, str, tuple[object, ...]]] = []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(compaction, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    monkeypatch.setattr(statistics_store, "fold", lambda *given: did.append((now, "fold", given)))
    monkeypatch.setattr(compaction, "collect", lambda *given: did.append((now, "collect", given)))
    watch(tmp_path, OracleEngine(), 10.0, lambda: now > 60, superseded=200.0, unpublished=500.0)
    assert [(when, given) for when, what, given in did if what == "fold"] == [(30, (tmp_path,)), (60, (tmp_path,))]
    assert [(when, given) for when, what, given in did if what == "collect"] == [
        (when, (tmp_path, 200.0, 500.0)) for when in (20, 40, 60)
    ]


def run(index: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "index.compaction_process", str(index), *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def test_one_pass_merges_what_is_due_and_removes_what_a_writer_has_left(tmp_path: Path) -> None:
    info = write_segment(tmp_path, BlockEngine(), [Subscription("left", In("a", ("x",)))])
    left = tmp_path / "segments" / IndexDirectory.of(tmp_path).segment(info.name).name
    os.utime(left, (0.0, time.time() - 2 * UNPUBLISHED_SECONDS))
    for i in range(9):
        publish(tmp_path, BlockEngine(), f"s{i}")
    process = run(tmp_path)
    assert process.wait(PATIENCE) == 0
    assert [entry.segment.count for entry in latest(tmp_path).segments] == [9]
    assert not left.exists()


def test_damage_ends_the_process_with_a_sentence(tmp_path: Path) -> None:
    for i in range(8):
        publish(tmp_path, BlockEngine(), f"s{i}")
    path = tmp_path / "segments" / names(tmp_path / "segments")[3]
    path.write_bytes(path.read_bytes()[:-9])
    process = run(tmp_path)
    _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == DAMAGED
    assert message.decode().startswith(f"{path} is damaged")
    assert b"Traceback" not in message


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_ends_the_process_at_once(number: signal.Signals, tmp_path: Path) -> None:
    process = run(tmp_path, "--watch", "--every", "0.1")
    for i in range(8):
        publish(tmp_path, BlockEngine(), f"s{i}")
    wait_for(lambda: not due(tmp_path), PATIENCE)
    priority = os.getpriority(os.PRIO_PROCESS, process.pid)
    process.send_signal(number)
    assert process.wait(PATIENCE) == -number
    assert process.communicate()[1] == b""
    assert priority == min(19, os.nice(0) + 10), "the job goes first"


def test_the_process_ends_with_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "index.compaction_process", str(tmp_path), "--watch", "--with-parent"]
    starter = (
        "import os, subprocess, sys\n"
        f"print(subprocess.Popen({command!r} + [str(os.getpid())]).pid, flush=True)\n"
        "sys.stdin.read()"
    )
    parent = subprocess.Popen([sys.executable, "-c", starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()

    def gone() -> bool:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, 0)
            return Path(f"/proc/{child}/stat").read_text().split()[2] == "Z"
        return True

    wait_for(gone, PATIENCE)
