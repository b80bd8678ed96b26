"""Kernels are compiled once, by a process of their own that a stop ends, and what they are made of tells when again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import index
from stream import kernel_cache, kernel_mark
from stream.stop import Stop
from tests.waiting import wait_for


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host on which nothing was compiled; what a process is started with there is written to the file."""
    started = tmp_path / "started"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" > {started}\nexec sleep 60\n')
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(kernel_mark, "_file", lambda engine: tmp_path / engine)
    return started


def _begin_once_started(stop: Stop, started: Path) -> None:
    wait_for(lambda: started.exists() and started.read_text().endswith("\n"), 40, "no process was started")
    stop.begin()


def test_a_stop_ends_the_compiling_which_was_told(cold: Path, tmp_path: Path) -> None:
    said: list[str] = []
    stop = Stop(said.append)
    stopping = threading.Thread(target=_begin_once_started, args=(stop, cold))
    stopping.start()
    began = time.monotonic()
    kernel_cache.ensure_compiled("block", tmp_path / "log", stop, said.append)
    stopping.join()
    stop.done()
    assert time.monotonic() - began < 45, "the process would have ended by itself after a minute"
    assert said == ["compiling the matching kernels, once, about a minute"]
    assert cold.read_text().split() == ["-P", "-m", "stream.kernel_cache", "block", str(os.getpid())]


def test_what_is_compiled_is_not_compiled_again_until_its_code_changes(
    cold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    shutil.copytree(Path(index.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(index, "__file__", str(package / "__init__.py"))
    assert not kernel_mark.is_marked("block")
    kernel_mark.mark("block")
    said: list[str] = []
    kernel_cache.ensure_compiled("block", tmp_path / "log", Stop(said.append), said.append)
    assert said == []
    assert not cold.exists()
    assert not kernel_mark.is_marked("counting"), "each engine has kernels of its own"
    os.utime(package / "found.py", (1, 1))
    assert not kernel_mark.is_marked("block")


def test_the_process_that_compiles_leaves_the_mark() -> None:
    ask = "from stream import kernel_mark as k; print(k.is_marked('block'))"
    forget = f"{ask.partition(';')[0]}; k._file('block').unlink(missing_ok=True); {ask}"
    command = [sys.executable, "-m", "stream.kernel_cache", "block", str(os.getpid())]
    before = subprocess.run([sys.executable, "-c", forget], capture_output=True, text=True, check=True)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert (before.stdout, done.stderr, after.stdout) == ("False\n", "", "True\n")
