"""Finding Java: what is said when it is missing or does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.errors import TocsinError
from stream import java


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """What is pretended here is forgotten before the next test."""
    java.java_executable.cache_clear()
    yield
    java.java_executable.cache_clear()


def _pretend(folder: Path, version: str) -> None:
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)


def test_java_on_the_path_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert java.java_executable().name == "java"
    assert (java.java_home() / "bin" / "java").exists()


def test_java_home_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _pretend(tmp_path, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java.java_executable() == tmp_path / "bin" / "java"


def test_no_java_is_said_with_the_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TocsinError, match="none was found; install one of version 17 or newer"):
        java.java_executable()


def test_an_empty_java_home_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(TocsinError, match="no bin/java in it"):
        java.java_executable()


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_402"])
def test_an_old_java_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    _pretend(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(TocsinError, match="but Kafka and Spark need 17"):
        java.java_executable()


def test_a_java_that_does_not_end_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _pretend(tmp_path, "21.0.1")
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(java, "ANSWER_SECONDS", 0.2)
    with pytest.raises(TocsinError, match=r"java -version did not end within 0\.2 s; install one"):
        java.java_executable()


def test_a_java_that_does_not_write_utf_8_is_understood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _pretend(tmp_path, "21.0.1")
    (tmp_path / "bin" / "java").write_bytes(b"#!/bin/sh\nprintf '\\351 version \"21.0.1\"' >&2\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java.java_executable() == tmp_path / "bin" / "java"
