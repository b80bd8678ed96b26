"""What the job says when a query ends with an error that is not its own."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from stream.endings import ended


def test_a_full_disk_is_told_with_the_cure_in_one_line_and_the_log_has_the_rest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logging.getLogger("tocsin").propagate = True
    error = OSError("java.io.IOException: No space left on device\n\tat java.base/java.io.FileOutputStream")
    told = str(ended("events", error, Path("spark.log")))
    assert told == (
        "the query of events ended: java.io.IOException: No space left on device; free some space for job.index_dir "
        "and job.checkpoint_dir, and start the job again; see spark.log"
    )
    assert "FileOutputStream" in caplog.text


def test_any_other_error_is_told_by_its_first_line() -> None:
    assert str(ended("events", KeyError(), Path("x"))) == "the query of events ended: KeyError; see x"
