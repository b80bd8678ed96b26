"""The log files: lines follow a rotation by somebody else, and raw output has a file of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream.log_files import log_to_file, output_file
from stream.settings import load_settings


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """Tocsin's logger as a new process has it."""
    logger = logging.getLogger("tocsin")
    handlers, propagate, logger.handlers = logger.handlers, logger.propagate, []
    yield logger
    for handler in logger.handlers:
        logging.getLogger().removeHandler(handler)
        handler.close()
    logger.handlers, logger.propagate = handlers, propagate


def test_lines_go_on_in_the_file_of_the_name_after_java_has_renamed_it(tmp_path: Path, logger: logging.Logger) -> None:
    log = log_to_file(load_settings(None, [f"job.log_file={tmp_path / 'spark.log'}"], {}))
    logger.warning("before")
    log.rename(tmp_path / "spark.log.1")
    logger.warning("after")
    assert (tmp_path / "spark.log.1").read_text().endswith("before\n")
    assert log.read_text().endswith("after\n")


def test_what_a_library_logs_goes_to_the_file_and_not_to_the_terminal(tmp_path: Path, logger: logging.Logger) -> None:
    log = log_to_file(load_settings(None, [f"job.log_file={tmp_path / 'spark.log'}"], {}))
    logging.getLogger("a.library").warning("lost")
    assert log.read_text().endswith(" WARNING a.library: lost\n")


def test_raw_output_has_a_file_that_no_rotation_takes() -> None:
    assert output_file(Path("/data/spark.log")) == Path("/data/spark.log.output")
