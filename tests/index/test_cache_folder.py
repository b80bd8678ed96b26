"""One folder for all that can be had again: named by one variable, or where the system keeps such things."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from index.cache_folder import cache_folder
from index.remote_files import RemoteFiles


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {"TOCSIN_CACHE_DIR": "/fast", "XDG_CACHE_HOME": "/xdg"}, "/fast"),
        ("darwin", {"TOCSIN_CACHE_DIR": "/fast"}, "/fast"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/tocsin"),
        ("linux", {"XDG_CACHE_HOME": ""}, "/home/me/.cache/tocsin"),
        ("linux", {}, "/home/me/.cache/tocsin"),
        ("darwin", {}, "/home/me/Library/Caches/tocsin"),
    ],
)
def test_the_folder_is_the_named_one_or_the_system_s(
    platform: str, environment: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("TOCSIN_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in ({"HOME": "/home/me"} | environment).items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)


def test_copies_of_remote_segments_lie_there_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOCSIN_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert RemoteFiles("memory:///")._cache.parent == tmp_path / "tocsin"
