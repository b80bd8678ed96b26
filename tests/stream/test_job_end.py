"""How a run of the job ends: the limit on its time begins with whatever ended it, before anything else ends."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.errors import TocsinError
from stream.job import Job
from stream.progress import Stopping
from stream.settings import load_settings


def _job(folder: Path) -> Job:
    places = f"job.index_dir={folder / 'index'}", f"job.checkpoint_dir={folder / 'checkpoint'}"
    return Job(load_settings(None, places, {}))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (TocsinError("the topic is gone"), "the topic is gone"),
        (KeyError("part"), "an internal error ended the job: KeyError: 'part'"),
    ],
)
def test_an_error_begins_the_stop_whether_it_was_foreseen_or_not(error: Exception, told: str, tmp_path: Path) -> None:
    job = _job(tmp_path)
    queries: Any = SimpleNamespace(check_machine=lambda seconds: None)
    with pytest.raises(type(error)), job._ending(queries):
        raise error
    assert job._stop.asked
    assert str(job._stop._error) == told
    assert job._state.health().state == "stopping"
    job._stop.done()


def test_an_error_that_is_the_end_of_java_is_told_as_that(tmp_path: Path) -> None:
    job = _job(tmp_path)

    def ended(seconds: float) -> None:
        raise TocsinError("Java has ended")

    with pytest.raises(TocsinError, match="Java has ended"), job._ending(SimpleNamespace(check_machine=ended)):  # type: ignore[arg-type]
        raise OSError("connection refused")
    job._stop.done()


def test_a_stop_that_was_asked_for_says_at_once_that_the_job_is_stopping(tmp_path: Path) -> None:
    job = _job(tmp_path)
    job._stop.begin()
    with suppress(Stopping), job._ending(SimpleNamespace()):  # type: ignore[arg-type]
        raise Stopping
    assert job._state.health().state == "stopping"
    assert job._stop._error is None
    job._stop.done()
