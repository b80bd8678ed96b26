"""The reporter: the metrics go to a file as well, and one that can't be written to is no end of the job."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest

from stream.instruments import Instruments
from stream.log_format import LogFormat, tell_error
from stream.metrics import Metrics
from stream.reporter import Reporter


def report(reporter: Reporter) -> None:
    reporter.report(Metrics(Instruments("tests")).take(1), 0, 0, 0, {})


def test_the_metrics_are_appended_to_the_file_a_line_each_time(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    reporter = Reporter(1.0, str(file))
    report(reporter)
    report(reporter)
    assert [json.loads(line)["lag"] for line in file.read_text().splitlines()] == [0, 0]


def test_a_job_whose_metrics_file_can_not_be_written_says_so_once_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "metrics.jsonl"
    reporter = Reporter(1.0, str(file))

    def complaints() -> int:
        return " ".join(capsys.readouterr().err.split()).count(f"the metrics can't be appended to {file}")

    file.symlink_to("/dev/full")
    report(reporter)
    assert complaints() == 1
    report(reporter)
    assert complaints() == 0
    file.unlink()
    report(reporter)
    assert len(file.read_text().splitlines()) == 1
    file.unlink()
    file.mkdir()
    report(reporter)
    assert complaints() == 1, "another failure, after it had gone well again"


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_job_whose_lines_nobody_reads_or_that_a_full_disk_takes_none_of_goes_on(
    log_format: LogFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reporter = Reporter(1.0, str(tmp_path / "metrics.jsonl"), log_format)
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as nobody, Path("/dev/full").open("w") as full:
        for stream in (nobody, full):
            monkeypatch.setattr("sys.stderr", stream)
            for _ in range(3):
                reporter.say("a batch waits")
                report(reporter)
            tell_error(log_format, "the index is gone")
        monkeypatch.undo()
        for stream in (nobody, full):
            with contextlib.suppress(OSError):
                stream.close()
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 6
