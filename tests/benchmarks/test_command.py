"""The benchmarks' commands: wrong numbers, folders and files are told in a sentence, and results are kept whole."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from benchmarks.command import amount, amount_or_none, count, count_or_none, run
from benchmarks.end_to_end import BACKLOG
from benchmarks.end_to_end_report import Measurement, Phases, draw, store
from benchmarks.growth_report import Row
from benchmarks.kept import VARIABLE, read_rows, require_file, require_folder, write
from benchmarks.papers.compare import Bounds, done
from schemas.errors import TocsinError

ROOT = Path(__file__).parent.parent.parent
COMMANDS = (
    *("matching", "workloads", "papers", "papers.compare", "end_to_end", "latency", "bulk_load"),
    *("living", "shared_memory", "build", "growth", "pressure"),
)


def called(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a benchmark's command with results of its own."""
    environment = os.environ | {VARIABLE: str(tmp_path), "COLUMNS": "200"}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("text", ["0", "-5", "many", "1.5", ""])
def test_a_count_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="whole number"):
        count(text)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_an_amount_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="number"):
        amount(text)


def test_numbers_that_may_be_0() -> None:
    assert (count("1,000"), count_or_none("0"), amount("0.5"), amount_or_none("0")) == (1000, 0, 0.5, 0.0)
    for number in (count_or_none, amount_or_none):
        with pytest.raises(ArgumentTypeError, match="at least 0"):
            number("-1")


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [(TocsinError("engines differ"), 1, "engines differ"), (KeyboardInterrupt(), 130, "interrupted")],
)
def test_a_command_ends_with_a_sentence(
    error: BaseException, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def main() -> None:
        raise error

    with pytest.raises(SystemExit) as ended:
        run(main)
    assert ended.value.code == code
    assert capsys.readouterr().err.startswith(f"benchmark: {told}")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_tells_what_it_takes_and_measures_nothing(name: str, tmp_path: Path) -> None:
    told = called(tmp_path, f"benchmarks.{name}", "--help")
    assert (told.returncode, told.stderr) == (0, "")
    assert f"python -m benchmarks.{name}" in told.stdout
    assert not list(tmp_path.iterdir())


def test_an_index_that_grows_is_measured_at_each_size_and_answers_as_its_segments_by_themselves(tmp_path: Path) -> None:
    few = ("--segment", "1000", "--events", "64", "--processes", "1")
    refused = called(tmp_path, "benchmarks.growth", "--subscriptions", "1500", *few)
    assert (refused.returncode, list(tmp_path.iterdir())) == (1, [])
    assert refused.stderr == "benchmark: sizes are whole segments; give multiples of 1,000, or another --segment\n"
    assert called(tmp_path, "benchmarks.growth", "--subscriptions", "2000", "1000", *few).returncode == 0
    assert [(row.size, row.segments) for row in read_rows(tmp_path / "growth.json", Row)] == [(1000, 1), (2000, 2)]
    assert (tmp_path / "growth.png").stat().st_size > 1000


def test_wrong_usage_and_a_folder_that_is_none_are_told_before_anything_is_measured(tmp_path: Path) -> None:
    refused = called(tmp_path, "benchmarks.matching", "nothing")
    assert refused.returncode == 2
    assert "there is no workload 'nothing'; there are ads" in refused.stderr
    file = tmp_path / "file"
    file.touch()
    refused = called(file, "benchmarks.build", "--size", "10")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"benchmark: results can't be written to {file}")
    assert len(refused.stderr.splitlines()) == 1


def test_a_folder_without_room_for_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TocsinError, match=f"name another one: {VARIABLE}=FOLDER"):
        require_folder(tmp_path / "file")
    with pytest.raises(TocsinError, match="can't be written"):
        write(tmp_path / "nowhere" / "rows.json", "[]")


def test_a_file_that_can_not_be_written_is_refused_and_one_that_can_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    for wrong in (tmp_path, tmp_path / "file" / "table.md"):
        with pytest.raises(TocsinError, match=r"can't be written .*; name a file in a folder"):
            require_file(wrong)
    require_file(tmp_path / "file")
    require_file(tmp_path / "new" / "table.md")
    assert (tmp_path / "file").read_text() == "kept"
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["tests.faults.run", "--faults", "0"], 2, "argument --faults: 0 is too small; give a whole number, at least"),
        (["tests.faults.run", "--minutes", "0"], 2, "argument --minutes: 0.0 is too small; give a number above 0"),
        (["tests.faults.run", "--table", "/proc/none/table.md"], 1, "faults: /proc/none/table.md can't be written"),
        (["tests.faults.run", "--resume", "README.md"], 1, "faults: README.md is no file of a run to go on from"),
        (["tests.fuzz.run", "--minutes", "-1"], 2, "argument --minutes: -1.0 is too small; give a number, at least 0"),
        (["tests.fuzz.decoders", "--seed", "-1"], 2, "argument --seed: -1 is too small; give a whole number, at least"),
    ],
)
def test_long_tests_refuse_wrong_options_before_anything_begins(
    arguments: list[str], code: int, told: str, tmp_path: Path
) -> None:
    refused = called(tmp_path, *arguments)
    assert (refused.returncode, refused.stdout) == (code, "")
    assert told in refused.stderr.splitlines()[-1]


def test_an_interrupted_write_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.json"
    write(file, "[]")

    def interrupted(path: Path, data: bytes) -> int:
        with path.open("wb") as out:
            out.write(data[:1])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(file, "[1, 2, 3]")
    assert file.read_text() == "[]"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_holds_something_else_is_told(tmp_path: Path) -> None:
    assert read_rows(tmp_path / "none", Measurement) == []
    file = tmp_path / "rows.json"
    for text in ("[", '{"rows": 1}', "[1]"):
        file.write_text(text)
        with pytest.raises(TocsinError, match="does not hold results"):
            read_rows(file, Measurement)


def measured(subscriptions: int, *, drained: bool = False, lag: int = 0) -> Measurement:
    phases = Phases(1, 1.0, 1.0, 20.0, 5.0, 1.0, 1.0, 1.0, 40.0)
    latency = None if drained else 90.0
    return Measurement(subscriptions, BACKLOG if drained else "500 events/s", 500.0, 9.0, latency, latency, lag, phases)


def test_sizes_that_were_not_measured_again_stay(tmp_path: Path) -> None:
    file = tmp_path / "end_to_end.json"
    store(file, [measured(1_000), measured(1_000, drained=True)])
    store(file, [measured(10)])
    rows = store(file, [measured(10, lag=7), measured(10, drained=True)])
    assert [(row.subscriptions, row.lag, row.load == BACKLOG) for row in rows] == [
        (10, 7, False),
        (10, 0, True),
        (1_000, 0, False),
        (1_000, 0, True),
    ]
    assert read_rows(file, Measurement) == rows


@pytest.mark.parametrize(
    "rows", [[measured(10)], [measured(10, drained=True)], [measured(10), measured(9, drained=True)]]
)
def test_a_picture_of_any_of_the_loads_is_drawn(rows: list[Measurement], tmp_path: Path) -> None:
    draw(rows, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1_000
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]


def test_what_tighter_bounds_have_ended_is_measured_again() -> None:
    ended = {"refused": "it needs more than 12 GB", "bounds": [3_000, 12]}
    assert done(ended, Bounds(3_000, 12))
    assert done(ended, Bounds(100, 2))
    assert not done(ended, Bounds(3_000, 13))
    assert not done(ended, Bounds(3_001, 12))
    assert done({"refused": "the engine cannot express it"}, Bounds(9_000, 99))
    assert done({"all": 1.0}, Bounds(9_000, 99))
