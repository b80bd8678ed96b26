"""Spark starts faster with an archive of its classes, and all the same without one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stream import class_archive
from stream.archived_classes import archive_file, archive_options
from stream.java import java_executable
from stream.session import spark_settings
from stream.settings import load_settings


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


def java_options() -> str:
    return spark_settings(load_settings(None, []), [])["spark.driver.extraJavaOptions"]


def test_it_is_used_when_there_is_one(environment: Path) -> None:
    assert archive_options() == ()
    assert "SharedArchiveFile" not in java_options()
    archive_file().parent.mkdir(parents=True)
    archive_file().touch()
    assert f"-XX:SharedArchiveFile={environment}/share/tocsin/spark-classes.jsa" in java_options()


def test_java_ignores_one_that_it_did_not_write(environment: Path) -> None:
    archive_file().parent.mkdir(parents=True)
    archive_file().write_bytes(b"another Java's")
    found = subprocess.run(
        [java_executable(), *archive_options(), "-version"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0
    assert "version" in found.stderr


def test_a_folder_that_cannot_be_written_to_fails_no_installation(
    environment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (environment / "share").touch()
    assert class_archive.main() == 0
    assert "can't be written" in capsys.readouterr().err
